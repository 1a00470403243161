// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.OptimizeTestBase

/** OPTIMIZE of partitions: odd values, many of them, and some outside the table. */
class OptimizePartitionsSuite extends OptimizeTestBase {

  test("500 partitions of few rows", Slow) {
    withTableDir { dir =>
      val rows = shuffled(1000, 1).selectExpr("*", "cast(id % 500 AS int) p")
      write(rows, dir, "p")
      val before = dataFiles(dir)
      val row = sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").head()
      assert(metric(row, "partitionsOptimized") === 500)
      val after = dataFiles(dir)
      assert(after.map(f => (f.folder, f.rows)) === before.map(f => (f.folder, f.rows)))
      checkMetrics(row, dir, before, after)
      checkState(dir)
      assert(bag(read(dir)) === bag(rows))
    }
  }

  test("a partition column whose name begins like our directories") {
    withTableDir { dir =>
      write(shuffled(100, 2).selectExpr("*", "id % 2 _zorder_p", "id % 3 q"), dir, "_zorder_p", "q")
      val expected = bag(read(dir))
      val old = read(dir)
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      assert(bag(old.select("*")) === expected)
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(bag(read(dir)) === expected)
      sql(s"OPTIMIZE '$dir' WHERE _zorder_p = 1 ZORDER BY a").collect()
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(bag(read(dir)) === expected)
    }
  }

  test("folders that spell one partition value differently stay apart") {
    withTableDir { dir =>
      for (name <- Seq("p=1", "p=01", "p=2")) {
        write(shuffled(100, 2), new File(dir, name))
      }
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      assert(dataFiles(dir).map(f => (f.folder, f.rows)) ===
        Seq(("p=01", 100), ("p=1", 100), ("p=2", 100)))
      optimize(s"OPTIMIZE '$dir' WHERE p = 1 ZORDER BY a", dir)(read(dir))
      withSQLConf("spark.sql.sources.partitionColumnTypeInference.enabled" -> "false") {
        val before = dataFiles(dir)
        optimize(s"OPTIMIZE '$dir' FULL WHERE p = '01' ZORDER BY b", dir)(read(dir))
        assert(before.diff(dataFiles(dir)).map(_.folder) === Seq("p=01"))
      }
      withTempDir { out =>
        sql(s"OPTIMIZE '$dir' ZORDER BY a INTO '$out/x'").collect()
        assert(dataFiles(new File(out, "x")).map(_.folder) === Seq("p=01", "p=1", "p=2"))
      }
    }
  }

  private val oddValues = Seq(
    "a/b",
    "100%",
    "a:b",
    "a=b",
    "with space",
    "it's",
    "\"quoted\"",
    "back\\slash",
    "größe",
    "{x}[y]*?",
    "#1",
    "+&",
    "a%2Fb",
    "..")

  test("odd partition values keep their folders") {
    val session = spark
    import session.implicits._
    withTableDir { dir =>
      val df = (oddValues ++ Seq(null: String)).zipWithIndex.toDF("p", "i")
        .selectExpr("p", "explode(sequence(i * 10, i * 10 + 9)) a")
      write(df.selectExpr("a", "a b", "p"), dir, "p")
      write(df.selectExpr("a + 1000 a", "a b", "p"), dir, "p")
      val before = dataFiles(dir)
      assert(before.map(_.folder).distinct.size === oddValues.size + 1)
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      val after = dataFiles(dir)
      assert(after.map(_.folder) === before.map(_.folder).distinct)
      optimize(s"OPTIMIZE '$dir' WHERE p IS NULL OR p = 'a/b' ZORDER BY b", dir)(read(dir))
      assert(dataFiles(dir).diff(after).map(_.folder) ===
        Seq("p=__HIVE_DEFAULT_PARTITION__", "p=a%2Fb"))
    }
  }

