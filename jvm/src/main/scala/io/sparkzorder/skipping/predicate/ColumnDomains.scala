// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import io.sparkzorder.index.{ByteStats, ByteValues, LongStats, Sized, StatValues}
import io.sparkzorder.skipping.values.{ByteEnd, Intervals, KnownRange}
import io.sparkzorder.table.stats.FileRange

/**
 * The bounds of one column in all files of an index, as values of the column's [[ComparisonDomain]].
 * Each bitmap has one bit for each file.
 *
 * @param count number of files
 * @param bounded the files in which every value, except NaN, lies between min and max
 * @param noNulls the files in which no row is NULL
 * @param noValues the files in which every row is NULL
 * @param noNaN the files in which no value is NaN
 * @param min one entry for each file, which has a meaning only for the files in `bounded`; no entries if only the
 *   numbers of NULLs are known
 * @param blockWords the number of words of a bitmap that make a block of files
 * @param values the index of the column's values, if they are indexed
 * @param plain the same bounds without `values`, so that both share the bounds of blocks; None without `values`
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

  /** The same bounds with an index of the column's values. */
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

  /** The flags of a file, made of the bits that the companion object defines. */
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

  /** True if every file has bounds or has no values, so that all values, except NaN, lie within known bounds. */
  lazy val isOfAllFiles: Boolean = bounded.indices.forall { w =>
    val files = math.min(64, count - w * 64)
    java.lang.Long.bitCount(bounded(w) | noValues(w)) == files
  }

  /** The longest prefix that the bounds, and so all texts between them, have in common; may be empty. */
  lazy val beginning: Array[Byte] = (blocks, min, max) match {
    case (b: ByteBlocks, ByteStats(least), ByteStats(greatest)) =>
      val ends =
        b.leastMin.filter(_ >= 0).map(least(_)) ++ b.greatestMax.filter(_ >= 0).map(greatest(_))
      ends.headOption.fold(Array.emptyByteArray)(_.take(ByteValues.shared(ends.toSeq)))
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

  // `blocks` are made later, but the last summand counts their memory from the start
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

/**
 * For each block of files, the range of the minima and the range of the maxima of its files. Files without
 * values or without bounds are left out. A block of only such files has no bounds, and its files are not
 * tested by bounds.
 */
private[predicate] sealed trait BlockBounds

private[predicate] case object NoBlocks extends BlockBounds

/** The blocks of a column whose bounds are longs. */
private[predicate] final class LongBlocks(
    val leastMin: Array[Long],
    val greatestMin: Array[Long],
    val leastMax: Array[Long],
    val greatestMax: Array[Long])
    extends BlockBounds {

  /** The least min and the greatest max of all blocks. */
  def range: (Long, Long) = (
    leastMin.foldLeft(Long.MaxValue)(math.min),
    greatestMax.foldLeft(Long.MinValue)(math.max))
}

/**
 * The blocks of a column whose bounds are bytes. The arrays have the positions of the files with these
 * bounds.
 */
private[predicate] final class ByteBlocks(
    val leastMin: Array[Int],
    val greatestMin: Array[Int],
    val leastMax: Array[Int],
    val greatestMax: Array[Int])
    extends BlockBounds

private[predicate] object BlockBounds {

  def of(column: ColumnDomains): BlockBounds = (column.min, column.max) match {
    case (LongStats(min), LongStats(max)) => ofLongs(column, min, max)
    case (ByteStats(min), ByteStats(max)) => ofBytes(column, min, max)
    case _ => NoBlocks
  }

  private def ofLongs(column: ColumnDomains, min: Array[Long], max: Array[Long]): LongBlocks = {
    val n = blocksOf(column)
    val made = new LongBlocks(
      Array.fill(n)(Long.MaxValue),
      Array.fill(n)(Long.MinValue),
      Array.fill(n)(Long.MaxValue),
      Array.fill(n)(Long.MinValue))
    foreach(column) { (b, i) =>
      made.leastMin(b) = math.min(made.leastMin(b), min(i))
      made.greatestMin(b) = math.max(made.greatestMin(b), min(i))
      made.leastMax(b) = math.min(made.leastMax(b), max(i))
      made.greatestMax(b) = math.max(made.greatestMax(b), max(i))
    }
    made
  }

  private def ofBytes(column: ColumnDomains, min: ByteValues, max: ByteValues): ByteBlocks = {
    val n = blocksOf(column)
    val made = new ByteBlocks(
      Array.fill(n)(-1),
      Array.fill(n)(-1),
      Array.fill(n)(-1),
      Array.fill(n)(-1))
    def improve(best: Array[Int], b: Int, values: ByteValues, i: Int, sign: Int): Unit =
      if (best(b) < 0 || values.compare(i, values, best(b)) * sign < 0) best(b) = i
    foreach(column) { (b, i) =>
      improve(made.leastMin, b, min, i, 1)
      improve(made.greatestMin, b, min, i, -1)
      improve(made.leastMax, b, max, i, 1)
      improve(made.greatestMax, b, max, i, -1)
    }
    made
  }

  private def blocksOf(column: ColumnDomains): Int =
    (column.bounded.length + column.blockWords - 1) / column.blockWords

  /** Calls `body` with each block and each of its files that has values and bounds. */
  private def foreach(column: ColumnDomains)(body: (Int, Int) => Unit): Unit = {
    var w = 0
    while (w < column.bounded.length) {
      var left = column.bounded(w) & ~column.noValues(w)
      while (left != 0) {
        body(w / column.blockWords, (w << 6) + java.lang.Long.numberOfTrailingZeros(left))
        left &= left - 1
      }
      w += 1
    }
  }
}
