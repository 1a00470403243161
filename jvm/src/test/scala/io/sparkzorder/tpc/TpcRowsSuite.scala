// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.time.{LocalDate, ZoneOffset}

import scala.util.{Failure, Success, Try}

import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.SparkPlan

import io.sparkzorder.{ValidatedPlans, ZOrderSessionSuite}

/**
 * All queries of TPC-DS and TPC-H with the skipping index and without: equal rows, no more scans of a
 * table, no more bytes, and no exchange that is reused without us and computed twice with us. A side of a
 * join that runs once more for its keys counts for the bytes alone.
 * `-Dsparkzorder.test.tpcScale=0.1` in `javaOptions` takes more data, and
 * `-Dsparkzorder.test.tpcQueries=q14a,q64` fewer queries. So does `TPC_EVERY=8` in the environment: every
 * eighth query, each time others.
 */
class TpcRowsSuite extends ZOrderSessionSuite with ValidatedPlans {
  private val scale = sys.props.getOrElse("sparkzorder.test.tpcScale", "0.01")
  private val chosen = sys.props.get("sparkzorder.test.tpcQueries").map(_.split(',').toSet)
  private val every = sys.env.get("TPC_EVERY").map(_.toInt).getOrElse(1)
  // `PART=2/12`: this suite runs on each twelfth day, and the next time takes the next queries
  private val days = sys.env.get("PART").filter(_.nonEmpty).fold(1)(_.split('/')(1).toInt)
  private val files = 8

  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set("spark.hadoop.parquet.hadoop.vectored.io.enabled", "false")
      .set("spark.sql.maxMetadataStringLength", "1000")

  Workload.all.foreach { workload =>
    test(s"${workload.name}: equal rows with the index and without, adaptive or not", Slow) {
      withTempDir { dir =>
        val data = new TpcData(workload, scale, dir, files)
        val compared = new Compared(
          Contender.open(Contender.withoutIndex(data), workload, data, spark),
          Contender.open(Contender.withIndex(data), workload, data, spark))
        val turn = LocalDate.now(ZoneOffset.UTC).toEpochDay / days
        val queries = workload.queries.zipWithIndex.collect {
          case (q, i) if chosen.forall(_(q.name)) && (i + turn) % every == 0 => q
        }
        assert(queries.nonEmpty)
        val problems =
          queries.flatMap(q => compared.problems(q).map(p => s"${q.name}: $p"))
        info(s"scale $scale, of ${queries.map(_.name).mkString(" ")}: ${compared.summary}")
        assert(problems.mkString("\n") === "")
      }
    }
  }
}

/** Runs queries with the index and without. */
private final class Compared(without: OpenContender, withIndex: OpenContender) {
  private var queries = 0
  private var refused = Seq.empty[String]
  private var fewerWithout = Seq.empty[String]
  private var read = 0L
  private var total = 0L

  def summary: String =
    s"$queries queries, $read of $total files read with the index; " +
      s"queries that Spark fails: ${refused.mkString(", ")}; " +
      s"adaptive runs in which Spark alone left out scans: ${fewerWithout.mkString(", ")}"

  /** A query may divide by zero where there are few rows, and the types of a column may not fit. */
  def problems(query: TpcQuery): Seq[String] =
    Try(run(without, query, adaptive = true)) match {
      case Success(expected) => problems(query, expected)
      case Failure(e) =>
        refused :+= query.name
        Try(run(withIndex, query, adaptive = true)) match {
          case Failure(other) if other.getClass == e.getClass => Nil
          case other => Seq(s"$e without the index, $other with the index")
        }
    }

  private def problems(query: TpcQuery, expected: QueryRun): Seq[String] = {
    val adaptive = run(withIndex, query, adaptive = true)
    val static = run(withIndex, query, adaptive = false)
    queries += 1
    read += adaptive.plan.scans.map(_.files).sum
    total += adaptive.plan.scans.map(_.allFiles).sum
    val rows = Seq("adaptive" -> adaptive, "not adaptive" -> static).flatMap { case (kind, found) =>
      QueryRun.difference(query, without -> expected, withIndex -> found).map(d => s"$kind: $d")
    }
    rows ++ planned(query, expected.plan, Seq(adaptive.plan, static.plan))
  }

  private def run(open: OpenContender, query: TpcQuery, adaptive: Boolean): QueryRun = {
    open.session.conf.set("spark.sql.adaptive.enabled", adaptive.toString)
    QueryRun.of(open, query.text)
  }

  /** Compares also the plans that are not adaptive: what is reused there does not depend on data. */
  private def planned(
      query: TpcQuery,
      expected: PlanCounts,
      found: Seq[PlanCounts]): Seq[String] = {
    def plan(open: OpenContender): SparkPlan = {
      open.session.conf.set("spark.sql.adaptive.enabled", "false")
      open.session.sql(query.text).queryExecution.executedPlan
    }
    val alone = plan(without)
    val (ofSpark, ours) = (PlanCounts.of(alone, Nil), PlanCounts.of(plan(withIndex), Nil))
    val lostReuse =
      if (ours.exchanges > ofSpark.exchanges) Some(s"$ours, $ofSpark without") else None
    val tables = PlannedFiles.tables(alone)
    found.flatMap(moreScans(query, expected, tables, _)) ++
      found.flatMap(moreBytes(tables, _)) ++ lostReuse
  }

  /**
   * Without the index each scan of the plan reads all files of its table. A second run of a side for its keys may
   * prune nothing if it reads less than a MiB, which `PrunableColumns` takes for cheap: all returns at scale 0.01.
   */
  private def moreBytes(tables: Seq[String], found: PlanCounts): Option[String] = {
    val alone = tables.flatMap(without.sizes.get).map { case (_, bytes) => bytes }.sum
    val cheap = found.scans.filter(s => s.isForKeys && s.bytes < (1L << 20)).map(_.bytes).sum
    val ours = found.scans.map(_.bytes).sum
    if (ours <= alone + cheap) None else Some(s"$ours bytes of the fact tables, $alone without")
  }

  /**
   * Adaptive execution leaves out the scans below a join as soon as it knows that the join has no rows.
   * Which scans run until then depends on which stage ends first, with the index and without: q95 has 3
   * to 5 scans. At most the scans of the plan run.
   *
   * @param tables the tables of the plan's scans without the index
   */
  private def moreScans(
      query: TpcQuery,
      expected: PlanCounts,
      tables: Seq[String],
      found: PlanCounts): Seq[String] =
    found.scans.filterNot(_.isForKeys).groupBy(_.table).toSeq.flatMap { case (table, scans) =>
      val ran = expected.scans.count(_.table == table)
      val planned = tables.count(_ == table)
      if (scans.size > ran && scans.size <= planned) fewerWithout :+= s"${query.name} ($table)"
      if (scans.size <= ran.max(planned)) None
      else Some(s"${scans.size} scans of $table, $ran of $planned planned scans without")
    }
}
