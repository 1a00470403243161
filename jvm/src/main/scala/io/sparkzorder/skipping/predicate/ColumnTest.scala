// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.lang.Long.numberOfTrailingZeros

import io.sparkzorder.index.{ByteStats, ByteValues, LongStats, StatValues}
import io.sparkzorder.skipping.values.{ByteIntervals, ComparisonDomain, Intervals, LongIntervals}

/**
 * A predicate on one column. Blocks of files are tested first. If the bounds of a block decide for all of
 * its files, no single file is tested.
 *
 * @param ofNulls true when rows with NULL in the column match
 * @param ofValues true when some values of the column match
 * @param ofNaN true when rows with NaN in the column match
 */
private[sparkzorder] abstract class ColumnTest(
    val column: ColumnDomains,
    ofNulls: Boolean,
    ofValues: Boolean,
    ofNaN: Boolean)
    extends FileTest {
  import ColumnTest._

  /** Whether no file, every file or some files of a block may match, as far as the block's bounds tell. */
  protected def inBlock(block: Int): Int

  /**
   * Tests the bounds of single files. Bit i of the result is set if a value between the bounds of
   * file `first + i` may match. The caller ignores all other bits than those of `wanted`.
   */
  protected def mayMatch(first: Int, wanted: Long): Long

  override def restrict(words: Array[Long], from: Int): Unit = {
    val blockWords = column.blockWords
    var at = 0
    while (at < words.length) {
      val block = (from + at) / blockWords
      val end = math.min(words.length.toLong, (block + 1L) * blockWords - from).toInt
      restrict(words, at, end, from, block)
      at = end
    }
  }

  private def restrict(words: Array[Long], at: Int, end: Int, from: Int, block: Int): Unit = {
    var decision = Undecided
    var i = at
    while (i < end) {
      val wanted = words(i)
      if (wanted != 0) {
        val w = from + i
        val sure = wanted & kept(w)
        val open = if (ofValues) wanted & ~sure & ~column.noValues(w) else 0L
        words(i) =
          if (open == 0) sure
          else {
            if (decision == Undecided) decision = inBlock(block)
            if (decision == NoFile) sure
            else if (decision == EveryFile) sure | open
            else sure | (open & mayMatch(w << 6, open))
          }
      }
      i += 1
    }
  }

  /** The files that are kept regardless of their bounds. */
  private def kept(w: Int): Long = {
    val nulls = if (ofNulls) ~column.noNulls(w) else 0L
    if (!ofValues) nulls
    else {
      val unbounded = ~column.bounded(w)
      nulls | (~column.noValues(w) & (if (ofNaN) unbounded | ~column.noNaN(w) else unbounded))
    }
  }
}

private[sparkzorder] object ColumnTest {
  val NoFile = 0
  val EveryFile = 1
  val SomeFiles = 2
  private val Undecided = -1
}

/** IS NULL and IS NOT NULL. */
private[sparkzorder] final class NullTest(of: ColumnDomains, val isNull: Boolean)
    extends ColumnTest(of, ofNulls = isNull, ofValues = !isNull, ofNaN = !isNull) {
  override protected def inBlock(block: Int): Int = ColumnTest.EveryFile
  override protected def mayMatch(first: Int, wanted: Long): Long = wanted
}

/**
 * The test of a predicate that is true for the values in some intervals.
 *
 * @param hasNaN true if the column may hold NaN, which is [[ComparisonDomain.NaN]]
 * @param ofNulls true if rows match where the column is NULL
 * @param ofNaN true if rows match where the column is NaN
 */
private[sparkzorder] abstract class IntervalTest(
    of: ColumnDomains,
    val intervals: Intervals,
    val hasNaN: Boolean,
    val ofNulls: Boolean,
    ofNaN: Boolean)
    extends ColumnTest(of, ofNulls, ofValues = true, ofNaN) {

  /**
   * The lookup in the index of the column's values. One lookup serves all windows of the bitmap, because it reads
   * files of the index. It is made only if the bounds keep files.
   */
  private lazy val lookup: Option[ValueLookup] = of.values.map { known =>
    val left = FileTest.all(of.count)
    byBounds(left, 0)
    known.lookUp(intervals, left)
  }

  private def byBounds(words: Array[Long], from: Int): Unit = super.restrict(words, from)

  override def restrict(words: Array[Long], from: Int): Unit = {
    byBounds(words, from)
    if (of.values.isDefined && words.exists(_ != 0)) {
      lookup.flatMap(_.mayHave).foreach { mayHave =>
        var i = 0
        while (i < words.length) {
          val nulls = if (ofNulls) ~of.noNulls(from + i) else 0L
          words(i) &= mayHave(from + i) | nulls
          i += 1
        }
      }
    }
  }

  /** Why the index of the column's values was not used for all files; None if it was, or if there is no such index. */
  def noteOfValues: Option[String] = lookup.flatMap(_.note)
}

