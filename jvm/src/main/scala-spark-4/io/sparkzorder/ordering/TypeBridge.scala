// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.catalyst.util.{CollationFactory, TypeUtils}
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Types in Spark 4, where strings have collations. */
private[sparkzorder] object TypeBridge {

  /** Whether the type is STRING, CHAR or VARCHAR, and its values are ordered by their bytes. */
  def isTextInBinaryOrder(dataType: DataType): Boolean = dataType match {
    case text: StringType =>
      CollationFactory.fetchCollation(text.collationId).supportsBinaryOrdering
    case _ => false
  }

  /** Compares two strings by their bytes. `compareTo` does the same, but throws in Spark's own tests. */
  def compareBinary(a: UTF8String, b: UTF8String): Int = a.binaryCompare(b)

  /** How Spark's error UNEXPECTED_INPUT_TYPE names a parameter: in Spark 4 by an ordinal such as "first". */
  def parameterName(index: Int): String = TypeUtils.ordinalNumber(index)
}
