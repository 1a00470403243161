package io.sparkzorder.ordering

import org.apache.spark.sql.types.{CharType, DataType, StringType, VarcharType}
import org.apache.spark.unsafe.types.UTF8String

/** What later lines of Spark know of types: there are no collations here. */
private[sparkzorder] object TypeBridge {

  /** Whether it is STRING, CHAR or VARCHAR. */
  def isTextInBinaryOrder(dataType: DataType): Boolean = dataType match {
    case _: StringType | _: CharType | _: VarcharType => true
    case _ => false
  }

  /** The order of two strings by their bytes; later lines call this `binaryCompare`. */
  def compareBinary(a: UTF8String, b: UTF8String): Int = a.compareTo(b)

  /** How this line's UNEXPECTED_INPUT_TYPE names a parameter. */
  def parameterName(index: Int): String = (index + 1).toString
}
