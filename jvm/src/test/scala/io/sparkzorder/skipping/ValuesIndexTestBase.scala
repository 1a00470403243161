// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File
import java.net.URI

import org.apache.hadoop.fs.{Path => HadoopPath}

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.{col, input_file_name}

import io.sparkzorder.index.values.ValuesPart

/** Tables with an index of values, and checks of what look-ups keep. */
trait ValuesIndexTestBase extends SkippingTestBase {

  /** So many files of rows with scattered keys: `k` is unique, `u` is its text, `s` has a few values. */
  protected def scattered(dir: File, files: Int, rows: Int = 50, from: Int = 0): Unit = {
    val n = files * rows
    val table = spark.range(from, from + n.toLong)
      .selectExpr(
        "id",
        "id * 7919 % 1000003 AS k",
        "concat('u-', md5(cast(id as string))) AS u",
        "cast(id % 11 as string) AS s",
        "cast(id / 4 as double) AS d",
        "cast(id * 7919 % 1000003 as decimal(30,2)) AS m",
        "CASE WHEN id % 3 = 0 THEN NULL ELSE id END AS n")
      .selectExpr("*", s"hash(id) AS h").repartition(files, col("h")).drop("h")
    write(table, dir)
  }

  protected def create(dir: File, values: String): Row =
    sql(s"CREATE ZORDER INDEX ON '$dir' OPTIONS ('values' '$values')").head()

  protected def kept(dir: File, filter: String): Int = keptFiles(read(dir).where(filter))

  protected def keptEach(dir: File, filters: Seq[String]): Seq[Int] =
    keptFilesEach(read(dir), filters)

  /** The files that hold each value of a column, as Spark alone reads them. */
  protected def filesOf(dir: File, column: String): Map[Any, Set[String]] = withoutSkipping {
    read(dir).select(col(column), input_file_name()).collect().toSeq
      .map(r => r.get(0) -> new HadoopPath(new URI(r.getString(1))).getName)
      .groupBy(_._1).map { case (value, rows) => value -> rows.map(_._2).toSet }
  }

  /** Asserts that all files with a value are kept, and gives their number. */
  protected def keptOf(dir: File, column: String, value: Any, files: Set[String]): Int =
    keptOfEach(dir, column, Seq(value -> files)).head

  /** The same for several values, of one listing. */
  protected def keptOfEach(
      dir: File,
      column: String,
      values: Iterable[(Any, Set[String])]): Seq[Int] = {
    val df = read(dir)
    values.toSeq.map { case (value, files) =>
      val kept = scanOf(df.where(col(column) === value)).kept()
      assert((files -- kept).isEmpty, s"lost where $column = $value")
      kept.size
    }
  }

  protected def partsOf(dir: File): Seq[File] =
    Option(new File(dir, "_zorder/_index").listFiles).toSeq.flatten
      .filter(_.getName.startsWith(ValuesPart.Prefix))

  /** Checks some values of a column in any frame, and that each keeps no more than `most` files. */
  protected def checkValues(df: DataFrame, column: String, most: Int): Unit = {
    val truth = withoutSkipping(df.select(col(column), input_file_name()).collect().toSeq)
      .filter(!_.isNullAt(0))
      .map(r => r.get(0) -> new HadoopPath(new URI(r.getString(1))).getName)
      .groupBy(_._1).map { case (value, rows) => value -> rows.map(_._2).toSet }
    assert(truth.nonEmpty)
    truth.take(10).foreach { case (value, files) =>
      val kept = scanOf(df.where(col(column) === value)).kept()
      assert((files -- kept).isEmpty, s"lost where $column = $value")
      assert(kept.size <= most, s"$column = $value")
    }
  }
}
