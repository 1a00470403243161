// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.IdentityHashMap

import scala.collection.mutable

import io.sparkzorder.skipping.values.Intervals

/**
 * Joins tests of one column to one test, so that a filter with thousands of values or ranges walks
 * the files once. The joined test of a conjunction prunes more files than its parts do: a value must
 * fulfil all of them.
 */
private[predicate] object MergedTests {

  /** Tests that say together what all of `tests` say. [[Never]] may be among them. */
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

  /** Tests of which one holds where one of `tests` does. */
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

  /** Conjunctions on the same columns become one that holds wherever one of them holds. */
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

  /** Groups the tests of single columns; the others are on the left, each for itself. */
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
