// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{DataFrame, SaveMode}

import io.sparkzorder.ValidatedPlans

/**
 * Each way to write into a table with a declared order, for each kind of table and with each
 * planner: every file is in the order of the key, and the rows are those of the query.
 *
 * The quick tests have each way into each kind of table, each way with each planner and each kind with
 * each planner. The slow tests have the rest of the combinations.
 */
class OrderedWritesSuite extends DeclaredTables with ValidatedPlans {

  /** A way to write `rows` into table `t`, whose columns are a, b, v and s. */
  private case class Way(name: String, twice: Boolean)(val write: DataFrame => Unit)

  private val ways = Seq(
    Way("INSERT INTO", twice = true) { df =>
      df.createOrReplaceTempView("src")
      sql("INSERT INTO t SELECT a, b, v, s FROM src")
    },
    Way("INSERT OVERWRITE", twice = false) { df =>
      df.createOrReplaceTempView("src")
      sql("INSERT OVERWRITE t SELECT a, b, v, s FROM src")
    },
    Way("dynamic INSERT OVERWRITE", twice = false) { df =>
      df.createOrReplaceTempView("src")
      inConf("spark.sql.sources.partitionOverwriteMode" -> "dynamic") {
        sql("INSERT OVERWRITE t SELECT a, b, v, s FROM src")
      }
    },
    Way("INSERT of a query that sorts", twice = true) { df =>
      df.createOrReplaceTempView("src")
      sql("INSERT INTO t SELECT a, b, v, s FROM src ORDER BY v")
    },
    Way("insertInto", twice = true)(_.write.insertInto("t")),
    Way("insertInto with overwrite", twice = false)(_.write.mode("overwrite").insertInto("t")),
    Way("INSERT of a cached query", twice = true) { df =>
      val cached = df.cache()
      try cached.write.insertInto("t")
      finally cached.unpersist()
    })

  private val kinds = Seq(
    "plain" -> "",
    "partitioned by a nullable string" -> "PARTITIONED BY (s)",
    "bucketed" -> "CLUSTERED BY (v) INTO 3 BUCKETS",
    "bucketed and sorted" -> "CLUSTERED BY (v) SORTED BY (v) INTO 3 BUCKETS")

  private val planners = for {
    planned <- Seq("true", "false")
    adaptive <- Seq("true", "false")
  } yield Seq(
    "spark.sql.optimizer.plannedWrite.enabled" -> planned,
    "spark.sql.adaptive.enabled" -> adaptive)

  for (((kind, clause), k) <- kinds.zipWithIndex; (way, w) <- ways.zipWithIndex) {
    val planner = planners((k + w) % planners.size)
    test(s"${way.name} into a $kind table")(check(way, clause, planner))
    test(s"${way.name} into a $kind table, other planners", Slow) {
      planners.filterNot(_ == planner).foreach(check(way, clause, _))
    }
  }

