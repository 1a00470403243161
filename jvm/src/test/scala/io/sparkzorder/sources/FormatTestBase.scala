// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.io.File
import java.nio.file.Files

import scala.collection.JavaConverters._

import org.scalatest.Tag
import org.scalatest.time.SpanSugar._

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.sparkzorder.{SparkLine, TestAccess}

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.rewrite.OptimizeResult

/** What the suites of Delta and Iceberg tables share. */
abstract class FormatTestBase extends OptimizeTestBase {

  /** As in USING. */
  protected def format: String

  /** The database of the tables, with its catalog. */
  protected def database: String

  /** Name of a table in SQL. */
  protected def full(name: String): String = s"$database.$name"

  /** Drops a table and all of its files. */
  protected def drop(name: String): Unit

  /** The files of the table's directory that no version has. */
  protected def orphans(name: String): Set[String]

  /** The table `t`, opened anew. */
  protected def opened: SnapshotFormat

  /** Runs FULL of `t` by two columns, and `before` just before each commit. */
  protected def interrupted(options: Map[String, String] = Map.empty)(before: => Unit): Unit

  /** Appends to `t`. */
  protected def appended(rows: DataFrame): Unit

  /** Rows in no order of `a` and `b`, in `files` partitions. */
  protected def numbers(from: Int, until: Int, files: Int): DataFrame =
    spark.range(from, until, 1, files).selectExpr(
      "id",
      "pmod(hash(id), 1000) a",
      "pmod(hash(id, 7), 1000) b",
      "id % 4 p",
      "concat('s', id % 13) s")

  /** A table with `files` files of mixed rows. */
  protected def create(
      name: String,
      clauses: String = "",
      files: Int = 8,
      rows: Int = 8000): Unit = {
    numbers(0, rows, files).createOrReplaceTempView("numbers")
    sql(s"CREATE TABLE ${full(name)} USING $format $clauses AS SELECT * FROM numbers")
  }

  /** Tags of tests that do the same whatever the format is. */
  protected def commonTags: Seq[Tag] = Nil

  protected def common(name: String)(body: => Any): Unit = test(name, commonTags: _*)(body)

  /** Runs `body`, and drops its tables. */
  protected def withTables(body: => Any): Unit =
    try { val _ = body }
    finally dropTables()

  /** Drops all tables but those with these names. */
  protected def dropTables(but: Set[String] = Set.empty): Unit =
    sql(s"SHOW TABLES IN $database").collect().filterNot(_.getAs[Boolean]("isTemporary"))
      .map(_.getAs[String]("tableName")).filterNot(but).foreach(drop)

  /** The names of the files in a directory tree that end so. */
  protected def filesBelow(directory: File, end: String): Set[String] = {
    val stream = Files.walk(directory.toPath)
    try stream.iterator.asScala.map(_.toFile)
        .filter(f => f.isFile && !f.isHidden && !f.getPath.contains("_delta_log"))
        .map(_.getName).filter(_.endsWith(end)).toSet
    finally stream.close()
  }

  /** Runs OPTIMIZE of two columns, and `before` just before each commit. */
  protected def optimizeWith(table: TableFormat, options: Map[String, String])(
      before: => Unit): OptimizeResult = {
    val clauses = OptimizeClauses(
      full = true,
      columns = Seq(Seq("a"), Seq("b")),
      options = Map("targetFileSize" -> "4k") ++ options)
    new LatchedRun(SparkLine.session(spark), table, clauses, () => before).run()
  }

  /** Runs a write that must fail in its tasks, and checks that the files of its shuffle go. */
  protected def failingWrite(body: => Any): Unit = {
    def shuffles: Set[Int] = TestAccess.shuffleFiles.map(_.split('_')(1).toInt)
    @volatile var seen = Set.empty[Int]
    val listener = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
        if (end.reason != org.apache.spark.Success) seen ++= shuffles
    }
    spark.sparkContext.addSparkListener(listener)
    // in tests, Spark 4.1 removes the files of each query
    try withSQLConf("spark.sql.classic.shuffleDependency.fileCleanup.enabled" -> "false") {
        intercept[Exception](body)
        TestAccess.drainListeners(spark.sparkContext)
      }
    finally spark.sparkContext.removeSparkListener(listener)
    // others are of samples, or of Delta's snapshot
    val own = seen.max
    eventually(timeout(5.seconds))(assert(!shuffles(own)))
  }

  /** Runs OPTIMIZE and checks that the table has the same rows as before. */
  protected def optimized(name: String, clauses: String = "ZORDER BY (a, b)"): Row = {
    val before = bag(spark.table(full(name)))
    val row = sql(s"OPTIMIZE TABLE ${full(name)} $clauses").head()
    assert(bag(spark.table(full(name))) === before)
    row
  }
}
