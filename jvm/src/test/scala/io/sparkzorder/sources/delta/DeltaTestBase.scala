// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.io.File
import java.net.URI
import java.nio.file.Files

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.delta.{DeltaHistory, DeltaLog}
import org.apache.spark.sql.delta.actions.AddFile
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.ZOrderExtensions
import io.sparkzorder.rewrite.OptimizeResult
import io.sparkzorder.sources.{FormatTestBase, LatchedRun, OptimizeClauses}

/** What the suites of Delta tables share: a session with both extensions. */
abstract class DeltaTestBase extends FormatTestBase {

  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set(
        "spark.sql.extensions",
        s"${classOf[ZOrderExtensions].getName},io.delta.sql.DeltaSparkSessionExtension")
      .set(
        "spark.sql.catalog.spark_catalog",
        "org.apache.spark.sql.delta.catalog.DeltaCatalog")
      .set("spark.databricks.delta.snapshotPartitions", "1")
      .set("spark.delta.logStore.file.impl", classOf[FaultyLogStore].getName)
      // most of the time of a small test is planning
      .set("spark.sql.adaptive.enabled", "false")
      .set("spark.sql.planChangeValidation", "false")
      .set("spark.sql.lightweightPlanChangeValidation", "false")

  /** Runs `body`, and drops its tables. */
  protected def withTables(body: => Any): Unit =
    try { val _ = body }
    finally {
      sql("SHOW TABLES").collect().filterNot(_.getAs[Boolean]("isTemporary")).foreach { r =>
        sql(s"DROP TABLE `${r.getAs[String]("tableName")}`")
      }
    }

  /** A table with `files` files of mixed rows. */
  protected def create(
      name: String,
      clauses: String = "",
      files: Int = 8,
      rows: Int = 8000): Unit = {
    numbers(0, rows, files).createOrReplaceTempView("numbers")
    sql(s"CREATE TABLE $name USING delta $clauses AS SELECT * FROM numbers")
  }

  protected def append(name: String, rows: DataFrame): Unit =
    rows.write.format("delta").mode("append").saveAsTable(name)

  protected def log(name: String): DeltaLog =
    DeltaLog.forTable(spark, TableIdentifier(name))

  protected def version(name: String): Long = log(name).update().version

  protected def files(name: String): Seq[AddFile] =
    log(name).update().allFiles.collect().toSeq

  /** Commits, the newest first. */
  protected def history(name: String): Seq[DeltaHistory] = log(name).history.getHistory(None)

  /** Runs of OPTIMIZE with our layout. */
  protected def layouts(name: String): Int = history(name).count(_.operation == "OPTIMIZE")

  /** The files of the table's directory that no version has. */
  protected def orphans(name: String): Set[String] = {
    val own = log(name)
    val state = own.update()
    // paths are encoded in the log
    val removed = state.tombstones.collect().map(r => new Path(new URI(r.path)))
    val known = (files(name).map(_.absolutePath(own)) ++ removed).map(_.getName).toSet
    val stream = Files.walk(new File(own.dataPath.toUri.getPath).toPath)
    try
      stream.iterator.asScala.map(_.toFile).filter(f => f.isFile && f.getName.endsWith(".parquet"))
        .filterNot(_.getPath.contains("_delta_log")).map(_.getName).filterNot(known).toSet
    finally stream.close()
  }

  /** Runs OPTIMIZE of two columns, and `before` just before each commit. */
  protected def optimizeWith(name: String, options: Map[String, String] = Map.empty)(
      before: => Unit): OptimizeResult = {
    val id = TableIdentifier(name)
    val inner = new DeltaFormat(
      log(name),
      Some(spark.sessionState.catalog.getTableMetadata(id)),
      s"spark_catalog.default.$name",
      isNamed = true)
    val clauses = OptimizeClauses(
      full = true,
      columns = Seq(Seq("a"), Seq("b")),
      options = Map("targetFileSize" -> "4k") ++ options)
    new LatchedRun(SparkLine.session(spark), inner, clauses, () => before).run()
  }

  /** Runs OPTIMIZE and checks that the table has the same rows as before. */
  protected def optimized(name: String, clauses: String = "ZORDER BY (a, b)"): Row = {
    val before = bag(spark.table(name))
    val row = sql(s"OPTIMIZE TABLE $name $clauses").head()
    assert(bag(spark.table(name)) === before)
    row
  }
}
