// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import java.io.File

import org.apache.spark.sql.Row

import io.sparkzorder.ZOrderSessionSuite
import io.sparkzorder.quality.ideal.{RankedColumn, RankRange}

/** Compares the measure with a loop over the rows of real files. */
class LayoutQualitySuite extends ZOrderSessionSuite {

  private val pageRows = 100
  private val options = Map(
    "parquet.page.row.count.limit" -> pageRows.toString,
    // a row group ends soon after 1,000 rows
    "parquet.block.size" -> "12000",
    "parquet.page.size.row.check.min" -> "100",
    "parquet.page.size.row.check.max" -> "100",
    "parquet.enable.dictionary" -> "false")

  private val columns = Seq("a", "s")

  private def write(dir: File): Unit =
    Seq("id % 500", "if(id % 7 < 2, null, 300 + id % 400)", "null").zipWithIndex.foreach {
      case (a, i) =>
        spark.range(0, 2600, 1, 1).selectExpr(
          s"cast($a as int) a",
          s"if(id < 150, null, concat('prefix/', lpad(id % 900 + $i * 300, 5, '0'))) s")
          .write.mode("append").options(options).parquet(dir.getPath)
    }

  /** Counts, for each value, the units whose min and max enclose it, and returns the mean. */
  private def slowPoint(units: Seq[Seq[Row]], all: Seq[Row], column: Int): Double = {
    def values(rows: Seq[Row]) =
      rows.filterNot(_.isNullAt(column)).map(_.get(column).toString.reverse.padTo(20, '0').reverse)
    val ranges = units.map(values).filter(_.nonEmpty).map(v => (v.min, v.max))
    val points = values(all)
    points.map(v => ranges.count { case (low, high) => low <= v && v <= high }).sum.toDouble /
      points.size
  }

  test("files, row groups and pages as a loop over their rows counts them") {
    withTempDir { base =>
      val dir = new File(base, "table")
      write(dir)
      val data = RankedColumn.of(spark.read.parquet(dir.getPath), columns)
      val files = LayoutQuality.dataFiles(dir)
      val rows = files.map(f => spark.read.parquet(f.getPath).select("a", "s").collect().toSeq)
      val conf = spark.sessionState.newHadoopConf()
      val quality = LayoutQuality.of(dir, data, conf)
      val statistics = LayoutQuality.columns(files, data.map(_.column), conf)
      val groups = rows.zip(statistics).flatMap { case (rs, f) =>
        val ends = f.columns.head.rowGroups.scanLeft(0L)(_ + _.rows)
        ends.zip(ends.tail).map { case (from, to) => rs.slice(from.toInt, to.toInt) }
      }
      assert(groups.size > files.size, "the test needs several row groups a file")
      val pages = groups.flatMap(_.grouped(pageRows))
      for ((c, i) <- data.zipWithIndex) {
        def check(ranges: IndexedSeq[RankRange], units: Seq[Seq[Row]]): Unit = {
          assert(ranges.size === units.size)
          val slow = slowPoint(units, rows.flatten, i)
          assert(math.abs(UnitsRead.point(c, ranges) - slow) < 1e-9)
        }
        check(quality.byFile(i), rows)
        check(quality.byRowGroup(i), groups)
        check(quality.byPage(i), pages)
      }
      assert(quality.fileRows === Seq(2600, 2600, 2600))
    }
  }

  test("a unit without min and max is read by every query") {
    withTempDir { base =>
      val dir = new File(base, "table")
      withSQLConf("spark.sql.parquet.outputTimestampType" -> "INT96") {
        spark.range(0, 500, 1, 2).selectExpr("timestamp_seconds(id) t").write
          .parquet(dir.getPath)
      }
      val data = RankedColumn.of(spark.read.parquet(dir.getPath), Seq("t"))
      val quality = LayoutQuality.of(dir, data, spark.sessionState.newHadoopConf())
      assert(UnitsRead.point(data.head, quality.byFile.head) === 2.0)
      assert(UnitsRead.point(data.head, quality.byPage.head) === quality.byPage.head.size)
    }
  }
}
