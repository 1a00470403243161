package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.types._

import io.sparkzorder.index.{
  BinaryLeaf,
  BooleanLeaf,
  DateLeaf,
  DecimalLeaf,
  DoubleLeaf,
  FloatLeaf,
  Int96Leaf,
  IntegerLeaf,
  LeafType,
  LongStats,
  StatValues,
  StringLeaf,
  TimestampLeaf
}

/**
 * The bounds of one column in all files of an index, as values of the column's [[ComparisonDomain]].
 *
 * @param info what is known of each file, bits of [[ColumnDomains]]
 */
private[sparkzorder] final class ColumnDomains(
    val info: Array[Byte],
    val min: StatValues,
    val max: StatValues) {

  /** The bounds mapped by `f`, which must not reverse the order of any two values. */
  def map(f: Long => Long): ColumnDomains = (min, max) match {
    case (LongStats(a), LongStats(b)) =>
      new ColumnDomains(info, LongStats(a.map(f)), LongStats(b.map(f)))
    case _ => this
  }
}

private[sparkzorder] object ColumnDomains {

  /** Every value lies between min and max, except NaN. */
  val Bounded = 1

  /** No row is NULL. */
  val NoNulls = 2

  /** No row has a value. */
  val NoValues = 4

  /** No value is NaN. */
  val NoNaN = 8
}

/** How the values of an indexed column become values of the table's column. */
private[sparkzorder] sealed trait Conversion
private[sparkzorder] case object Same extends Conversion
private[sparkzorder] case object MillisToMicros extends Conversion
private[sparkzorder] case object ToWideDecimal extends Conversion

/** Only the null counts can be used. */
private[sparkzorder] case object NullsOnly extends Conversion

private[sparkzorder] object Conversion {

  /** None unless Spark reads every value of such files unchanged into the table's column. */
  def of(leaf: LeafType, dataType: DataType): Option[Conversion] = (leaf, dataType) match {
    case (BooleanLeaf, BooleanType) => Some(Same)
    case (IntegerLeaf(bits), ByteType | ShortType | IntegerType | LongType)
        if bits <= dataType.defaultSize * 8 =>
      Some(Same)
    case (IntegerLeaf(32), _: YearMonthIntervalType) => Some(Same)
    case (IntegerLeaf(64), _: DayTimeIntervalType) => Some(Same)
    case (FloatLeaf, FloatType | DoubleType) | (DoubleLeaf, DoubleType) => Some(Same)
    case (DateLeaf, DateType) => Some(Same)
    case (TimestampLeaf(millis, true), TimestampType) => Some(micros(millis))
    case (TimestampLeaf(millis, false), TimestampNTZType) => Some(micros(millis))
    case (Int96Leaf, TimestampType) => Some(NullsOnly)
    case (d: DecimalLeaf, t: DecimalType) if d.scale == t.scale && d.precision <= t.precision =>
      Some(if (d.inLongs && t.precision > LeafType.LongDigits) ToWideDecimal else Same)
    case (StringLeaf | BinaryLeaf, _: StringType | BinaryType) => Some(Same)
    case _ => None
  }

  private def micros(millis: Boolean): Conversion = if (millis) MillisToMicros else Same
}
