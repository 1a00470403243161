// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.layout

import java.io.File

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.{col, input_file_name}

import io.sparkzorder.JobCounter
import io.sparkzorder.commands.OptimizeTestBase

/** One column of a table as its rows show it, read by Spark and grouped by the file they come from. */
final case class SeenColumn(files: Map[String, Seq[Any]]) {
  private def number(v: Any): BigDecimal = v match {
    case n: Int => BigDecimal(n)
    case n: Long => BigDecimal(n)
    case d: Double => BigDecimal(d)
    case d: java.sql.Date => BigDecimal(d.getTime)
    case s: String => BigDecimal(BigInt(1, s.getBytes("UTF-8").padTo(40, 0.toByte)))
  }

  private val values: Map[String, Seq[BigDecimal]] =
    files.map { case (f, vs) => f -> vs.filter(_ != null).map(number) }

  val ranges: Seq[(String, BigDecimal, BigDecimal)] =
    values.toSeq.filter(_._2.nonEmpty).map { case (f, vs) => (f, vs.min, vs.max) }

  def rows: Long = files.values.map(_.size).sum.toLong
  def nulls: Long = files.values.map(_.count(_ == null)).sum.toLong
  def distinct: Long = values.values.flatten.toSet.size.toLong

  /** Files whose least and greatest value leave room for a value, over the values of all rows. */
  def filesPerPointQuery: Double = {
    val all = values.values.flatten.toSeq
    if (all.isEmpty) 0.0
    else all.map(v => ranges.count(r => r._2 <= v && v <= r._3).toDouble).sum / all.size
  }

  /** Depth of every file: by all points where it could be deepest, which are the files' least values. */
  def depths(folderOf: String => String): Seq[Int] = {
    val held = ranges.groupBy(r => folderOf(r._1)).values.toSeq.flatMap { own =>
      val starts = own.map(_._2)
      own.map { case (_, low, high) =>
        starts.filter(s => low <= s && s <= high)
          .map(s => own.count(r => r._2 <= s && s <= r._3)).max
      }
    }
    held ++ Seq.fill(files.size - held.size)(0)
  }
}

/** What tests of SHOW LAYOUT share. */
abstract class ShowLayoutTestBase extends OptimizeTestBase {

  def seen(table: DataFrame, column: String): SeenColumn =
    SeenColumn(table.select(input_file_name().as("file"), col(column).as("value")).collect().toSeq
      .groupBy(_.getString(0)).map { case (f, rows) => f -> rows.map(_.get(1)) })

  /** Runs the statement: it reads no row, and writes nothing below `dir`. */
  def layout(dir: File, text: String): Map[String, Row] = {
    val before = snapshot(dir)
    var rows: Seq[Row] = Nil
    val count = JobCounter.count(spark) {
      rows = sql(text).collect().toSeq
    }
    assert(count.rowsRead === 0, text)
    assert(snapshot(dir) === before, text)
    assert(rows.map(_.getAs[String]("column")).distinct.size === rows.size)
    rows.map(r => r.getAs[String]("column") -> r).toMap
  }

  /** All that min/max and footers say exactly must be as the rows have it. */
  def checkExact(row: Row, column: SeenColumn, dimensions: Int): Unit = {
    val files = column.files.size
    val folders = column.files.keys.toSeq.map(folderOf)
    assert(row.getAs[Long]("files") === files)
    assert(row.getAs[Long]("rows") === column.rows)
    val ideal = folders.groupBy(identity).values
      .map(own => math.pow(own.size.toDouble, 1 - 1.0 / dimensions)).sum
    near(row.getAs[Double]("ideal"), ideal)
    if (files > 0) {
      assert(!row.isNullAt(row.fieldIndex("nullShare")))
      near(row.getAs[Double]("excess"), row.getAs[Double]("filesPerPointQuery") / ideal)
      near(row.getAs[Double]("nullShare"), column.nulls.toDouble / column.rows)
    }
    val depths = column.depths(folderOf)
    val held = depths.filter(_ > 0)
    val depth = row.getAs[Row]("overlapDepth")
    assert(depth.getAs[Long]("max") === (0 +: held).max)
    near(depth.getAs[Double]("mean"), if (held.isEmpty) 0.0 else held.sum.toDouble / held.size)
    assert(depth.getAs[scala.collection.Map[Long, Long]]("histogram").values.sum === files)
    assert(row.getAs[Long]("distinctAtLeast") <= column.distinct)
    assert(row.getAs[Double]("filesPerPointQuery") <= files + 1e-6)
    val ranges = row.getSeq[Row](row.fieldIndex("fileRanges"))
    assert(ranges.map(_.getAs[Long]("rows")).sum === column.rows)
    assert(ranges.count(!_.isNullAt(0)) === column.ranges.size)
  }

  private def folderOf(file: String): String = file.substring(0, file.lastIndexOf('/'))

  def near(actual: Double, expected: Double, tolerance: Double = 1e-5): Unit =
    assert(
      math.abs(actual - expected) <= tolerance * math.max(1.0, math.abs(expected)),
      s"$actual is not $expected")
}
