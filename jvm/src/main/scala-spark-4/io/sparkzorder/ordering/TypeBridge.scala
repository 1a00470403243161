package io.sparkzorder.ordering

import org.apache.spark.sql.catalyst.util.{CollationFactory, TypeUtils}
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** What Spark 4 knows of types: strings have collations. */
private[sparkzorder] object TypeBridge {

  /** Whether it is STRING, CHAR or VARCHAR, which are kinds of strings here, and ordered by its bytes. */
  def isTextInBinaryOrder(dataType: DataType): Boolean = dataType match {
    case text: StringType =>
      CollationFactory.fetchCollation(text.collationId).supportsBinaryOrdering
    case _ => false
  }

  /** The order of two strings by their bytes; from Spark 4 on `compareTo` throws, as strings have collations. */
  def compareBinary(a: UTF8String, b: UTF8String): Int = a.binaryCompare(b)

  /** How this line's UNEXPECTED_INPUT_TYPE names a parameter. */
  def parameterName(index: Int): String = TypeUtils.ordinalNumber(index)
}
