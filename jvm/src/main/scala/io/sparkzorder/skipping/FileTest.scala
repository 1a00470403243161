package io.sparkzorder.skipping

import java.util.BitSet

/**
 * Judges for every file of an index whether a row of it may match a predicate. Named by what is kept:
 * a file is let go only where no row can match.
 */
private[skipping] sealed trait FileTest {

  /** The files, of `count`, that may hold a matching row. */
  def files(count: Int): BitSet
}

/** Nothing can be said: every file may hold a matching row. */
private[skipping] final case class Unknown(reason: String) extends FileTest {
  override def files(count: Int): BitSet = {
    val all = new BitSet(count)
    all.set(0, count)
    all
  }
}

/** No row of any file can match. */
private[skipping] case object Never extends FileTest {
  override def files(count: Int): BitSet = new BitSet(count)
}

private[skipping] final case class AllOf(tests: Seq[FileTest]) extends FileTest {
  override def files(count: Int): BitSet =
    tests.map(_.files(count)).reduce { (a, b) => a.and(b); a }
}

private[skipping] final case class AnyOf(tests: Seq[FileTest]) extends FileTest {
  override def files(count: Int): BitSet =
    tests.map(_.files(count)).reduce { (a, b) => a.or(b); a }
}

private[skipping] object FileTest {

  /** A conjunction; what is unknown of it cannot take from what is known. */
  def and(tests: Seq[FileTest]): FileTest =
    if (tests.contains(Never)) Never
    else {
      tests.filterNot(_.isInstanceOf[Unknown]) match {
        case Seq() => tests.head
        case Seq(one) => one
        case known => AllOf(known)
      }
    }

  /** A disjunction; one unknown part makes all of it unknown. */
  def or(tests: Seq[FileTest]): FileTest =
    tests.find(_.isInstanceOf[Unknown]).getOrElse {
      tests.filterNot(_ == Never) match {
        case Seq() => Never
        case Seq(one) => one
        case possible => AnyOf(possible)
      }
    }
}

/**
 * A predicate on one column.
 *
 * @param ofNulls rows match where the column is NULL
 * @param ofValues rows match for some values
 * @param ofNaN rows match where the column is NaN
 */
private[skipping] abstract class ColumnTest(
    view: ColumnView,
    ofNulls: Boolean,
    ofValues: Boolean,
    ofNaN: Boolean)
    extends FileTest {

  /**
   * Of the files from `from` to `until`, at most 64, those where a value between the bounds may match, as
   * bits from the lowest on. What it says of files without bounds does not matter.
   */
  protected def mayMatch(from: Int, until: Int): Long

  // for each value that the bits of `info` can have, whether files of it are kept: as one bit of a word
  private val kept = ColumnTest.of(alone)
  private val keptByBounds = ColumnTest.of(known => !alone(known) && hasValues(known))

  private def alone(known: Int): Boolean =
    (ofNulls && (known & ColumnView.NoNulls) == 0) ||
      (hasValues(known) &&
        ((known & ColumnView.Bounded) == 0 || (ofNaN && (known & ColumnView.NoNaN) == 0)))

  private def hasValues(known: Int): Boolean = ofValues && (known & ColumnView.NoValues) == 0

  override def files(count: Int): BitSet = {
    val words = new Array[Long]((count + 63) / 64)
    var from = 0
    while (from < count) {
      val until = math.min(from + 64, count)
      var sure = 0L
      var bounded = 0L
      var i = from
      while (i < until) {
        val known = view.info(i)
        sure |= ((kept >>> known) & 1L) << i
        bounded |= ((keptByBounds >>> known) & 1L) << i
        i += 1
      }
      words(from >> 6) = if (bounded == 0) sure else sure | (bounded & mayMatch(from, until))
      from = until
    }
    BitSet.valueOf(words)
  }
}

private[skipping] object ColumnTest {

  /** Those of the sixteen values of `info` for which something holds, as bits. */
  private def of(holds: Int => Boolean): Int =
    (0 until 16).filter(holds).foldLeft(0)((bits, known) => bits | (1 << known))
}

/** IS NULL and IS NOT NULL. */
private[skipping] final class NullTest(view: ColumnView, isNull: Boolean)
    extends ColumnTest(view, ofNulls = isNull, ofValues = !isNull, ofNaN = !isNull) {
  override protected def mayMatch(from: Int, until: Int): Long = -1L
}
