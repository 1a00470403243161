// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import org.apache.commons.io.FileUtils

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.skipping.scan.ScanTestBase

/**
 * A fact table with an index, and dimensions without one.
 *
 * {{{
 * fact   16 files of 100 rows: day and code are apart in the files, item is not
 * days   one row for each day from 0 to 1599; 100 days make a month, so a month is a file of fact
 * items  one row for each of 50 items
 * }}}
 */
abstract class StarTestBase extends ScanTestBase {
  protected val Files = 16

  protected def withStar(body: File => Unit): Unit =
    withCopies(star)(dir => body(new File(dir, "fact")))

  private val star = new SavedTables({ dir =>
    val fact = new File(dir, "fact")
    sql("SELECT id, int(id) day, int(id * 7919 % 50) item, id * 2 amount, " +
      "format_string('c%06d', id) code FROM range(0, 1600, 1, 16)").write.parquet(fact.getPath)
    createIndex(fact)
    sql("SELECT int(id) day, int(id / 100) month, int(id % 100) dom, " +
      "format_string('c%06d', id) code FROM range(1600)").coalesce(1).write
      .parquet(new File(dir, "days").getPath)
    sql("SELECT int(id) item, int(id / 5) category FROM range(50)").coalesce(1).write
      .parquet(new File(dir, "items").getPath)
    Seq("fact", "days", "items")
  })

  /** Tables that are written once for a suite, with the views that a test finds. */
  protected final class SavedTables(write: File => Seq[String]) {
    private[StarTestBase] lazy val dir: File = {
      val dir = java.nio.file.Files.createTempDirectory("tables").toFile.getCanonicalFile
      saved += dir
      dir
    }
    private[StarTestBase] lazy val schemas: Seq[(String, StructType)] =
      write(dir).map(name => name -> read(new File(dir, name)).schema)
  }

  private val saved = scala.collection.mutable.Buffer.empty[File]

  override def afterAll(): Unit =
    try super.afterAll()
    finally saved.foreach(FileUtils.deleteQuietly)

  /** Runs a test on its own copy of some tables, whose files have the times that the index knows. */
  protected def withCopies(tables: SavedTables)(body: File => Unit): Unit = withTableDir { dir =>
    val schemas = tables.schemas
    FileUtils.copyDirectory(tables.dir, dir, true)
    withTempView(schemas.map(_._1): _*) {
      schemas.foreach { case (name, schema) =>
        spark.read.schema(schema).parquet(new File(dir, name).getPath).createOrReplaceTempView(name)
      }
      body(dir)
    }
  }

  /** Adaptive execution: Spark's own setting for each change. Slow suites take the other one ([[NotAdaptive]]), or both. */
  protected def adaptiveWays: Seq[String] = Seq("true")

  /** Runs a test with adaptive execution and without, as [[adaptiveWays]] says. */
  protected def bothWays(body: => Unit): Unit = adaptiveWays.foreach { adaptive =>
    withClue(s"adaptive execution $adaptive: ") {
      inConf("spark.sql.adaptive.enabled" -> adaptive)(body)
    }
  }

  protected def withoutDynamic[T](body: => T): T =
    inConf("spark.zorder.skipping.dynamic" -> "false")(body)

  protected def withoutBroadcast[T](body: => T): T =
    inConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(body)

  /** The files that the scans of a table read, one number for each scan, as they ran. */
  protected def filesRead(df: DataFrame, table: String): Seq[Long] =
    scansOf(df).filter(isOf(table)).map(_.metrics("numFiles").value).sorted

  protected def isOf(table: String)(scan: FileSourceScanExec): Boolean =
    scan.relation.location.rootPaths.exists(_.getName == table)

  /** Asserts that a query gives the rows that it gives without us, and how many files it reads. */
  protected def reads(query: String, files: Long*): DataFrame = {
    val df = checkRows(sql(query))
    val read = filesRead(df, "fact")
    // adaptive execution removes a join with an empty side, and then its scans
    val expected = if (read.isEmpty && files.forall(_ == 0)) Nil else files.sorted
    assert(read === expected, s"files of fact read by: $query\n${text(df)}")
    df
  }

  protected def count[T <: SparkPlan](df: DataFrame)(which: PartialFunction[SparkPlan, T]): Int =
    collectWithSubqueries(df.queryExecution.executedPlan)(which).size

  protected def reused(df: DataFrame): Int = count(df) { case r: ReusedExchangeExec => r }

  protected def broadcasts(df: DataFrame): Int = count(df) { case b: BroadcastExchangeExec => b }
}

/** Queries whose aggregates, grouping sets, lists or windows tell which rows of a fact table count. */
object ImpliedFilterShapes {

  /** @return each query with the files that it reads of 16, of which each has 100 days */
  def of(fact: String): Seq[(String, Long)] = Seq(
    s"SELECT sum(CASE WHEN day >= 1500 THEN amount END) FROM $fact" -> 1L,
    s"SELECT count(*) FILTER (WHERE day < 100), max(IF(day > 1550, item, NULL)) FROM $fact" -> 2L,
    s"SELECT item, day, count(*) FROM $fact GROUP BY CUBE (item, day) HAVING day = 305" -> 1L,
    s"SELECT * FROM (SELECT id, day, item FROM $fact) UNPIVOT (v FOR n IN (day, item)) " +
      "WHERE n = 'day' AND v < 50" -> 1L,
    s"SELECT f.id, x FROM $fact f LATERAL VIEW explode(array(day, item)) e AS x " +
      "WHERE x BETWEEN 300 AND 350" -> 1L,
    s"SELECT day, max(day) FROM $fact GROUP BY day HAVING max(day) > 1590" -> 1L,
    s"SELECT * FROM (SELECT id, day div 100 m, rank() OVER (PARTITION BY day div 100 ORDER BY amount, id) r " +
      s"FROM $fact) WHERE m = 3 AND r <= 3" -> 1L)

  /** An aggregate, and rows that are made of one. */
  def some(fact: String): Seq[(String, Long)] = Seq(1, 3).map(of(fact))
}

/** The same without adaptive execution. */
trait NotAdaptive extends StarTestBase {
  override protected def adaptiveWays: Seq[String] = Seq("false")
}

/** With adaptive execution and without, in one suite. */
trait BothAdaptive extends StarTestBase {
  override protected def adaptiveWays: Seq[String] = Seq("true", "false")
}
