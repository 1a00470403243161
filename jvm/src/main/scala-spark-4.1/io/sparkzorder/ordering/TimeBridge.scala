// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.types.{DataType, TimeType}

/** TIME is a type from Spark 4.1 on. */
private[sparkzorder] object TimeBridge {

  /** Whether the type is TIME, whose values are nanoseconds of the day. */
  def isTime(dataType: DataType): Boolean = dataType.isInstanceOf[TimeType]
}
