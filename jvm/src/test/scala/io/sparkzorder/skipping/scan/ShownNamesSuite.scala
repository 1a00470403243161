// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, input_file_name}

import io.sparkzorder.commands.FaultyTables

/** Queries that use the names of files, while new files have hidden names. */
class ShownNamesSuite extends FaultyTables {

  /** Queries whose filters on names are true for every file of a table that no run has changed. */
  private def queries(dir: File): Seq[DataFrame] = {
    val names = spark.read.parquet(dir.getPath).select("_metadata.file_name").distinct()
    val shown = read(dir).withColumn("name", col("_metadata.file_name"))
    Seq(
      read(dir).where("_metadata.file_name LIKE 'part-%'"),
      read(dir).where("_metadata.file_path LIKE '%/part-%'"),
      read(dir).where(input_file_name().like("%/part-%")),
      shown.join(names, shown("name") === names("file_name")).drop("name", "file_name"),
      read(dir).select(col("*"), input_file_name().as("n")).distinct()
        .where("n LIKE '%/part-%'").drop("n"))
  }

  private def check(dir: File, expected: Map[Any, Int], mayFail: Boolean): Unit = {
    assert(bag(read(dir)) === expected)
    // other columns of `_metadata` are those of the same file
    assert(bag(read(dir).where("_metadata.file_size > 1")) === expected)
    // Spark's V2 readers have no `_metadata`
    val ofV2 = inConf("spark.sql.sources.useV1SourceList" -> "") {
      Try(bag(read(dir).where(input_file_name().like("%/part-%"))))
    }
    val notAdaptive =
      inConf("spark.sql.adaptive.enabled" -> "false")(queries(dir).map(q => Try(bag(q))))
    for ((rows, i) <- (ofV2 +: (notAdaptive ++ queries(dir).map(q => Try(bag(q))))).zipWithIndex)
      rows match {
        case Success(rows) => assert(rows === expected, s"query $i")
        case Failure(e) =>
          assert(mayFail && e.getMessage.contains("ZORDER_LISTING_INCOMPLETE"), s"query $i: $e")
      }
  }

  testParts("a run that is killed while it publishes: all rows, or an error")(checkKilled(2))(
    checkKilled(0, 4))

  private def checkKilled(kills: Int*): Unit = {
    withTableDir { dir =>
      write(shuffled(300, 3), dir)
      val expected = bag(read(dir))
      for (k <- kills) withCopy(dir) { copy =>
        assert(killedAt(k)(isPublishing)(
          sql(s"OPTIMIZE ${faulty(copy)} ZORDER BY a").collect())._2)
        check(copy, expected, mayFail = true)
        fails("ZORDER_LISTING_INCOMPLETE", "RECOVER LAYOUT")(bag(queries(copy).head))
        sql(s"RECOVER LAYOUT '$copy'").collect()
        check(copy, expected, mayFail = false)
      }
    }
  }

  test("a shadow: the names of the visible files") {
    withTableDir { dir =>
      write(shuffled(300, 3), dir)
      val expected = bag(read(dir))
      sql(s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('publish' 'shadow')").collect()
      assert(hidden(dir, "_new_").nonEmpty)
      check(dir, expected, mayFail = false)
      // for the first query of a session, Spark has asked for the strategies before ours are first among them
      val first = spark.newSession().read.parquet(dir.getPath)
      assert(first.where(input_file_name().like("%/part-%")).count() === 300)
      val read1 = read(dir).select("_metadata.file_name").distinct().collect().map(_.getString(0))
      assert(read1.toSet === dataFiles(dir).map(_.name).toSet)
    }
  }
}
