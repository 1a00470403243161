// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File
import java.nio.file.Files

import scala.util.{Failure, Success, Try}

import org.scalatest.tagobjects.Slow

/**
 * The table `orders`: 16 files in a grid of 4 by 4. A file holds a quarter of the days and a quarter
 * of the customers, so a predicate on one of them can leave 4 files.
 */
abstract class GridTestBase extends SkippingTestBase {

  /**
   * A test of the files that shapes leave. For each change one of eight shapes also runs as a query, and in the slow
   * test each of them.
   */
  protected def testShapes(name: String)(shapes: (String, Int)*): Unit = {
    test(name)(checkKept(shapes))
    test(s"$name: rows of each", Slow)(checkShapes(shapes: _*))
  }

  protected def checkKept(shapes: Seq[(String, Int)]): Unit = {
    val orders = spark.table("orders")
    val kept = keptFilesEach(orders, shapes.map(_._1))
    val wrong = shapes.zip(kept).collect {
      case ((p, most), n) if n > most =>
        s"$n of 16 files, not $most: $p"
    }
    assert(wrong.isEmpty, wrong.mkString("\n", "\n", ""))
    checkShapes(shapes.indices.by(8).map(shapes): _*)
  }

  /** For each shape that should leave few files, the number of files that it may leave. */
  protected def checkShapes(shapes: (String, Int)*): Unit = {
    val wrong = shapes.flatMap { case (predicate, most) =>
      val found = Try(check(predicate))
      found match {
        case Success(kept) if kept <= most => None
        case Success(kept) => Some(s"$kept of 16 files, not $most: $predicate")
        case Failure(e) => Some(s"$e: $predicate")
      }
    }
    assert(wrong.isEmpty, wrong.mkString("\n", "\n", ""))
  }

  /** The files that a predicate leaves. Rows must be the same with skipping and without. */
  protected def check(predicate: String): Int = {
    val df = spark.table("orders").where(predicate)
    val rows = bag(df)
    assert(rows === withoutSkipping(bag(df)), s"rows where $predicate")
    keptByIndex(df)
  }

  private var dir: File = _

  override def beforeAll(): Unit = {
    super.beforeAll()
    dir = Files.createTempDirectory("orders").toFile
    inConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS")(filesAtOnce(
      dir,
      (for (days <- 0 until 4; customers <- 0 until 4) yield {
        val rows = s"(SELECT id, ${customers * 25} + id % 25 n FROM range(200))"
        sql(s"""SELECT date'2024-01-01' + cast(${days * 90} + id % 90 as int) d,
          |  timestamp'2024-01-01 00:00:00' + make_dt_interval(cast(${days * 90} + id % 90 as int)) t,
          |  cast(n as int) k, if(id = 7, null, n) nullable, cast(n as string) digits,
          |  concat('c', lpad(cast(n as string), 6, '0')) name, cast(n as double) x,
          |  cast(n * 100 as decimal(20,0)) wide, cast(n as decimal(38,0)) widest,
          |  n + 0.25bd + cast(0 as decimal(22,4)) money, cast(n as decimal(12,2)) short,
          |  n < 50 small, cast(id % 5 as int) other FROM $rows""".stripMargin)
      }): _*))
    createIndex(dir)
    spark.read.parquet(dir.getPath).createOrReplaceTempView("orders")
  }
}
