// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import java.io.File

import org.apache.spark.sql.Row

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.workload.{RecordedScans, WorkloadCapture}

/** Tables whose scans are recorded. */
abstract class AutoTestBase extends OptimizeTestBase {
  protected val on = "spark.zorder.workload.enabled" -> "true"

  override def withTableDir(body: File => Unit): Unit = super.withTableDir { dir =>
    WorkloadCapture.clear()
    write(
      spark.range(0, 40000, 1, 8).selectExpr(
        "id",
        "pmod(hash(id), 10000) a",
        "pmod(hash(id, 1), 10000) b",
        "concat('name', pmod(hash(id, 2), 5000)) s",
        "cast(id as string) as other"),
      dir)
    sql(s"CREATE ZORDER INDEX ON '$dir'")
    body(dir)
  }

  protected def workload(dir: File): Seq[Row] = sql(s"SHOW WORKLOAD '$dir'").collect().toSeq

  protected def columnsOf(row: Row): Seq[(String, String)] =
    row.getSeq[Row](0).map(r => (r.getString(0), r.getString(1)))

  protected def ask(dir: File, filters: String*): Unit = withSQLConf(on) {
    filters.foreach(f => read(dir).where(f).collect())
  }

  protected def bytesOf(dir: File): Double = dataFiles(dir).map(_.length.toDouble).sum

  /** As if so many point queries had been run. */
  protected def record(dir: File, of: (String, Int)*): Unit =
    RecordedScans.write(dir, bytesOf(dir))(of.flatMap { case (column, n) =>
      (0 until n).map { i =>
        val at = (i * 97 % 256 + 0.5) / 256
        Seq(column -> ((at, at)))
      }
    }: _*)

  protected def size(dir: File): String = sizeFor(dir, 64)

  protected def auto(dir: File, size: String, clauses: String = ""): Row =
    sql(s"OPTIMIZE '$dir' ZORDER BY AUTO OPTIONS ($size) $clauses").head()

  protected def reason(row: Row): String = row.getAs[String]("reason")
}
