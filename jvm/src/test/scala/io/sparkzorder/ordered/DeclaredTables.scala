// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.io.File

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.CatalogTable

import io.sparkzorder.commands.OptimizeTestBase

/** What tests of declared orders share: tables, rows, and an independent look at each file. */
abstract class DeclaredTables extends OptimizeTestBase {

  /** 500 rows in no order, in two partitions: `a` and `b` from 0 to 99, `s` with '' and NULL. */
  protected def rows: DataFrame =
    spark.range(0, 500, 1, 2).selectExpr(
      "cast(pmod(hash(id), 100) as int) AS a",
      "cast(pmod(hash(id, 7), 100) as int) AS b",
      "id AS v",
      "CASE pmod(id, 4) WHEN 0 THEN '' WHEN 1 THEN NULL WHEN 2 THEN 'x' ELSE 'y' END AS s")

  protected def metadata(table: String): CatalogTable =
    spark.sessionState.catalog.getTableMetadata(TableIdentifier(table))

  protected def directory(table: String): File = new File(metadata(table).location)

  /**
   * Rows of each data file in the order in which they stand. One task reads a file, as the files are
   * small, and one file after the other.
   */
  protected def byFile(dir: File, format: String = "parquet"): Map[String, Seq[Row]] =
    filesBelow(dir).map(_.toString) match {
      case Nil => Map.empty
      case files =>
        spark.read.format(format).load(files: _*).selectExpr("*", "_metadata.file_path AS file")
          .collect().toSeq.groupBy(_.getAs[String]("file"))
    }

  protected def filesBelow(dir: File): Seq[File] =
    Option(dir.listFiles).toSeq.flatten.filterNot(f =>
      f.getName.startsWith(
        ".") || (f.getName.startsWith("_") && !f.getName.contains("="))).flatMap {
      f => if (f.isDirectory) filesBelow(f) else Seq(f)
    }.sortBy(_.toString)

  /** The Z-value of two INTs as a number, computed by moving one bit at a time. */
  protected def zValue(a: Any, b: Any): BigInt = {
    def bits(v: Any): Long =
      if (v == null) 0L else (v.asInstanceOf[Int] ^ Int.MinValue) & 0xffffffffL
    val (x, y) = (bits(a), bits(b))
    (31 to 0 by -1).foldLeft(BigInt(0)) { (z, i) =>
      (z << 2) | (((x >>> i) & 1) << 1) | ((y >>> i) & 1)
    }
  }

  /** Fails unless the rows of every file ascend by `key`. */
  protected def assertOrdered[K](dir: File, format: String = "parquet")(key: Row => K)(implicit
      order: Ordering[K]): Unit = {
    val files = byFile(dir, format)
    assert(files.nonEmpty, s"no file in $dir")
    files.foreach { case (name, rows) =>
      val keys = rows.map(key)
      assert(keys === keys.sorted, s"$name is not in order")
    }
  }

  protected def assertZOrdered(dir: File, format: String = "parquet"): Unit =
    assertOrdered(dir, format)(r => zValue(r.getAs[Any]("a"), r.getAs[Any]("b")))
}
