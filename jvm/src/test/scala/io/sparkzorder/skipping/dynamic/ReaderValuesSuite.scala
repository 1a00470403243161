// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.table.ParquetFiles

/** Values that queries find while they run, and that do not reach the readers of files as they are. */
class ReaderValuesSuite extends StarTestBase {

  /** A table of some queries, each in files of its own. */
  private def write(dir: File, name: String, format: String = "parquet")(queries: String*): File = {
    val table = new File(dir, name)
    // by one job for all queries of the same columns; else Spark 4.1 makes one partition of them
    inConf("spark.sql.unionOutputPartitioning" -> "false") {
      queries.map(sql).groupBy(_.schema).values.foreach(
        _.map(_.coalesce(1)).reduce(_ union _).write.format(format).mode("append")
          .save(table.getPath))
    }
    assert(table.list().count(_.startsWith("part-")) === queries.size)
    table
  }

  private def timestamps(unit: String): (String, String) =
    "spark.sql.parquet.outputTimestampType" -> s"TIMESTAMP_$unit"

  private def view(table: File, format: String = "parquet"): Unit =
    spark.read.format(format).load(table.getPath).createOrReplaceTempView(table.getName)

  testParts("keys that are not UTF-8")(checkBytes(all = false))(checkBytes(all = true))

  private def checkBytes(all: Boolean): Unit = {
    withTableDir { dir =>
      withTempView("facts", "one", "many") {
        val fact = write(dir, "facts")(
          (0 until 15).map(i =>
            s"SELECT format_string('k%05d', id) s, id FROM range(${i * 100}, ${i * 100 + 100})") :+
            "SELECT cast(X'6BFF' AS STRING) s, -1L id": _*)
        createIndex(fact)
        view(fact)
        view(write(dir, "one")("SELECT cast(X'6BFF' AS STRING) k"))
        view(write(dir, "many")(
          "SELECT cast(X'6BFF' AS STRING) k UNION ALL SELECT 'k00005' UNION ALL SELECT 'k00006'"))
        bothWays {
          assert(checkRows(sql("SELECT * FROM facts JOIN one ON s = k")).count() === 1)
          if (all) {
            assert(checkRows(sql("SELECT * FROM facts JOIN many ON s = k")).count() === 3)
            assert(
              checkRows(sql("SELECT * FROM facts WHERE s IN (SELECT k FROM many)")).count() === 3)
          }
          assert(sql("SELECT * FROM facts WHERE s = (SELECT max(k) FROM one)").count() === 1)
        }
      }
    }
  }

  testParts("days and times that another calendar does not have")(
    checkGap("false" -> "d", "true" -> "t"))(checkGap("false" -> "t", "true" -> "d"))

  /** @param queries whether values are those of Java 8, and a column */
  private def checkGap(queries: (String, String)*): Unit = {
    writingOldDates(inConf(timestamps("MICROS"))(withTableDir { dir =>
      withTempView("facts", "keys") {
        val gap = "DATE'1582-10-10'"
        def row(d: String) = s"SELECT $d d, cast($d AS TIMESTAMP) t FROM range(10)"
        val fact = write(dir, "facts")(
          (0 until 15).map(i => row(s"DATE'1583-01-${i + 10}'")) :+ row(gap): _*)
        createIndex(fact)
        view(fact)
        view(write(dir, "keys")(s"SELECT $gap d, cast($gap AS TIMESTAMP) t"))
        for ((java8, column) <- queries) {
          inConf("spark.sql.datetime.java8API.enabled" -> java8)(bothWays {
            val joined = s"SELECT f.d FROM facts f JOIN keys k ON f.$column = k.$column"
            assert(checkRows(sql(joined)).count() === 10)
            // Spark 4 alone finds no row
            val found = sql(s"SELECT d FROM facts WHERE $column = (SELECT max($column) FROM keys)")
            assert(found.count() === 10)
          })
        }
      }
    }))
  }

