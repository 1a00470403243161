package io.sparkzorder.report

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, Hex}
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}

/**
 * Values as Spark shows them; bytes as hexadecimal digits, long texts cut.
 *
 * @param zone time zone of timestamps
 */
private[sparkzorder] final class ValueText(dataType: DataType, zone: String) {
  private val value = BoundReference(0, dataType, nullable = false)
  private val shown: Expression =
    if (dataType == BinaryType) Hex(value) else Cast(value, StringType, Some(zone))

  /** @param v a Catalyst value, not null */
  def apply(v: Any): String = shown.eval(InternalRow(v)).toString.take(ValueText.MaxLength)
}

private[sparkzorder] object ValueText {

  /** Characters of a value. */
  val MaxLength = 128
}
