// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.layout

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{DataFrame, Row}

import io.sparkzorder.RandomInputs

/** What SHOW LAYOUT says of a column, beside what its rows say. */
class ShowLayoutSuite extends ShowLayoutTestBase with RandomInputs {

  private def check(dir: File, columns: Seq[String], tolerance: Double): Map[String, Row] = {
    val rows = layout(dir, s"SHOW LAYOUT '$dir' FOR (${columns.mkString(", ")})")
    assert(rows.keySet === columns.toSet)
    for (c <- columns) withClue(s"column $c: ") {
      val expected = seen(read(dir), c)
      checkExact(rows(c), expected, columns.size)
      near(rows(c).getAs[Double]("filesPerPointQuery"), expected.filesPerPointQuery, tolerance)
    }
    rows
  }

  test("a table without order: every query reads every file") {
    withTableDir { dir =>
      write(shuffled(20000, 16).repartition(16), dir)
      val rows = check(dir, Seq("id", "a", "b", "s"), 0.02)
      for ((_, r) <- rows) {
        near(r.getAs[Double]("filesPerPointQuery"), 16.0, 0.02)
        assert(r.getAs[Row]("overlapDepth").getAs[scala.collection.Map[
          Long,
          Long]]("histogram") === Map(16L -> 16L))
        assert(r.isNullAt(r.fieldIndex("warning")), r)
      }
    }
  }

