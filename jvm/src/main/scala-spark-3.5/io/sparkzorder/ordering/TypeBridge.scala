// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.types.{CharType, DataType, StringType, VarcharType}
import org.apache.spark.unsafe.types.UTF8String

/** Types in Spark 3.5, where strings have no collations. */
private[sparkzorder] object TypeBridge {

  /** Whether the type is STRING, CHAR or VARCHAR. Spark 3.5 orders all their values by their bytes. */
  def isTextInBinaryOrder(dataType: DataType): Boolean = dataType match {
    case _: StringType | _: CharType | _: VarcharType => true
    case _ => false
  }

  /** Compares two strings by their bytes; Spark 4 calls this `binaryCompare`. */
  def compareBinary(a: UTF8String, b: UTF8String): Int = a.compareTo(b)

  /** How Spark's error UNEXPECTED_INPUT_TYPE names a parameter: in Spark 3.5 by a number, from 1 on. */
  def parameterName(index: Int): String = (index + 1).toString
}
