package io.sparkzorder.expressions

import org.apache.spark.sql.types.DataType

/** There is no TIME before Spark 4.1. */
object TimeTypes {
  val all: Seq[DataType] = Nil
}