  test("a table laid out: as the result row of OPTIMIZE had it from its sample") {
    withTableDir { dir =>
      write(shuffled(20000, 8), dir)
      val gains = sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 16)})").head()
        .getSeq[Row](2)
      val rows = check(dir, Seq("a", "b"), 0.1)
      for (g <- gains) {
        val r = rows(g.getAs[String]("name"))
        near(
          r.getAs[Double]("filesPerPointQuery"),
          g.getAs[Double]("filesPerPointQueryAfter"),
          0.1)
        near(r.getAs[Double]("ideal"), g.getAs[Double]("ideal"))
        assert(r.isNullAt(r.fieldIndex("warning")), r)
      }
      // the layout's columns are the default
      assert(layout(dir, s"SHOW LAYOUT '$dir'").keySet === Set("a", "b"))
      // the retained inputs are told
      val bytes = hidden(dir, "_old_").map(_.length).sum
      assert(rows("a").getAs[Long]("retainedBytes") === bytes)
      assert(rows("a").getAs[java.sql.Timestamp]("retainedUntil").getTime >
        System.currentTimeMillis())
    }
  }

  test("files of a partition that the catalog does not have any more are not counted") {
    withTable("t") {
      withTableDir { dir =>
        sql(
          s"CREATE TABLE t (a INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '${dir.toURI}'")
        sql("INSERT INTO t SELECT int(id), int(id % 2) FROM range(100)")
        sql("OPTIMIZE t ZORDER BY (a)").collect()
        sql("ALTER TABLE t DROP PARTITION (p = 1)")
        val row = sql("SHOW LAYOUT t FOR (a)").head()
        assert(row.getAs[Long]("files") === 1 && row.getAs[Long]("rows") === 50)
        assert(sql("REFRESH ZORDER INDEX ON t").head().getAs[Long]("files") === 1)
      }
    }
  }

  test("files that follow a column, with late rows", Slow) {
    withTableDir { dir =>
      for (i <- 0 until 12) {
        write(
          spark.range(i * 1000L, i * 1000L + 1150, 1, 1)
            .selectExpr(
              "id t",
              "date_add(date'2026-01-01', cast(id / 100 as int)) d",
              "hash(id) h"),
          dir)
      }
      val rows = check(dir, Seq("t", "d", "h"), 0.12)
      assert(rows("t").getAs[String]("warning").startsWith("already ordered"))
      assert(rows("d").getAs[String]("warning").startsWith("already ordered"))
      assert(rows("h").isNullAt(rows("h").fieldIndex("warning")))
    }
  }

  test("partitions: a query reads each, so their numbers are summed; depth is by folder") {
    withTableDir { dir =>
      write(shuffled(12000, 4).repartition(4).selectExpr("*", "id % 3 p"), dir, "p")
      val rows = check(dir, Seq("a", "b"), 0.05)
      near(rows("a").getAs[Double]("filesPerPointQuery"), 12.0, 0.05)
      near(rows("a").getAs[Double]("ideal"), 3 * math.sqrt(4))
      assert(rows("a").getAs[Row]("overlapDepth").getAs[Long]("max") === 4)
    }
  }

  test("NULLs, few values, constants and stray values", Slow) {
    withTableDir { dir =>
      write(
        shuffled(9000, 9).selectExpr(
          "if(id % 10 < 3, null, a) some",
          "cast(null as bigint) none",
          "7 one",
          "id % 3 three",
          "elt(1 + cast(id % 3 as int), 'A', 'N', 'R') flag",
          "if(id = 5000, 1000000000000, a) stray",
          "if(id < 3000, null, a) holes"),
        dir)
      val columns = Seq("some", "none", "one", "three", "flag", "stray", "holes")
      val rows = check(dir, columns, 0.05)
      def warning(c: String) = rows(c).getAs[String]("warning")
      assert(warning("none") === "every row is NULL")
      assert(warning("one") === "constant: no query on it can skip a file")
      assert(warning("three") === "few distinct values: at most 3")
      // texts between A and R may be anything, as far as footers say
      assert(Seq("some", "stray", "holes", "flag").map(warning) === Seq.fill(4)(null))
      assert(rows("none").getAs[Double]("filesPerPointQuery") === 0.0)
      assert(rows("three").getAs[Long]("distinctAtLeast") >= 2)
    }
  }

  test("row groups and pages are judged like files; sortedness tells a sorted file") {
    withTableDir { dir =>
      val options = Map(
        "parquet.page.row.count.limit" -> "100",
        "parquet.block.size" -> "12000",
        "parquet.page.size.row.check.min" -> "100",
        "parquet.page.size.row.check.max" -> "100",
        "parquet.enable.dictionary" -> "false")
      spark.range(0, 8000, 1, 4).selectExpr("id", "xxhash64(id) h")
        .write.options(options).parquet(dir.getAbsolutePath)
      val rows = check(dir, Seq("id", "h"), 0.05)
      def units(c: String, name: String) = rows(c).getAs[Row](name)
      val groups = units("id", "rowGroups").getAs[Long]("count")
      assert(groups > 4)
      // the last page of a row group is shorter
      assert(units("id", "pages").getAs[Long]("count") >= 80)
      for (name <- Seq("rowGroups", "pages")) {
        near(units("id", name).getAs[Double]("perPointQuery"), 1.0, 0.02)
        val count = units("h", name).getAs[Long]("count").toDouble
        near(units("h", name).getAs[Double]("perPointQuery"), count, 0.05)
        near(units("h", name).getAs[Double]("ideal"), math.sqrt(count))
      }
      assert(rows("id").getAs[Double]("sortedness") === 1.0)
      assert(rows("h").getAs[Double]("sortedness") === 0.0)
    }
  }

  test("random tables: all that is exact is exact", Slow) {
    withRandom { random =>
      for (_ <- 0 until 12) withTableDir { dir =>
        val rows = 200 + random.nextInt(2000)
        val files = 1 + random.nextInt(12)
        val values = 1 + random.nextInt(500)
        val seed = random.nextInt(1000)
        val frame = spark.range(0, rows, 1, files).selectExpr(
          s"if(pmod(hash(id, $seed), 9) = 0, null, pmod(hash(id, 1, $seed), $values)) i",
          s"if(id < $values, null, id * 3) l",
          s"cast(pmod(hash(id, 2, $seed), $values) as double) / 7 d",
          s"concat('k', pmod(hash(id, 3, $seed), $values)) s",
          s"pmod(id, ${1 + random.nextInt(3)}) p")
        write(
          if (random.nextBoolean()) frame.repartitionByRange(files, frame("i")) else frame,
          dir,
          (if (random.nextBoolean()) Seq("p") else Nil): _*)
        val columns = Seq("i", "l", "d", "s")
        val shown = layout(dir, s"SHOW LAYOUT '$dir' FOR (${columns.mkString(", ")})")
        for (c <- columns) withClue(s"column $c of $rows rows, $files files, $values values: ") {
          val expected = seen(read(dir), c)
          checkExact(shown(c), expected, columns.size)
          // an estimate: it must lie where the truth is
          near(shown(c).getAs[Double]("filesPerPointQuery"), expected.filesPerPointQuery, 0.35)
        }
      }
    }
  }

  test("the ranges of the files as text") {
    withTableDir { dir =>
      spark.range(0, 4, 1, 1).selectExpr(
        "timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, cast(id as int)) t",
        "cast(id as decimal(20, 2)) d",
        "cast(concat('k', id) as binary) b",
        "id = 1 f").write.parquet(dir.getAbsolutePath)
      val rows = layout(dir, s"SHOW LAYOUT '$dir'")
      def ends(c: String) = rows(c).getSeq[Row](rows(c).fieldIndex("fileRanges")).map(_.toSeq)
      // Spark writes INT96 unless told otherwise, which has no min/max
      assert(ends("t") === Seq(Seq[Any](null, null, 4)))
      assert(rows("t").getAs[String]("warning") ===
        "1 of 1 files have no min/max of it: every query reads them")
      assert(ends("d") === Seq(Seq[Any]("0.00", "3.00", 4)))
      assert(ends("b") === Seq(Seq[Any]("6B30", "6B33", 4)))
      assert(ends("f") === Seq(Seq[Any]("false", "true", 4)))
    }
    withSQLConf(
      "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
      "spark.sql.session.timeZone" -> "Asia/Tokyo") {
      withTableDir { dir =>
        val one: DataFrame = sql("SELECT timestamp'2026-01-01 09:30:00' t")
        write(one, dir)
        val row = layout(dir, s"SHOW LAYOUT '$dir'")("t")
        assert(row.getSeq[Row](row.fieldIndex("fileRanges")).head.getString(0) ===
          "2026-01-01 09:30:00")
      }
    }
  }
}
