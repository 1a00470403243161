// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.{Arrays, BitSet, IdentityHashMap}

import scala.collection.mutable

import io.sparkzorder.skipping.values.Intervals

/**
 * Decides for every file of an index whether some row of the file may match a predicate. A file is
 * pruned only if no row can match. The names of the tests describe the rows that match, not the
 * files that are pruned.
 *
 * A bitmap has one bit for each file. A test gets a window of this bitmap, so that it can test only some of
 * the files.
 */
private[sparkzorder] trait FileTest {

  /**
   * Clears the bit of each file in which no row can match.
   *
   * @param words a window of the bitmap; bits of files that do not exist are not set
   * @param from the position of the window's first word in the bitmap: bit 0 stands for file `64 * from`
   */
  def restrict(words: Array[Long], from: Int): Unit

  /** The number of tests on single columns of which this test is made. */
  def parts: Int = 1

  /** The files among the first `count` files that may hold a matching row. */
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
   * If a disjunction has more tests than this after the tests of each column were merged, its conjunctions are
   * merged to fewer, coarser tests.
   */
  val MaxDisjuncts = 64

  /** If the test of a nested condition has more parts than this, it is replaced by a coarser test. */
  val MostParts = 256

  /**
   * A conjunction. Unknown tests are left out, because the known tests alone decide what is pruned.
   */
  def and(tests: Seq[FileTest]): FileTest = {
    val known = tests.filterNot(_.isInstanceOf[Unknown])
    if (known.isEmpty) tests.headOption.getOrElse(Unknown("it is always true"))
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

  /** A disjunction. If one disjunct is unknown, the disjunction is, too, because any file may match this disjunct. */
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

/**
 * Joins the tests of one column to one test, so that a filter with thousands of values or ranges walks the
 * files once. The joined test of a conjunction prunes more files than its parts do, because one value must
 * fulfil all parts: a file with the integers from 1 to 9 may hold a value above 5 and a value below 6, but no
 * value with `a > 5 AND a < 6`.
 */
private[predicate] object MergedTests {

  /**
   * The conjunction of `tests`: one test for each column, and the tests that are not of a single column. The
   * result may contain [[Never]].
   */
  def and(tests: Seq[FileTest]): Seq[FileTest] =
    byColumn(tests).map {
      case Left(other) => other
      case Right(Seq(one)) => one
      case Right(same) =>
        val column = same.head.column
        val sets = same.collect { case t: IntervalTest => t }
        val nulls = same.collect { case t: NullTest => t.isNull }
        val ofNulls = !nulls.contains(false) && sets.forall(_.ofNulls)
        if (nulls.contains(true)) {
          if (ofNulls) new NullTest(column, isNull = true) else Never
        } else if (sets.isEmpty) new NullTest(column, isNull = false)
        else {
          val values = sets.map(_.intervals).reduce(_ intersect _)
          IntervalTest(column, values, sets.head.hasNaN, ofNulls)
        }
    }

  /** The disjunction of `tests`: one or two tests for each column, and the tests that are not of a single column. */
  def or(tests: Seq[FileTest]): Seq[FileTest] = {
    val merged = byColumn(tests).flatMap {
      case Left(other) => Seq(other)
      case Right(same) =>
        val (notNull, others) = same.partition {
          case t: NullTest => !t.isNull
          case _ => false
        }
        val sets = others.collect { case t: IntervalTest => t }
        val ofNulls = sets.exists(_.ofNulls) || sets.size < others.size
        val union =
          if (sets.isEmpty) others.take(1)
          else {
            val values = Intervals.union(sets.map(_.intervals))
            Seq(IntervalTest(sets.head.column, values, sets.head.hasNaN, ofNulls))
          }
        notNull.take(1) ++ union
    }
    if (merged.size <= FileTest.MaxDisjuncts) merged else coarser(merged)
  }

  /**
   * Replaces all conjunctions on the same set of columns by one weaker test, which keeps each file that at least
   * one of these conjunctions keeps. For example, `a = 1 AND b = 2 OR a = 3 AND b = 4` becomes
   * `a IN (1, 3) AND b IN (2, 4)`.
   */
  private def coarser(tests: Seq[FileTest]): Seq[FileTest] = {
    val (conjunctions, others) = tests.partition(_.isInstanceOf[AllOf])
    val parts = conjunctions.collect { case AllOf(inner) => byColumn(inner) }
    val numbers = new IdentityHashMap[ColumnDomains, Int]
    def key(part: Seq[Either[FileTest, Seq[ColumnTest]]]): Set[Int] = part.collect {
      case Right(same) => numbers.computeIfAbsent(same.head.column, _ => numbers.size)
    }.toSet
    val joined = parts.groupBy(key).values.map { some =>
      val each = some.flatten.collect { case Right(same) => same }
      if (each.isEmpty) Unknown("an OR of many predicates on several columns")
      else FileTest.and(byColumn(each.flatten).collect { case Right(same) => FileTest.or(same) })
    }
    others ++ joined
  }

  /** The tests of single columns, grouped by column, on the right; each other test on the left. */
  private def byColumn(tests: Seq[FileTest]): Seq[Either[FileTest, Seq[ColumnTest]]] = {
    val groups = new IdentityHashMap[ColumnDomains, mutable.Builder[ColumnTest, Seq[ColumnTest]]]
    val order = mutable.ArrayBuffer.empty[Either[FileTest, ColumnDomains]]
    tests.foreach {
      case t: ColumnTest =>
        if (!groups.containsKey(t.column)) {
          groups.put(t.column, Seq.newBuilder[ColumnTest])
          order += Right(t.column)
        }
        groups.get(t.column) += t
      case other => order += Left(other)
    }
    order.toSeq.map(_.map(groups.get(_).result()))
  }
}
