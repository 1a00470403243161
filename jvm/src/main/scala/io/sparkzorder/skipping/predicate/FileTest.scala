// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.{Arrays, BitSet}

/**
 * Decides for every file of an index whether some row of the file may match a predicate. A file is
 * pruned only if no row can match. The names of the tests describe the rows that match, not the
 * files that are pruned.
 *
 * A bitmap has one bit for each file. A test gets a window of such a bitmap, so that a part of the
 * files can be tested alone.
 */
private[sparkzorder] trait FileTest {

  /**
   * Clears the bit of each file in which no row can match.
   *
   * @param words a window of the bitmap; bits of files that do not exist are not set
   * @param from the position of its first word in the bitmap: bit 0 stands for file `64 * from`
   */
  def restrict(words: Array[Long], from: Int): Unit

  /** The number of tests on single columns of which this test is made. */
  def parts: Int = 1

  /** Those of the first `count` files that may hold a matching row. */
  final def files(count: Int): BitSet = {
    val words = FileTest.all(count)
    restrict(words, 0)
    BitSet.valueOf(words)
  }
}

/** The test of a predicate that cannot be decided: every file may hold a matching row. */
private[sparkzorder] final case class Unknown(reason: String) extends FileTest {
  override def restrict(words: Array[Long], from: Int): Unit = ()
}

/** No row of any file can match. */
private[sparkzorder] case object Never extends FileTest {
  override def restrict(words: Array[Long], from: Int): Unit = Arrays.fill(words, 0L)
}

/**
 * A conjunction. Each test clears further bits among those that the tests before it have left set.
 */
private[sparkzorder] final case class AllOf(tests: Seq[FileTest]) extends FileTest {
  override val parts: Int = tests.map(_.parts).sum

  override def restrict(words: Array[Long], from: Int): Unit =
    tests.foreach(_.restrict(words, from))
}

/**
 * A disjunction, which is evaluated block by block. In each block, a test gets only the files that no
 * earlier test has kept, so most blocks need few tests.
 */
private[sparkzorder] final case class AnyOf(tests: Seq[FileTest]) extends FileTest {
  private val each = tests.toArray
  override val parts: Int = tests.map(_.parts).sum

  override def restrict(words: Array[Long], from: Int): Unit = {
    var at = 0
    while (at < words.length) {
      val end = math.min(words.length, at + ColumnDomains.BlockWords)
      restrict(words, at, end, from)
      at = end
    }
  }

  private def restrict(words: Array[Long], at: Int, end: Int, from: Int): Unit = {
    val wanted = Arrays.copyOfRange(words, at, end)
    val rest = new Array[Long](end - at)
    Arrays.fill(words, at, end, 0L)
    var t = 0
    var isOver = false
    while (t < each.length && !isOver) {
      var open = 0L
      var i = 0
      while (i < rest.length) {
        rest(i) = wanted(i) & ~words(at + i)
        open |= rest(i)
        i += 1
      }
      if (open == 0) isOver = true
      else {
        each(t).restrict(rest, from + at)
        i = 0
        while (i < rest.length) {
          words(at + i) |= rest(i)
          i += 1
        }
      }
      t += 1
    }
  }
}

private[sparkzorder] object FileTest {

  /** A bitmap in which all of `count` files are set. */
  def all(count: Int): Array[Long] = window(count, 0, (count + 63) / 64)

  /** The words from `from` until `until` of a bitmap in which all of `count` files are set. */
  def window(count: Int, from: Int, until: Int): Array[Long] = {
    val words = Array.fill(until - from)(-1L)
    if (until > from && until * 64L > count) words(words.length - 1) = (1L << count) - 1
    words
  }

  /**
   * If a disjunction has more disjuncts on several columns than this, they are merged to fewer, coarser
   * tests.
   */
  val MaxDisjuncts = 64

  /** If the test of a nested condition has more parts than this, it is replaced by a coarser test. */
  val MostParts = 256

  /**
   * A conjunction. Unknown tests are left out, because the known tests alone decide what is pruned.
   */
  def and(tests: Seq[FileTest]): FileTest = {
    val known = tests.filterNot(_.isInstanceOf[Unknown])
    if (known.isEmpty) tests.head
    else {
      MergedTests.and(known.flatMap {
        case AllOf(inner) => inner
        case other => Seq(other)
      }) match {
        case some if some.contains(Never) => Never
        case Seq(one) => one
        case some => AllOf(some)
      }
    }
  }

  /** A disjunction. If one disjunct is unknown, the disjunction is unknown. */
  def or(tests: Seq[FileTest]): FileTest =
    tests.find(_.isInstanceOf[Unknown]).getOrElse {
      MergedTests.or(tests.filterNot(_ == Never).flatMap {
        case AnyOf(inner) => inner
        case other => Seq(other)
      }) match {
        case Seq() => Never
        case Seq(one) => one
        case some => some.find(_.isInstanceOf[Unknown]).getOrElse(AnyOf(some))
      }
    }
}
