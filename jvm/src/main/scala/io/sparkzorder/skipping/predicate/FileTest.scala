package io.sparkzorder.skipping.predicate

import java.util.{Arrays, BitSet}

/**
 * Decides for every file of an index whether some row of the file may match a predicate. A file is
 * pruned only if no row can match. The names of the tests describe the rows that match, not the
 * files that are pruned.
 */
private[sparkzorder] sealed trait FileTest {

  /**
   * Clears the bit of each file in which no row can match. `words` has one bit for each of `count`
   * files.
   */
  def restrict(words: Array[Long], count: Int): Unit

  /** Those of `count` files that may hold a matching row. */
  final def files(count: Int): BitSet = {
    val words = FileTest.all(count)
    restrict(words, count)
    BitSet.valueOf(words)
  }
}

/** Nothing can be said: every file may hold a matching row. */
private[sparkzorder] final case class Unknown(reason: String) extends FileTest {
  override def restrict(words: Array[Long], count: Int): Unit = ()
}

/** No row of any file can match. */
private[sparkzorder] case object Never extends FileTest {
  override def restrict(words: Array[Long], count: Int): Unit = Arrays.fill(words, 0L)
}

/**
 * A conjunction. Each test clears further bits among those that the tests before it have left set.
 */
private[sparkzorder] final case class AllOf(tests: Seq[FileTest]) extends FileTest {
  override def restrict(words: Array[Long], count: Int): Unit =
    tests.foreach(_.restrict(words, count))
}

private[sparkzorder] final case class AnyOf(tests: Seq[FileTest]) extends FileTest {
  override def restrict(words: Array[Long], count: Int): Unit = {
    val before = words.clone()
    Arrays.fill(words, 0L)
    tests.foreach { test =>
      val some = before.clone()
      test.restrict(some, count)
      words.indices.foreach(i => words(i) |= some(i))
    }
  }
}

private[sparkzorder] object FileTest {

  /** `count` bits that are set. */
  private def all(count: Int): Array[Long] = {
    val words = Array.fill((count + 63) / 64)(-1L)
    if (count % 64 != 0) words(words.length - 1) = (1L << count) - 1
    words
  }

  /**
   * A conjunction. Unknown tests are left out, because the known tests alone decide what is pruned.
   */
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
 * @param ofNulls true when rows with NULL in the column match
 * @param ofValues true when some values of the column match
 * @param ofNaN true when rows with NaN in the column match
 */
private[sparkzorder] abstract class ColumnTest(
    column: ColumnDomains,
    ofNulls: Boolean,
    ofValues: Boolean,
    ofNaN: Boolean)
    extends FileTest {

  /**
   * Tests the bounds of the files from `from` until `until`, at most 64 files. Bit i of the result
   * is set if a value between the bounds of file `from + i` may match. The caller ignores the bits
   * of files without bounds.
   */
  protected def mayMatch(from: Int, until: Int): Long

  // Bit n of `kept` is set if a file whose `info` is n is kept whatever its bounds are. Bit n of
  // `keptByBounds` is set if the bounds of such a file decide.
  private val kept = ColumnTest.of(alone)
  private val keptByBounds = ColumnTest.of(known => !alone(known) && hasValues(known))

  private def alone(known: Int): Boolean =
    (ofNulls && (known & ColumnDomains.NoNulls) == 0) ||
      (hasValues(known) &&
        ((known & ColumnDomains.Bounded) == 0 || (ofNaN && (known & ColumnDomains.NoNaN) == 0)))

  private def hasValues(known: Int): Boolean = ofValues && (known & ColumnDomains.NoValues) == 0

  override def restrict(words: Array[Long], count: Int): Unit = {
    val info = column.info
    var from = 0
    while (from < count) {
      val until = math.min(from + 64, count)
      val wanted = words(from >> 6)
      if (wanted != 0) {
        var sure = 0L
        var bounded = 0L
        var i = from
        while (i < until) {
          val known = info(i)
          sure |= ((kept >>> known) & 1L) << i
          bounded |= ((keptByBounds >>> known) & 1L) << i
          i += 1
        }
        bounded &= wanted
        val may = if (bounded == 0) 0L else bounded & mayMatch(from, until)
        words(from >> 6) = wanted & (sure | may)
      }
      from = until
    }
  }
}

private[sparkzorder] object ColumnTest {

  /**
   * A word in which bit n is set if `holds(n)`, for each of the sixteen values n that `info` can
   * have.
   */
  private def of(holds: Int => Boolean): Int =
    (0 until 16).filter(holds).foldLeft(0)((bits, known) => bits | (1 << known))
}

/** IS NULL and IS NOT NULL. */
private[sparkzorder] final class NullTest(column: ColumnDomains, isNull: Boolean)
    extends ColumnTest(column, ofNulls = isNull, ofValues = !isNull, ofNaN = !isNull) {
  override protected def mayMatch(from: Int, until: Int): Long = -1L
}
