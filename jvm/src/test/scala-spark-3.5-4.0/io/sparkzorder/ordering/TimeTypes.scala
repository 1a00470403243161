package io.sparkzorder.ordering

import org.apache.spark.sql.types.DataType

/** There is no TIME before Spark 4.1. */
object TimeTypes {
  val all: Seq[DataType] = Nil
}
