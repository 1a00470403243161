// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import scala.util.{Failure, Random, Success, Try}

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.RandomInputs
import io.sparkzorder.skipping.scan.IndexPruning

/**
 * The index against Spark itself: of every file in which Spark finds a matching row, the index must say
 * that it has to be read. A pair is a table and a predicate.
 */
abstract class SkippingFuzzBase extends SkippingTestBase with RandomInputs {

  /** Pairs so far, and how many of them let files go. */
  protected var judged = 0
  protected var dropped = 0

  /** Pairs whose predicate raised an error for some row, as only ANSI allows. */
  protected var failed = 0

  /** Whole queries that were run both ways. */
  protected var queries = 0
  protected val constructs = new ConstructCounts

  private def isAnsi: Boolean = spark.conf.get("spark.sql.ansi.enabled").toBoolean

  /** Predicates as the optimizer leaves them, though not pushed to the scan, and what they are made from. */
  private def optimized(df: DataFrame, predicates: Seq[Column]): (LogicalPlan, Seq[Expression]) = {
    val named = predicates.zipWithIndex.map { case (p, i) => p.as(s"p$i") }
    df.select(named: _*).queryExecution.optimizedPlan match {
      case Project(list, child) => child -> list.map {
          case Alias(e, _) => e
          case a: Attribute => a
          case other => other
        }
      case other => fail(s"not a projection: $other")
    }
  }

  /** Without those in which the optimizer computes a constant that ANSI does not allow. */
  private def allowed(df: DataFrame, predicates: Seq[Column]): Seq[Column] =
    Try(optimized(df, predicates)) match {
      case Failure(e) if isAnsi && isDataError(e) =>
        predicates.filter(p => Try(optimized(df, Seq(p))).isSuccess)
      case _ => predicates
    }

  /** @param filtered of how many predicates one is judged as the filter of a query, too */
  protected def check(df: DataFrame, all: Seq[Column], filtered: Int = 8): Unit = {
    val predicates = allowed(df, all)
    val (child, expressions) = optimized(df, predicates)
    val rows = new RowsOfFiles(SparkLine.session(spark), child)
    val scan = scanOf(child)
    val files = scan.files
    val errors = IndexPruning.failureCount
    expressions.zip(predicates).zipWithIndex.foreach { case ((e, predicate), i) =>
      val truth = rows.truth(e)
      truth.error.foreach(raised => if (!isAnsi && !raisesAlways(raised)) throw raised)
      val keep = scan.pruning(Seq(e))
      val kept = files.filter(f => keep.forall(_(f))).map(_.getPath.getName).toSet
      assert((truth.files -- kept).isEmpty, s"lost by ${e.sql}")
      if (i % filtered == 0) {
        val lost = truth.files -- keptByFilter(df, predicate).getOrElse(truth.files)
        assert(lost.isEmpty, s"lost where $predicate")
      }
      val letGo = kept.size < files.size
      judged += 1
      if (letGo) dropped += 1
      if (truth.error.isDefined) failed += 1
      constructs.add(e, letGo)
    }
    assert(IndexPruning.failureCount === errors)
  }

  /** None where the optimizer knows that no row can match, or computes what ANSI does not allow. */
  private def keptByFilter(df: DataFrame, predicate: Column): Option[Set[String]] =
    Try(df.where(predicate).queryExecution.optimizedPlan) match {
      case Failure(e) if isAnsi && isDataError(e) => None
      case planned =>
        Some(planned.get).filter(_.exists(_.isInstanceOf[LogicalRelation])).map(scanOf(_).kept())
    }

  /**
   * Does rounds until so many pairs were judged; each gets random values of its own.
   *
   * @param part each part of a suite has other rounds
   */
  protected def judgeUntil(pairs: Int, part: Int = 1)(
      round: (Int, Random) => Unit): Unit = withRandom { first =>
    val random = if (part == 1) first else new Random(first.nextLong() + part)
    var r = 0
    while (judged < pairs) {
      r += 1
      // a seed of its own, so that a failing round can be had alone
      val seed = random.nextLong()
      withClue(s"round $r, seed $seed: ")(round(r, new Random(seed)))
      if (r % 20 == 0 && pairs > 10000)
        note(s"seed $randomSeed: $judged pairs, $dropped of which let files go")
    }
    info(s"seed $randomSeed: $judged pairs of $r tables: $dropped let files go, " +
      s"$failed raised an error for some row; $queries of them also as whole queries")
    info(s"in how many pairs (and of which files were let go): $constructs")
    assert(dropped > judged / 5)
  }

  protected def predicates(random: Random, table: RandomTable, count: Int): Seq[Column] = {
    val make = new RandomPredicate(random, table.columns)
    Seq.fill(count)(SparkLine.column(make.next()))
  }

  /** The rows of a query with skipping are those without; only an error may become rows. */
  protected def sameRows(df: DataFrame, predicate: Column): Unit = {
    def rows() = Try(bag(df.where(predicate)))
    val pruned = rows()
    queries += 1
    withoutSkipping(rows()) match {
      case Success(all) => assert(pruned.get === all, s"rows where $predicate")
      case Failure(e) =>
        assert((isAnsi || raisesAlways(e)) && isDataError(e), s"where $predicate: $e")
    }
  }

  private def isDataError(e: Throwable): Boolean = causes(e).exists(_.isInstanceOf[SparkThrowable])

  /** Spark rounds the negation of a DECIMAL of 38 digits, and then raises an error in every mode. */
  private def raisesAlways(e: Throwable): Boolean = causes(e).exists { c =>
    val message = String.valueOf(c.getMessage)
    // the second is that of Spark 3.5 with Scala 2.13
    message.contains("NUMERIC_VALUE_OUT_OF_RANGE") ||
    message.contains("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION")
  }

  private def causes(e: Throwable): Iterator[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null)
}
