// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.io.File
import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import org.apache.hadoop.fs.Path

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.delta.{DeltaHistory, DeltaLog}
import org.apache.spark.sql.delta.actions.AddFile

import io.sparkzorder.ZOrderExtensions
import io.sparkzorder.rewrite.OptimizeResult
import io.sparkzorder.sources.{FormatTestBase, SnapshotFormat}

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

  override protected def format: String = "delta"
  override protected def database: String = "default"
  override protected def full(name: String): String = name
  override protected def drop(name: String): Unit = { val _ = sql(s"DROP TABLE `$name`") }

  protected def directory: File = new File(log("t").dataPath.toUri.getPath)
  protected def commits: Int = layouts("t")
  protected def allCommits: Int = version("t").toInt

  override protected def opened: SnapshotFormat =
    new DeltaFormat(log("t"), None, "t", isNamed = true)

  override protected def interrupted(options: Map[String, String])(before: => Unit): Unit = {
    val _ = optimizeWith("t", options)(before)
  }

  override protected def appended(rows: DataFrame): Unit = append("t", rows)

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

  override protected def orphans(name: String): Set[String] = {
    val own = log(name)
    val state = own.update()
    // paths are encoded in the log
    val removed = state.tombstones.collect().map(r => new Path(new URI(r.path)))
    val known = (files(name).map(_.absolutePath(own)) ++ removed).map(_.getName).toSet
    filesBelow(new File(own.dataPath.toUri.getPath), ".parquet").diff(known)
  }

  /** Changes the text of the last commit, as if another writer had written it. */
  protected def rewriteLastCommit(name: String)(change: String => String): Unit = {
    val folder = new File(log(name).logPath.toUri.getPath)
    val commit = new File(folder, f"${version(name)}%020d.json")
    val text = new String(Files.readAllBytes(commit.toPath), UTF_8)
    val changed = change(text)
    assert(changed !== text)
    Files.write(commit.toPath, changed.getBytes(UTF_8))
    // checksums, of the file and of the version
    folder.listFiles.filter(_.getName.endsWith(".crc")).foreach(f => assert(f.delete()))
    DeltaLog.clearCache()
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
    optimizeWith(inner, options)(before)
  }
}
