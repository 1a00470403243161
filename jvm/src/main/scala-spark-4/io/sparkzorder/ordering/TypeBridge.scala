package io.sparkzorder.ordering

import org.apache.spark.sql.catalyst.util.{CollationFactory, TypeUtils}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** What Spark 4 knows of types: strings have collations. */
private[sparkzorder] object TypeBridge {

  /** Whether the strings of this type are ordered by their bytes. */
  def hasBinaryOrdering(string: StringType): Boolean =
    CollationFactory.fetchCollation(string.collationId).supportsBinaryOrdering

  /** The order of two strings by their bytes; from Spark 4 on `compareTo` throws, as strings have collations. */
  def compareBinary(a: UTF8String, b: UTF8String): Int = a.binaryCompare(b)

  /** How this line's UNEXPECTED_INPUT_TYPE names a parameter. */
  def parameterName(index: Int): String = TypeUtils.ordinalNumber(index)
}
