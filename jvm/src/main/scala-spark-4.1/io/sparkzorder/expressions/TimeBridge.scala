package io.sparkzorder.expressions

import org.apache.spark.sql.types.{DataType, TimeType}

/** TIME is a type from Spark 4.1 on. */
private[expressions] object TimeBridge {

  /** Whether the type is TIME, whose values are nanoseconds of the day. */
  def isTime(dataType: DataType): Boolean = dataType.isInstanceOf[TimeType]
}
