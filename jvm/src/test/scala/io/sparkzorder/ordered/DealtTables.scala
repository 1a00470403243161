// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.io.File

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col

/** What tests of dealt writes share: a table of small files, rows for it, and how its files overlap. */
abstract class DealtTables extends DeclaredTables {
  override protected def codegen: Boolean = true

  /** `n` rows whose columns a and b are independent and of different ranges. */
  protected def points(n: Long, seed: Int): DataFrame =
    spark.range(0, n, 1, 3).selectExpr(
      s"cast(pmod(hash(id, $seed), 1000) as int) AS a",
      s"pmod(xxhash64(id, $seed), 1000000000L) AS b",
      "id AS v",
      "cast(pmod(id, 3) as string) AS p")

  protected def create(clause: String = ""): Unit =
    sql("CREATE TABLE t (a INT, b BIGINT, v BIGINT, p STRING) USING parquet " +
      s"SORT BY ZORDER (a, b) $clause TBLPROPERTIES ('zorder.targetFileSize' = '64k')")

  protected def explained(n: Long, seed: Int): String = {
    points(n, seed).createOrReplaceTempView("src")
    sql("EXPLAIN INSERT INTO t SELECT * FROM src").head().getString(0)
  }

  protected def insert(n: Long, seed: Int): Set[File] = {
    val before = filesBelow(directory("t")).toSet
    points(n, seed).write.insertInto("t")
    filesBelow(directory("t")).toSet -- before
  }

  /** Fails unless the table has these rows, each as often: by their number and a sum of hashes. */
  protected def assertRows(table: String, expected: DataFrame): Unit = {
    def digest(df: DataFrame) =
      df.selectExpr("count(*)", "sum(cast(xxhash64(a, b, v, p) AS DECIMAL(38)))").head()
    assert(digest(spark.table(table)) === digest(expected))
  }

  /** Mean share of the files that a point query on `column` reads, over the files' rows. */
  protected def share(files: Set[File], column: String): Double = shares(files, column).head

  protected def excess(files: Set[File]): Double =
    shares(files, "a", "b").sum / 2 * math.sqrt(files.size.toDouble)

  private def shares(files: Set[File], columns: String*): Seq[Double] = {
    val some = spark.read.schema("a INT, b BIGINT").parquet(files.toSeq.map(_.toString): _*)
      .select(columns.map(col): _*).sample(0.05, 7L).collect().toSeq
    columns.indices.map { c =>
      val ranges = files.toSeq.map(range(_, columns(c)))
      val values = some.map(_.getAs[Number](c).longValue)
      values.map(v => ranges.count { case (low, high) => low <= v && v <= high }).sum.toDouble /
        values.length / files.size
    }
  }

  /** Least and greatest value of a column of whole numbers, by the footer of the file. */
  private def range(file: File, column: String): (Long, Long) = {
    val conf = spark.sparkContext.hadoopConfiguration
    val input = HadoopInputFile.fromPath(new Path(file.toURI), conf)
    val reader = ParquetFileReader.open(input, HadoopReadOptions.builder(conf).build())
    try {
      val statistics = for {
        group <- reader.getFooter.getBlocks.asScala.toSeq
        chunk <- group.getColumns.asScala.toSeq if chunk.getPath.toDotString == column
      } yield chunk.getStatistics
      def number(value: Any): Long = value.asInstanceOf[Number].longValue
      (
        statistics.map(s => number(s.genericGetMin)).min,
        statistics.map(s => number(s.genericGetMax)).max)
    } finally reader.close()
  }
}
