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

  /** Whether a value between the bounds of file `i` may match. */
  protected def mayMatch(i: Int): Boolean

  private def keeps(i: Int): Boolean = {
    val known = view.info(i)
    (ofNulls && (known & ColumnView.NoNulls) == 0) ||
    (ofValues && (known & ColumnView.NoValues) == 0 &&
      ((known & ColumnView.Bounded) == 0 || mayMatch(i) ||
        (ofNaN && (known & ColumnView.NoNaN) == 0)))
  }

  override def files(count: Int): BitSet = {
    val words = new Array[Long]((count + 63) / 64)
    var i = 0
    while (i < count) {
      if (keeps(i)) words(i >> 6) |= 1L << i
      i += 1
    }
    BitSet.valueOf(words)
  }
}

/** IS NULL and IS NOT NULL. */
private[skipping] final class NullTest(view: ColumnView, isNull: Boolean)
    extends ColumnTest(view, ofNulls = isNull, ofValues = !isNull, ofNaN = !isNull) {
  override protected def mayMatch(i: Int): Boolean = true
}