  test("odd partition values keep their folders in a copy", Slow) {
    val session = spark
    import session.implicits._
    withTableDir { dir =>
      val df = (oddValues ++ Seq(null: String)).zipWithIndex.toDF("p", "i")
        .selectExpr("p", "explode(sequence(i * 10, i * 10 + 9)) a")
      write(df.selectExpr("a", "a b", "p"), dir, "p")
      val after = dataFiles(dir)
      withTempDir { out =>
        val to = new File(out, "x")
        sql(s"OPTIMIZE '$dir' ZORDER BY a INTO '$to'").collect()
        assert(dataFiles(to).map(_.folder) === after.map(_.folder))
        assert(bag(read(to)) === bag(read(dir)))
      }
    }
  }

  test("odd partition values of a catalog table; the empty text is NULL there", Slow) {
    withTable("t") {
      sql("CREATE TABLE t (a INT, p STRING, ts TIMESTAMP) USING parquet PARTITIONED BY (p, ts)")
      (oddValues ++ Seq("", "x")).zipWithIndex.foreach { case (v, i) =>
        spark.range(0, 10, 1, 2).selectExpr(
          s"int(id) + $i a",
          s"'${v.replace("\\", "\\\\").replace("'", "\\'")}' p",
          "timestamp'2026-01-02 03:04:05.678' ts")
          .write.insertInto("t")
      }
      spark.sql("INSERT INTO t VALUES (1, NULL, NULL), (2, NULL, timestamp'1900-01-01 00:00:00')")
      val dir = locationOf("t")
      val folders = dataFiles(dir).map(_.folder).distinct
      optimize("OPTIMIZE t ZORDER BY a", dir)(spark.table("t"))
      assert(dataFiles(dir).map(_.folder) === folders)
      val row = optimize(
        "OPTIMIZE t FULL WHERE ts > timestamp'2020-01-01' AND p LIKE 'a%' ZORDER BY a",
        dir)(spark.table("t"))
      assert(metric(row, "partitionsOptimized") === 4)
    }
  }

  test("folder names that Hadoop takes for a scheme") {
    withTableDir { dir =>
      for (p <- Seq("p=a:b", "p=12:30:00")) {
        // Spark would not write such a name, but reads it
        write(shuffled(100, 2), new File(dir, "plain"))
        assert(new File(dir, "plain").renameTo(new File(dir, p)))
      }
      assert(read(dir).count() === 200)
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      assert(dataFiles(dir).map(_.folder).toSet === Set("p=a:b", "p=12:30:00"))
      withTempDir { out =>
        val to = new File(out, "x")
        sql(s"OPTIMIZE '$dir' ZORDER BY a INTO '$to'").collect()
        assert(bag(read(to)) === bag(read(dir)))
      }
    }
  }

  test("a partition outside the table is left out, or refused when WHERE names it") {
    withTable("t") {
      withTempDir { elsewhere =>
        shuffled(300, 2).selectExpr("*", "id % 3 p").write.format("parquet").partitionBy("p")
          .saveAsTable("t")
        write(shuffled(50, 1), new File(elsewhere, "p2"))
        sql(s"ALTER TABLE t PARTITION (p = 2) SET LOCATION '$elsewhere/p2'")
        val dir = locationOf("t")
        val before = snapshot(elsewhere)
        val old = dataFiles(new File(dir, "p=2"))
        // a folder of another name inside the table is its own
        write(shuffled(50, 2), new File(dir, "by-hand"))
        sql(s"ALTER TABLE t ADD PARTITION (p = 3) LOCATION '$dir/by-hand'")
        val row = optimize("OPTIMIZE t ZORDER BY (a, b)", dir)(spark.table("t"))
        assert(row.getAs[String]("reason").contains(s"$elsewhere/p2"))
        assert(metric(row, "partitionsOptimized") === 3)
        assert(dataFiles(new File(dir, "by-hand")).map(_.rows) === Seq(50))
        assert(snapshot(elsewhere) === before)
        assert(dataFiles(new File(dir, "p=2")) === old)
        fails("ZORDER_PARTITION_OUTSIDE_TABLE", "p=2", s"$elsewhere/p2")(
          sql("OPTIMIZE t WHERE p >= 1 ZORDER BY a"))
        optimize("OPTIMIZE t WHERE p = 1 ZORDER BY a", dir)(spark.table("t"))
      }
    }
  }
}
