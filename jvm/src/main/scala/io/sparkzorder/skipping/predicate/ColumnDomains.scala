// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.types._

import io.sparkzorder.index.{
  BinaryLeaf,
  BooleanLeaf,
  ByteStats,
  DateLeaf,
  DecimalLeaf,
  DoubleLeaf,
  FloatLeaf,
  Int96Leaf,
  IntegerLeaf,
  LeafType,
  Sized,
  StatValues,
  StringLeaf,
  TimestampLeaf
}
import io.sparkzorder.skipping.values.{ByteEnd, Intervals, KnownRange}
import io.sparkzorder.table.stats.FileRange

/**
 * The bounds of one column in all files of an index, as values of the column's [[ComparisonDomain]].
 * Each bitmap has one bit for each file.
 *
 * @param count number of files
 * @param bounded every value of the file lies between min and max, except NaN
 * @param noNulls no row of the file is NULL
 * @param noValues no row of the file has a value
 * @param noNaN no value of the file is NaN
 * @param blockWords the number of words of a bitmap that make a block of files
 * @param values the index of the column's values, if they are indexed
 * @param plain the same bounds without `values`, if there are `values`
 */
private[sparkzorder] final class ColumnDomains(
    val count: Int,
    val bounded: Array[Long],
    val noNulls: Array[Long],
    val noValues: Array[Long],
    val noNaN: Array[Long],
    val min: StatValues,
    val max: StatValues,
    val blockWords: Int,
    val values: Option[KnownValues] = None,
    plain: Option[ColumnDomains] = None)
    extends Sized {

  /** The bounds of each block of files. */
  lazy val blocks: BlockBounds = plain.fold(BlockBounds.of(this))(_.blocks)

  /** The same with an index of the column's values. */
  def withValues(known: KnownValues): ColumnDomains = new ColumnDomains(
    count,
    bounded,
    noNulls,
    noValues,
    noNaN,
    min,
    max,
    blockWords,
    Some(known),
    Some(this))

  /** The flags of a file: bits of the companion object. */
  def info(i: Int): Int = {
    def bit(words: Array[Long], value: Int) = if ((words(i >> 6) >>> i & 1L) != 0) value else 0
    bit(bounded, ColumnDomains.Bounded) | bit(noNulls, ColumnDomains.NoNulls) |
      bit(noValues, ColumnDomains.NoValues) | bit(noNaN, ColumnDomains.NoNaN)
  }

  /** The least min and the greatest max of the files with bounds, without NaN; None for bounds in bytes. */
  def range: Option[KnownRange] = blocks match {
    case b: LongBlocks =>
      val (least, greatest) = b.range
      Some(KnownRange(least, greatest, isOfAllFiles))
    case _ => None
  }

  /** True if every file has bounds or has no values, so that all values lie within known bounds. */
  lazy val isOfAllFiles: Boolean = bounded.indices.forall { w =>
    val files = math.min(64, count - w * 64)
    java.lang.Long.bitCount(bounded(w) | noValues(w)) == files
  }

  /** A prefix that all texts of the files with bounds have in common; empty if none is known. */
  lazy val beginning: Array[Byte] = (blocks, min, max) match {
    case (b: ByteBlocks, ByteStats(least), ByteStats(greatest)) =>
      val ends =
        b.leastMin.filter(_ >= 0).map(least(_)) ++ b.greatestMax.filter(_ >= 0).map(greatest(_))
      if (ends.isEmpty) Array.emptyByteArray
      else {
        val same = ends.tail.foldLeft(ends.head.length) { (n, end) =>
          (0 until n).find(i => i >= end.length || end(i) != ends.head(i)).getOrElse(n)
        }
        ends.head.take(same)
      }
    case _ => Array.emptyByteArray
  }

  /**
   * The intervals in which all texts of the files lie: the ranges of the files or, if there are many files,
   * of their blocks. None if a file may hold other texts.
   */
  lazy val texts: Option[Intervals] = (blocks, min, max) match {
    case (b: ByteBlocks, ByteStats(least), ByteStats(greatest)) if isOfAllFiles =>
      def range(low: Int, high: Int) =
        (ByteEnd(least(low), inclusive = true), ByteEnd(greatest(high), inclusive = true))
      val ranges =
        if (count <= ColumnDomains.FewFiles) {
          (0 until count).filter(i => (info(i) & ColumnDomains.NoValues) == 0).map(i => range(i, i))
        } else {
          b.leastMin.indices.filter(b.leastMin(_) >= 0)
            .map(i => range(b.leastMin(i), b.greatestMax(i)))
        }
      Some(Intervals.ofByteRanges(ranges))
    case _ => None
  }

  /** True if texts are cut so short that all files have the same bounds. */
  def isCutAlike: Boolean = (min, max) match {
    case (ByteStats(least), ByteStats(greatest)) =>
      val some = (0 until count).filter(i => (info(i) & ColumnDomains.Bounded) != 0)
      some.size > 1 && FileRange.isCut(least(some.head), greatest(some.head)) &&
      some.tail.forall(i =>
        least.compare(i, least, some.head) == 0 && greatest.compare(i, greatest, some.head) == 0)
    case _ => false
  }

  // the last summand is for the blocks, which are made later
  override def bytes: Long =
    4L * 8 * bounded.length + min.bytes + max.bytes + 32L * (bounded.length / blockWords + 1)
}

private[sparkzorder] object ColumnDomains {
  val Bounded = 1
  val NoNulls = 2
  val NoValues = 4
  val NoNaN = 8

  /** For more files than this, `texts` has the ranges of blocks instead of the ranges of files. */
  private val FewFiles = 4096

  /** A block has 512 files. */
  val BlockWords = 8

  /** @param info the flags of each file: bits of this object */
  def of(
      info: Array[Byte],
      min: StatValues,
      max: StatValues,
      blockWords: Int = BlockWords): ColumnDomains = {
    def bitmap(bit: Int): Array[Long] = {
      val words = new Array[Long]((info.length + 63) / 64)
      var i = 0
      while (i < info.length) {
        if ((info(i) & bit) != 0) words(i >> 6) |= 1L << i
        i += 1
      }
      words
    }
    new ColumnDomains(
      info.length,
      bitmap(Bounded),
      bitmap(NoNulls),
      bitmap(NoValues),
      bitmap(NoNaN),
      min,
      max,
      blockWords)
  }
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