  test("microseconds beside a column of milliseconds") {
    inConf(timestamps("MILLIS"))(withTableDir { dir =>
      withTempView("facts", "keys") {
        val second = "TIMESTAMP'2020-01-01 00:00:00.%s'"
        view(write(dir, "facts")(s"SELECT ${second.format("123")} t FROM range(10)"))
        inConf(timestamps("MICROS")) {
          view(write(dir, "keys")(s"SELECT ${second.format("123456")} t"))
        }
        for (operator <- Seq("<", "<=", "<>")) bothWays {
          // Spark 4 alone finds no row
          val found = sql(s"SELECT * FROM facts WHERE t $operator (SELECT max(t) FROM keys)")
          assert(found.count() === 10, operator)
        }
      }
    })
  }

  test("a DECIMAL with more digits than the column of a file") {
    assume(ParquetFiles.readsWidened, "Spark 3.5 reads only the DECIMAL of the file")
    withTableDir { dir =>
      withTempView("facts", "keys") {
        def row(id: Long, digits: Int) =
          s"SELECT cast(${id}L AS DECIMAL($digits, 2)) k FROM range(10)"
        val fact = write(dir, "facts")(
          (0L until 15L).map(i => row(100 + i, 9)) :+ row(5, 9) :+ row(25000000, 18): _*)
        createIndex(fact)
        spark.read.schema("k DECIMAL(18, 2)").parquet(fact.getPath).createOrReplaceTempView("facts")
        view(write(dir, "keys")(
          "SELECT cast(x AS DECIMAL(18, 2)) x FROM VALUES (5L), (25000000L) t(x)"))
        bothWays {
          assert(checkRows(sql("SELECT k FROM facts JOIN keys ON k = x")).count() === 20)
          val found = sql("SELECT * FROM facts WHERE k <= (SELECT max(x) FROM keys)")
          assert(found.count() === 170)
        }
      }
    }
  }

  test("text that ORC's reader has in another order than its bytes") {
    withTableDir { dir =>
      withTempView("facts", "keys") {
        // U+FF21 and U+20BB7
        val fact = write(dir, "facts", "orc")(
          (0 until 15).map(i =>
            s"SELECT format_string('k%05d', id) s FROM range(${i * 100}, ${i * 100 + 100})") :+
            "SELECT explode(array('a', '\uFF21', '\uD842\uDFB7')) s": _*)
        sql(s"CREATE ZORDER INDEX ON orc.`$fact` (s)")
        view(fact, "orc")
        view(write(dir, "keys")("SELECT '\uFF21' k"))
        bothWays {
          assert(checkRows(sql("SELECT * FROM facts JOIN keys ON s = k")).count() === 1)
          assert(sql("SELECT * FROM facts WHERE s = (SELECT max(k) FROM keys)").count() === 1)
        }
      }
    }
  }

  private val columns = Seq("n", "s", "d", "m")
  private val compared = for {
    column <- columns
    operator <- Seq("=", "<", "<=", ">", ">=", "<=>", "<>")
  } yield column -> operator

  for ((format, some, tags) <- Seq(
      ("orc", columns.zip(Seq("=", ">=", "<=>", "<>")), Nil),
      ("orc", compared, Seq(Slow)),
      ("parquet", compared, Seq(Slow)))) {
    test(
      s"a subquery that is NULL, without an index: $format, ${some.size} comparisons",
      tags: _*) {
      withTableDir { dir =>
        withTempView("facts") {
          val rows = "SELECT int(id) n, string(id) s, date_add(DATE'2020-01-01', int(id)) d, " +
            "decimal(id) m FROM range(100)"
          view(write(dir, "facts", format)(rows), format)
          for ((column, operator) <- some) bothWays {
            val value = s"(SELECT max($column) FROM facts WHERE n > 1000)"
            // the reader of ORC fails where Spark 4 alone hands it NULL
            assert(sql(s"SELECT * FROM facts WHERE $column $operator $value").isEmpty)
          }
        }
      }
    }
  }

  for (format <- Seq("parquet", "orc")) {
    test(s"NULL is distinct from the value of a subquery: $format") {
      withTableDir { dir =>
        withTempView("facts", "five") {
          view(
            write(dir, "facts", format)(
              "SELECT cast(NULL AS INT) c FROM range(10)",
              "SELECT int(id) c FROM range(10)"),
            format)
          view(write(dir, "five")("SELECT 5 x"))
          bothWays {
            val df = sql("SELECT * FROM facts WHERE NOT (c <=> (SELECT max(x) FROM five))")
            assert(df.count() === 19)
          }
        }
      }
    }
  }
}
