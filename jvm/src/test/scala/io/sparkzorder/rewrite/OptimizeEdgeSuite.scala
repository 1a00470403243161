// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

import io.sparkzorder.commands.OptimizeTestBase

/** OPTIMIZE of tables at the edges: few rows, few values, many columns. */
class OptimizeEdgeSuite extends OptimizeTestBase {

  test("an empty table: no file at all, and only files without rows") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT) USING parquet")
      for (clauses <- Seq("ZORDER BY (a, b)", "", "ZORDER BY a DRY RUN")) {
        val row = sql(s"OPTIMIZE t $clauses").head()
        assert(row.getAs[String]("reason") === "there are no data files")
        assert(metric(row, "numFilesAdded") === 0)
      }
      fails("ZORDER_COLUMN_NOT_FOUND")(sql("OPTIMIZE t ZORDER BY nope"))
      val auto = sql("OPTIMIZE t ZORDER BY AUTO").head().getAs[String]("reason")
      assert(auto.matches("AUTO keeps .*; there are no data files"), auto)
    }
    withTableDir { dir =>
      write(shuffled(100, 1).where("id < 0").coalesce(1), dir)
      assert(dataFiles(dir).map(_.rows) === Seq(0L))
      val row = optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      assert(row.getAs[String]("reason") === "there are no rows")
      assert(dataFiles(dir).size === 1)
      assert(read(dir).columns === Array("id", "a", "b", "s"))
    }
  }

  test("files without rows beside others") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      write(shuffled(100, 1).where("id < 0").coalesce(1), dir)
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      assert(dataFiles(dir).forall(_.rows > 0))
      write(shuffled(100, 1).where("id < 0").coalesce(1), dir)
      optimize(s"OPTIMIZE '$dir'", dir)(read(dir))
    }
  }

  test("one row, one file") {
    for ((rows, files, by) <- Seq((1, 1, "a, b"), (2, 2, "a"), (500, 1, "a, b")))
      withTableDir { dir =>
        write(shuffled(rows, files), dir)
        val row = optimize(s"OPTIMIZE '$dir' ZORDER BY $by", dir)(read(dir))
        assert(metric(row, "numFilesAdded") === 1)
        row.getSeq[Row](row.fieldIndex("columns")).foreach { g =>
          assert(g.toSeq.tail === Seq(files.toDouble.min(g.getDouble(1)), 1.0, 1.0))
        }
      }
  }

  private val odd = Seq("nulls", "constant", "half", "some", "nan")

  test("columns of one value, of NULLs only, and half of one value")(checkOdd(Seq(odd)))

  test("columns of one value, of NULLs only, and half of one value, alone and in pairs", Slow)(
    checkOdd(Seq(Seq("nulls"), Seq("half"), Seq("b", "constant"), odd)))

  private def checkOdd(orders: Seq[Seq[String]]): Unit = {
    val columns = Seq(
      "cast(NULL AS INT) nulls",
      "7 constant",
      "if(id % 2 = 0, -1, pmod(hash(id), 1000)) half",
      "if(id % 3 = 0, NULL, a) some",
      "double('NaN') nan")
    withTableDir { dir =>
      write(shuffled(3000, 4).selectExpr("id" +: "a" +: "b" +: columns: _*), dir)
      for (by <- orders) {
        val row = optimize(
          s"OPTIMIZE '$dir' ZORDER BY (${by.mkString(", ")}) OPTIONS (${sizeFor(dir, 8)})",
          dir)(read(dir))
        val added = metric(row, "numFilesAdded")
        assert(added >= 4 && added <= 24, s"$by: $added files")
        val largest = dataFiles(dir).map(_.rows).max
        assert(largest <= 3000 / 8 * 1.7, s"$by: $largest rows in a file")
      }
    }
  }

  test("10 columns, and 63 of them", Slow) {
    withTableDir { dir =>
      val names = (0 until 63).map("c" + _)
      write(
        spark.range(0, 1500, 1, 3).selectExpr(
          names.zipWithIndex.map { case (n, i) => s"pmod(hash(id, $i), 500) $n" }: _*),
        dir)
      for (n <- Seq(10, 63)) {
        optimize(
          s"OPTIMIZE '$dir' ZORDER BY ${names.take(n).mkString(", ")} OPTIONS (${sizeFor(dir, 6)})",
          dir)(read(dir))
      }
    }
  }

  test("several batches") {
    withTableDir { dir =>
      write(shuffled(900, 2).selectExpr("*", "id % 3 p"), dir, "p")
      val limit = dataFiles(dir).groupBy(_.folder).map(_._2.map(_.length).sum).max
      val row = optimize(
        s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('batchSize' '$limit')",
        dir)(read(dir))
      assert(metric(row, "numBatches") === 3)
      assert(new File(dir, "_zorder/_commits/_3_done").exists())
      withSQLConf("spark.zorder.batchSize" -> "1000") {
        val before = snapshot(dir)
        fails("ZORDER_PARTITION_TOO_LARGE", "1000", "p=0")(sql(s"OPTIMIZE '$dir' ZORDER BY b"))
        assert(snapshot(dir) === before)
      }
    }
  }

  test("columns that bear the names of our own helpers")(checkHelpers(runs = 1))

  test("columns that bear the names of our own helpers: all of them", Slow)(checkHelpers(runs = 3))

  private def checkHelpers(runs: Int): Unit = {
    withTableDir { dir =>
      val names = Seq(
        "_zorder_folder",
        "_zorder_file",
        "_zorder_z",
        "_zorder_tie",
        "_zorder_place",
        "_metadata",
        "_zorder_ordinal",
        "row_index",
        "file_path",
        "_zorder_z1")
      write(
        shuffled(600, 3).selectExpr(
          "id" +: names.zipWithIndex.map { case (n, i) => s"pmod(hash(id, $i), 20) $n" }: _*),
        dir)
      val all =
        Seq("(_zorder_z, _metadata, row_index)", "(_zorder_folder)", "(_zorder_tie, row_index)")
      for (by <- all.take(runs)) {
        optimize(
          s"OPTIMIZE '$dir' ZORDER BY $by OPTIONS (${sizeFor(dir, 10)})",
          dir)(read(dir))
      }
      write(
        shuffled(30, 3).selectExpr(
          "id" +: names.zipWithIndex.map { case (n, i) => s"pmod(hash(id, $i), 20) $n" }: _*),
        dir)
      optimize(s"OPTIMIZE '$dir' OPTIONS (${sizeFor(dir, 2)})", dir)(read(dir))
    }
  }

  test("every type as an ordering column")(checkTypes(columnsOfRun = 17))

  test("every type as an ordering column, six in each run", Slow)(checkTypes(columnsOfRun = 6))

  private def checkTypes(columnsOfRun: Int): Unit = {
    val types = Seq(
      "boolean(id % 2)",
      "tinyint(id % 100 - 50)",
      "smallint(id - 300)",
      "int(hash(id))",
      "id",
      "float(hash(id)) / 3",
      "double(hash(id)) / 7",
      "decimal(id, 5, 0)",
      "cast(hash(id) / 100 AS decimal(18, 2))",
      "cast(hash(id) AS decimal(38, 10))",
      "date_add(date'1500-01-01', int(id) * 1000)",
      "timestamp_micros(hash(id) * 1000000L)",
      "cast(timestamp_micros(hash(id) * 1000000L) AS timestamp_ntz)",
      "concat('é', id)",
      "cast(concat('x', id) AS binary)",
      "make_dt_interval(0, 0, 0, id)",
      "make_ym_interval(int(id), 0)").map(_.replace(
      "decimal(id, 5, 0)",
      "cast(id AS decimal(5,0))"))
    withTableDir { dir =>
      val cols = types.zipWithIndex.map { case (t, i) => s"if(id % 50 = $i, NULL, $t) c$i" }
      writingOldDates {
        write(spark.range(0, 600, 1, 3).selectExpr(cols: _*), dir)
      }
      for (group <- types.indices.grouped(columnsOfRun)) {
        val names = group.map(i => s"c$i").mkString(", ")
        val row = optimize(
          s"OPTIMIZE '$dir' ZORDER BY ($names) OPTIONS (${sizeFor(dir, 4)}, 'verify' 'full')",
          dir)(read(dir))
        row.getSeq[Row](row.fieldIndex("columns")).foreach { g =>
          assert(g.getDouble(2) <= metric(row, "numFilesAdded"), g.toString)
        }
      }
    }
  }
}