  private def check(way: Way, clause: String, planner: Seq[(String, String)]): Unit =
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT, v BIGINT, s STRING) USING parquet " +
        s"SORT BY ZORDER (a, b) $clause")
      inConf(planner: _*) {
        way.write(rows)
        // what a dynamic overwrite does without partitions is an overwrite
        if (way.twice) way.write(rows.where("v < 250"))
      }
      val once = if (clause.startsWith("PARTITIONED")) inPartitions else unpartitioned
      val expected =
        if (way.twice) once.map { case (row, n) => row -> n * (if (number(row) < 250) 2 else 1) }
        else once
      assert(bag(spark.table("t")) === expected, planner)
      if (clause.contains("SORTED BY")) assertOrdered(directory("t"))(_.getAs[Long]("v"))
      else assertZOrdered(directory("t"))
    }

  private lazy val unpartitioned = bag(rows)
  // a partition column cannot tell '' from NULL
  private lazy val inPartitions = bag(rows.selectExpr("a", "b", "v", "nullif(s, '') AS s"))

  private def number(row: Any): Long = row.asInstanceOf[Seq[Any]](2).asInstanceOf[Long]

  /** A test with one planner, and a slow test with the others. */
  private def testPlanners(name: String, planner: Int)(body: => Unit): Unit = {
    val one = planners(planner)
    test(name)(inConf(one: _*)(body))
    test(s"$name, other planners", Slow)(planners.filterNot(_ == one).foreach(inConf(_: _*)(body)))
  }

  testPlanners("a static partition", 0) {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT, v BIGINT, s STRING, p INT) USING parquet " +
        "PARTITIONED BY (p, s) SORT BY ZORDER (a, b)")
      rows.createOrReplaceTempView("src")
      sql("INSERT INTO t PARTITION (p = 1, s = 'q') SELECT a, b, v FROM src")
      sql("INSERT INTO t PARTITION (p = 2, s) SELECT a, b, v, s FROM src")
      sql("INSERT OVERWRITE t PARTITION (p = 3, s) SELECT a, b, v, 'c' AS s FROM src")
      assert(spark.table("t").count() === 1500)
      assertZOrdered(directory("t"))
    }
  }

  testPlanners("CREATE TABLE AS SELECT, and saveAsTable that creates, appends and overwrites", 3) {
    for (clause <- Seq("", "PARTITIONED BY (s)")) withTable("t") {
      rows.createOrReplaceTempView("src")
      sql(s"CREATE TABLE t USING parquet SORT BY ZORDER (a, b) $clause AS SELECT * FROM src")
      assertZOrdered(directory("t"))
      assert(metadata("t").storage.properties.keys.forall(!_.startsWith("zorder")))
      val append = rows.write.mode(SaveMode.Append).format("parquet")
      (if (clause.isEmpty) append else append.partitionBy("s")).saveAsTable("t")
      assertZOrdered(directory("t"))
      assert(spark.table("t").count() === 1000)
    }
    withTable("t") {
      def writer = rows.write.option("zorder.columns", "a,b").format("parquet")
      writer.saveAsTable("t")
      assertZOrdered(directory("t"))
      writer.mode("overwrite").partitionBy("s").saveAsTable("t")
      assertZOrdered(directory("t"))
      rows.write.insertInto("t")
      assertZOrdered(directory("t"))
      assert(spark.table("t").count() === 1000)
    }
    withTable("t") {
      rows.writeTo("t").using("parquet").tableProperty("zorder.columns", "a, b").create()
      assertZOrdered(directory("t"))
      assert(spark.table("t").count() === 500)
    }
  }

  testPlanners("a partition value that is a constant", 1) {
    withTable("t", "u") {
      rows.createOrReplaceTempView("src")
      sql("CREATE TABLE t USING parquet SORT BY ZORDER (a, b) PARTITIONED BY (p, s) " +
        "AS SELECT a, b, v, 1 AS p, s FROM src")
      withClue("CTAS")(assertZOrdered(directory("t")))
      for (query <- Seq("a, b, v, 1, s", "a, b, v, cast(v % 2 as int), 'x'")) {
        val insert = s"INSERT INTO t SELECT $query FROM src"
        sql(insert)
        withClue(sql(s"EXPLAIN EXTENDED $insert").head().getString(0)) {
          assertZOrdered(directory("t"))
        }
      }
      assert(spark.table("t").count() === 1500)
      sql("CREATE TABLE u USING parquet SORT BY ZORDER (a, b) PARTITIONED BY (s) " +
        "AS SELECT a, b, v, '' AS s FROM src")
      sql("INSERT INTO u SELECT a, 5, v, s FROM src")
      sql("INSERT INTO u SELECT 4, 5, v, s FROM src")
      assertZOrdered(directory("u"))
      assert(spark.table("u").count() === 1500)
    }
  }

  testPlanners("save to a path, by option, and INSERT OVERWRITE DIRECTORY with it", 2) {
    withTempDir { dir =>
      def writer = rows.write.mode("append").option("zorder.columns", "a, b")
      val (p, q) = (new File(dir, "p"), new File(dir, "q"))
      writer.parquet(p.toString)
      writer.parquet(p.toString)
      assertZOrdered(p)
      writer.partitionBy("s").orc(q.toString)
      assertZOrdered(q, "orc")
      writer.option("zorder.order", "lexical").parquet(new File(dir, "l").toString)
      assertOrdered(new File(dir, "l"))(r => (r.getAs[Int]("a"), r.getAs[Int]("b")))
      rows.createOrReplaceTempView("src")
      sql(s"INSERT OVERWRITE DIRECTORY '$dir/d' USING parquet " +
        "OPTIONS ('zorder.columns' 'a, b') SELECT * FROM src")
      assertZOrdered(new File(dir, "d"))
      assert(spark.read.parquet(p.toString).count() === 1000)
    }
  }

  test("lexical, one column, a nested field, several types, ORC") {
    val wide = rows.selectExpr(
      "a",
      "b",
      "named_struct('x', a, 'y', cast(b as string)) AS n",
      "cast(v as decimal(30, 2)) AS d",
      "CASE WHEN v % 3 = 0 THEN NULL ELSE concat('key-', b, '-', v) END AS k")
    withTable("t") {
      wide.limit(0).write.saveAsTable("t")
      sql("ALTER TABLE t SORT BY (b, a)")
      wide.write.mode("overwrite").insertInto("t")
      assertOrdered(directory("t"))(r => (r.getAs[Int]("b"), r.getAs[Int]("a")))
      sql("ALTER TABLE t SORT BY ZORDER (k)")
      wide.write.mode("overwrite").insertInto("t")
      assertOrdered(directory("t"))(r => Option(r.getAs[String]("k")).getOrElse(""))
      sql("ALTER TABLE t SORT BY LEXICAL (n.x, n.y)")
      wide.write.mode("overwrite").insertInto("t")
      assertOrdered(directory("t")) { r =>
        (r.getStruct(2).getInt(0), r.getStruct(2).getString(1))
      }
      sql("ALTER TABLE t SORT BY ZORDER (n.x, b)")
      wide.write.mode("overwrite").insertInto("t")
      assertZOrdered(directory("t"))
      sql("ALTER TABLE t SORT BY ZORDER (d, k)")
      wide.write.mode("overwrite").insertInto("t")
      assert(bag(spark.table("t")) === bag(wide))
    }
    withTable("o") {
      sql("CREATE TABLE o (a INT, b INT, v BIGINT, s STRING) USING orc SORT BY ZORDER (a, b)")
      rows.write.insertInto("o")
      assertZOrdered(directory("o"), "orc")
    }
  }

  testPlanners("several writers open at once", 0) {
    inConf("spark.sql.maxConcurrentOutputFileWriters" -> "2") {
      withTable("t") {
        sql("CREATE TABLE t (a INT, b INT, v BIGINT, s STRING) USING parquet " +
          "PARTITIONED BY (s) SORT BY ZORDER (a, b)")
        rows.write.insertInto("t")
        assertZOrdered(directory("t"))
        assert(spark.table("t").count() === 500)
      }
    }
  }

  test("foreachBatch") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT, v BIGINT, s STRING) USING parquet SORT BY ZORDER (a, b)")
      withTempDir { dir =>
        rows.write.mode("append").parquet(s"$dir/in")
        val query = spark.readStream.schema(rows.schema).parquet(s"$dir/in").writeStream
          .option("checkpointLocation", s"$dir/checkpoint")
          .foreachBatch((batch: DataFrame, _: Long) => batch.write.insertInto("t"))
          .start()
        try query.processAllAvailable()
        finally query.stop()
      }
      assert(spark.table("t").count() === 500)
      assertZOrdered(directory("t"))
    }
  }
}
