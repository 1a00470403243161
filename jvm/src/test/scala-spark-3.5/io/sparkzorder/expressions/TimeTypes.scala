package io.sparkzorder.expressions

import org.apache.spark.sql.types.DataType

/** This line has no TIME. */
object TimeTypes {
  val all: Seq[DataType] = Nil
}
