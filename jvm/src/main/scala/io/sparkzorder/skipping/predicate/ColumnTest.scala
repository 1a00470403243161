// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

/**
 * A predicate on one column. It looks at blocks of files first: where the bounds of a block decide
 * for all of its files, no file is looked at.
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

  /** What the bounds of a block say of its files: whether none, all or some may match. */
  protected def inBlock(block: Int): Int

  /**
   * Tests the bounds of single files. Bit i of the result is set if a value between the bounds of
   * file `first + i` may match. Bits that are not set in `wanted` do not count.
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

  /** The files that are kept whatever their bounds are. */
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
