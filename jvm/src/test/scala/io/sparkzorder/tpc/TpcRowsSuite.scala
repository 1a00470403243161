package io.sparkzorder.tpc

import scala.util.{Failure, Success, Try}

import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkConf

import io.sparkzorder.ZOrderSessionSuite

/**
 * All queries of TPC-DS and TPC-H with the skipping index and without: equal rows, no more files a
 * scan, and no exchange that is reused without us and computed twice with us.
 * `-Dsparkzorder.test.tpcScale=0.1` in `javaOptions` takes more data, and
 * `-Dsparkzorder.test.tpcQueries=q14a,q64` fewer queries.
 */
class TpcRowsSuite extends ZOrderSessionSuite {
  private val scale = sys.props.getOrElse("sparkzorder.test.tpcScale", "0.01")
  private val chosen = sys.props.get("sparkzorder.test.tpcQueries").map(_.split(',').toSet)
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
          Contender.open(Contender.WithoutIndex, workload, data, spark),
          Contender.open(Contender.WithIndex, workload, data, spark))
        val problems = workload.queries.filter(q => chosen.forall(_(q.name))).flatMap { q =>
          compared.problems(q).map(p => s"${q.name}: $p")
        }
        info(s"scale $scale: ${compared.summary}")
        assert(problems.mkString("\n") === "")
      }
    }
  }
}

/** Runs queries with the index and without. */
private final class Compared(without: OpenContender, withIndex: OpenContender) {
  private var queries = 0
  private var refused = Seq.empty[String]
  private var moreScans = Seq.empty[String]
  private var read = 0L
  private var total = 0L

  def summary: String =
    s"$queries queries, $read of $total files read with the index; " +
      s"queries that Spark fails: ${refused.mkString(", ")}; " +
      s"adaptive runs with more scans: ${moreScans.mkString(", ")}"

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
    rows ++ moreFiles(expected.plan, adaptive.plan) ++ lostReuse(query)
  }

  private def run(open: OpenContender, query: TpcQuery, adaptive: Boolean): QueryRun = {
    open.session.conf.set("spark.sql.adaptive.enabled", adaptive.toString)
    QueryRun.of(open, query.text)
  }

  /**
   * Compares the files of a scan on average. A side that gives keys and scans a fact table itself may be
   * planned apart from its join by adaptive execution, and run twice: q95 has 3 to 5 scans.
   */
  private def moreFiles(expected: PlanCounts, found: PlanCounts): Option[String] = {
    def files(p: PlanCounts) = (p.scans.size, p.scans.map(_.files.toLong).sum)
    val (scans, read) = files(expected)
    val (foundScans, foundRead) = files(found)
    if (foundScans > scans) moreScans :+= s"$foundScans instead of $scans scans"
    if (foundRead * scans > read * foundScans)
      Some(s"$foundRead files in $foundScans scans, $read in $scans without")
    else None
  }

  /** Compares plans that are not adaptive: in those, what is reused does not depend on data. */
  private def lostReuse(query: TpcQuery): Option[String] = {
    def plan(open: OpenContender): PlanCounts = {
      open.session.conf.set("spark.sql.adaptive.enabled", "false")
      PlanCounts.of(open.session.sql(query.text).queryExecution.executedPlan, Nil)
    }
    val expected = plan(without)
    val found = plan(withIndex)
    if (found.exchanges > expected.exchanges) Some(s"$found, $expected without") else None
  }
}
