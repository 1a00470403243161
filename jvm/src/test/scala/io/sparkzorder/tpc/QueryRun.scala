// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.lang.management.ManagementFactory

import scala.collection.JavaConverters._

import com.sun.management.OperatingSystemMXBean
import org.apache.hadoop.fs.FileSystem

import org.apache.spark.sql.SparkSession

/**
 * One run of a query.
 *
 * @param cpuSeconds processor time of the whole process, which other programs change less than `seconds`
 * @param planSeconds until the plan is there that the run begins with
 * @param scannedBytes bytes that were read of all files, dimensions included
 */
final case class QueryRun(
    rows: Seq[String],
    seconds: Double,
    cpuSeconds: Double,
    planSeconds: Double,
    scannedBytes: Long,
    plan: PlanCounts)

object QueryRun {
  def of(open: OpenContender, query: String): QueryRun = {
    val before = bytesRead()
    val ((df, rows, seconds, cpu, planned), scans) =
      ExecutedScans.during(open.session, open.sizes) {
        val (start, cpuStart) = (System.nanoTime(), cpuNanos)
        val df = open.session.sql(query)
        df.queryExecution.executedPlan
        val planned = (System.nanoTime() - start) / 1e9
        val rows = df.collect()
        (df, rows, (System.nanoTime() - start) / 1e9, (cpuNanos - cpuStart) / 1e9, planned)
      }
    val bytes = bytesRead() - before
    val plan = PlanCounts.of(df.queryExecution.executedPlan, scans)
    QueryRun(ResultRows.normalized(rows.toSeq), seconds, cpu, planned, bytes, plan)
  }

  private def cpuNanos: Long = ManagementFactory.getOperatingSystemMXBean match {
    case system: OperatingSystemMXBean => system.getProcessCpuTime
    case other => throw new IllegalStateException(s"no processor time in $other")
  }

  /**
   * Compares the rows of a query with those of a first run. Where LIMIT can choose between equal
   * rows, all rows are compared.
   *
   * @return the difference; None if the rows are equal
   */
  def difference(
      query: TpcQuery,
      first: (OpenContender, QueryRun),
      second: (OpenContender, QueryRun)): Option[String] =
    ResultRows.difference(first._2.rows, second._2.rows).flatMap { found =>
      if (query.withoutLimit == query.text) Some(found)
      else {
        ResultRows.difference(
          all(first._1.session, query.withoutLimit),
          all(second._1.session, query.withoutLimit))
      }
    }

  private def all(session: SparkSession, text: String): Seq[String] =
    ResultRows.normalized(session.sql(text).collect().toSeq)

  private def bytesRead(): Long =
    FileSystem.getGlobalStorageStatistics.iterator().asScala
      .flatMap(s => Option(s.getLong("bytesRead"))).map(_.longValue).sum
}