private[sparkzorder] object IntervalTest {

  def apply(
      column: ColumnDomains,
      intervals: Intervals,
      hasNaN: Boolean,
      ofNulls: Boolean): FileTest = intervals match {
    case none if none.isEmpty => if (ofNulls) new NullTest(column, isNull = true) else Never
    case longs: LongIntervals => new OfLongs(column, longs, hasNaN, ofNulls)
    case bytes: ByteIntervals => new OfBytes(column, bytes, ofNulls)
  }

  private final class OfLongs(
      column: ColumnDomains,
      intervals: LongIntervals,
      hasNaN: Boolean,
      ofNulls: Boolean)
      extends IntervalTest(
        column,
        intervals,
        hasNaN,
        ofNulls,
        ofNaN = hasNaN && intervals.contains(ComparisonDomain.NaN)) {
    private val (min, max) = (longs(column.min), longs(column.max))
    private val (lows, highs) = (intervals.lows, intervals.highs)
    private val isOne = lows.length == 1
    private val (low, high) = (lows(0), highs(0))

    override protected def inBlock(block: Int): Int = column.blocks match {
      case b: LongBlocks =>
        val i = intervals.firstFrom(b.leastMin(block))
        if (i == lows.length || lows(i) > b.greatestMax(block)) ColumnTest.NoFile
        else {
          val j = intervals.firstFrom(b.greatestMin(block))
          if (j < lows.length && lows(j) <= b.leastMax(block)) ColumnTest.EveryFile
          else ColumnTest.SomeFiles
        }
      case _ => ColumnTest.SomeFiles
    }

    override protected def mayMatch(first: Int, wanted: Long): Long =
      if (isOne) inOne(first, wanted) else inMany(first, wanted)

    // These loops visit only the files whose bit is set in `wanted`.
    private def inOne(first: Int, wanted: Long): Long = {
      var (bits, left) = (0L, wanted)
      while (left != 0) {
        val i = numberOfTrailingZeros(left)
        if (max(first + i) >= low && min(first + i) <= high) bits |= 1L << i
        left &= left - 1
      }
      bits
    }

    private def inMany(first: Int, wanted: Long): Long = {
      var (bits, left) = (0L, wanted)
      while (left != 0) {
        val i = numberOfTrailingZeros(left)
        if (intervals.overlaps(min(first + i), max(first + i))) bits |= 1L << i
        left &= left - 1
      }
      bits
    }
  }

  private final class OfBytes(column: ColumnDomains, intervals: ByteIntervals, ofNulls: Boolean)
      extends IntervalTest(column, intervals, hasNaN = false, ofNulls, ofNaN = false) {
    private val (min, max) = (bytes(column.min), bytes(column.max))

    override protected def inBlock(block: Int): Int = column.blocks match {
      case b: ByteBlocks =>
        if (!intervals.overlap(min, b.leastMin(block), max, b.greatestMax(block))) ColumnTest.NoFile
        else if (intervals.overlap(min, b.greatestMin(block), max, b.leastMax(block))) {
          ColumnTest.EveryFile
        } else ColumnTest.SomeFiles
      case _ => ColumnTest.SomeFiles
    }

    override protected def mayMatch(first: Int, wanted: Long): Long = {
      var (bits, left) = (0L, wanted)
      while (left != 0) {
        val i = numberOfTrailingZeros(left)
        if (intervals.overlap(min, first + i, max, first + i)) bits |= 1L << i
        left &= left - 1
      }
      bits
    }
  }

  // if the values are of another kind, only NULL counts are known; no file has bounds, so the empty array is not read
  private def longs(values: StatValues): Array[Long] = values match {
    case LongStats(l) => l
    case _ => Array.emptyLongArray
  }

  private def bytes(values: StatValues): ByteValues = values match {
    case ByteStats(b) => b
    case _ => new ByteValues(Array.emptyByteArray, Array.emptyIntArray)
  }
}
