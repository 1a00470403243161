// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.types.{DecimalType, MetadataBuilder, StructType}

import io.sparkzorder.skipping.SkippingTestBase

/** Which files a predicate keeps: by hand, on files whose bounds are plain to see. */
class FilterOnFilesSuite extends SkippingTestBase {

  /** Five files: 0 to 9, 10 to 19, 20 to 29, 30 alone twice, only NULL. */
  private def withTens(body: File => Unit): Unit = withTableDir { dir =>
    def tens(from: Int, to: Int, x: String = "cast(id as int)") = spark.range(from, to).selectExpr(
      s"$x i",
      s"cast($x as bigint) l",
      s"cast($x as double) d",
      s"cast($x as decimal(9,2)) m",
      s"cast($x as decimal(25,2)) w",
      s"lpad(cast($x as string), 3, '0') s",
      s"date_add(date'2000-01-01', $x) t",
      s"timestamp_seconds($x) ts",
      s"named_struct('x', $x, 'b', $x > 15) n",
      s"$x % 2 = 0 b")
    filesOf(
      dir,
      tens(0, 10),
      tens(10, 20),
      tens(20, 30),
      tens(0, 2, "30"),
      tens(0, 3, "cast(null as int)"))
    createIndex(dir)
    body(dir)
  }

  test("predicates and the number of files that they keep") {
    inConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
      withTens { dir =>
        val expected = Seq(
          "i = 15" -> 1,
          "15 = i" -> 1,
          "i <=> 15" -> 1,
          "i = 100" -> 0,
          "i < 10" -> 1,
          "i <= 10" -> 2,
          "10 > i" -> 1,
          "i > 29" -> 1,
          "i >= 29" -> 2,
          "i BETWEEN 12 AND 22" -> 2,
          "i IN (3, 25)" -> 2,
          "i IN (3, NULL)" -> 1,
          "i NOT IN (30, 31)" -> 3,
          "i != 30" -> 3,
          "NOT (i = 30)" -> 3,
          "NOT (i <=> 30)" -> 4,
          "i IS NULL" -> 1,
          "i IS NOT NULL" -> 4,
          "NOT (i IS NULL)" -> 4,
          "i <=> NULL" -> 1,
          "i = 5 OR i = 25" -> 2,
          "i > 5 AND i < 12" -> 2,
          "NOT (i < 10 OR i > 19)" -> 1,
          "NOT (i >= 10 AND i <= 30)" -> 1,
          "i = 5 OR rand() < 2" -> 5,
          "i = 5 AND rand() < 2" -> 1,
          "i = 5 AND hash(s) = 7" -> 1,
          "i = 5 OR hash(s) = 7" -> 5,
          "l = 15" -> 1,
          "i = 15L" -> 1,
          "cast(i as bigint) = 15L" -> 1,
          "i > 14.5" -> 3,
          "i = 14.5" -> 0,
          "d > 19" -> 2,
          "d = 15.5d" -> 1,
          "d < 10" -> 1,
          "i > 9.5d" -> 3,
          "m = 15" -> 1,
          "m > 19.005" -> 2,
          "m = 15.005" -> 0,
          "w <= 9.99" -> 1,
          "w = cast(25 as decimal(38,5))" -> 1,
          "s = '015'" -> 1,
          "s LIKE '01%'" -> 1,
          "s LIKE '01_'" -> 1,
          "s LIKE '%5'" -> 4,
          "startswith(s, '02')" -> 1,
          "NOT (s LIKE '03%')" -> 3,
          "s IN ('001', '030')" -> 2,
          "s > '019'" -> 2,
          "s >= '019' AND s < '02'" -> 1,
          "t = date'2000-01-16'" -> 1,
          "t < date'2000-01-11'" -> 1,
          "ts = timestamp_seconds(15)" -> 1,
          "ts > timestamp'1970-01-01 00:00:19Z'" -> 2,
          "n.x = 15" -> 1,
          "n.x IS NULL" -> 1,
          "n.b" -> 3,
          "NOT n.b" -> 2,
          "b = true" -> 4,
          "i + 1 = 16" -> 1,
          "true" -> 5)
        val df = read(dir)
        val wrong = expected.flatMap { case (p, n) =>
          val kept = keptByIndex(df.where(p))
          if (kept == n) None else Some(s"$p keeps $kept files, expected $n")
        }
        assert(wrong === Nil)
      }
    }
  }

  test("long lists of IN are searched, not walked") {
    withTens { dir =>
      val df = read(dir)
      assert(keptFiles(df.where((100 to 2000).mkString("i IN (", ",", ")"))) === 0)
      assert(keptFiles(df.where((29 to 2000).mkString("i IN (", ",", ")"))) === 2)
      assert(keptFiles(df.where((100 to 200).map(v => s"'$v'").mkString("s IN (", ",", ")"))) === 0)
      assert(keptFiles(df.where((20 to 99).map(v => s"'0$v'").mkString("s IN (", ",", ")"))) === 2)
    }
  }

  test("each conjunct is explained") {
    withTens { dir =>
      val scan = scanOf(read(dir).where(
        "i = 15 AND hash(s) = 7 AND cast(s as double) = 3 AND _metadata.file_size > 0 AND l % 7 > 2"))
      val use = scan.pruning.ask(scan.filters)
      assert(use.map(_.reason) === Seq(None))
      val conjuncts = use.head.filter.get.conjuncts
      def reasons(column: String) =
        conjuncts.filter(_.columns.contains(column)).map(c => c.used -> c.reason.getOrElse(""))
      assert(reasons("i").contains(true -> ""))
      assert(reasons("s").contains(false -> "the expression hash(s)"))
      assert(reasons("s").contains(
        false -> "s is cast to DOUBLE for this comparison; quote the literal, as in s = '3.0'"))
      assert(reasons("l").contains(true -> ""))
      val dropped = use.head.filter.get.dropped
      assert(dropped.exists { case (c, n) => c.columns == Seq("i") && n == 4 })
    }
  }

  test("the smallest part that is not understood is the reason") {
    withTens { dir =>
      def reasonOf(predicate: String): String = {
        val scan = scanOf(read(dir).where(predicate))
        scan.pruning.ask(scan.filters).head.filter.get.conjuncts.flatMap(_.reason).mkString
      }
      assert(reasonOf("concat(reverse(s), 'x') = 'y'") === "the expression reverse(s)")
      assert(reasonOf("length(concat(soundex(s), 'x')) > 1") === "the expression soundex(s)")
      assert(
        reasonOf("abs(hash(i, l)) > 5") === "the expression hash(i, l) of several columns")
      assert(reasonOf("abs(i + l) > 5") === "")
    }
  }

  test("a cast that is not one-to-one is not taken for exact", Slow) {
    inConf("spark.sql.legacy.allowNegativeScaleOfDecimal" -> "true") {
      withTableDir { dir =>
        filesOf(
          dir,
          spark.range(0, 100).selectExpr("id", "cast(id as decimal(9,2)) m", "cast(id as int) i"),
          spark.range(100, 200).selectExpr("id", "cast(id as decimal(9,2)) m", "cast(id as int) i"))
        createIndex(dir)
        for (c <- Seq("id", "m", "i"); op <- Seq("=", "<=", ">", "!=", "<=>");
          v <- Seq(100, 0, 200)) {
          val table = read(dir)
          val tens = table.withColumn("x", table(c).cast(DecimalType(12, -2)))
          val _ = keptFiles(tens.where(s"x $op $v"))
        }
      }
    }
  }

  test("filters with subqueries are unknown and never evaluated") {
    withTens { dir =>
      read(dir).createOrReplaceTempView("tens")
      for (p <- Seq(
          "i = (SELECT max(i) FROM tens)",
          "i = 5 OR i = (SELECT max(i) FROM tens)")) {
        val scan = scanOf(sql(s"SELECT * FROM tens WHERE $p"))
        assert(scan.files.size === 5)
        val jobs = io.sparkzorder.JobCounter.count(spark) {
          assert(scan.kept().size >= 4)
        }
        assert(jobs.jobs === 0)
      }
    }
  }

  test("no index, skipping turned off, a filter of no use: nothing is narrowed") {
    withTens { dir =>
      val scan = scanOf(read(dir).where("i = 15"))
      assert(scan.kept().size === 1)
      assert(scan.pruning(Nil) === None)
      inConf(
        "spark.zorder.skipping.enabled" -> "false")(assert(scan.pruning(scan.filters) === None))
      val id = new MetadataBuilder().putLong("parquet.field.id", 1L).build()
      val byId = new StructType().add("i", "int", nullable = true, id)
      for (on <- Seq(true, false)) {
        inConf("spark.sql.parquet.fieldId.read.enabled" -> on.toString) {
          val ids = scanOf(spark.read.schema(byId).parquet(dir.getPath).where("i = 15"))
          assert(ids.pruning(ids.filters).isEmpty === on)
          assert(scan.pruning(scan.filters).isDefined)
        }
      }
      val useless = scanOf(read(dir).where("hash(i, l) = 15 AND hash(l, i) = 14"))
      assert(useless.kept().size >= 4)
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      assert(scan.pruning(scan.filters) === None)
      assert(scan.pruning.ask(scan.filters).map(_.reason) === Seq(Some("there is no index")))
    }
  }

  test("partitions of a table: by its index, also when one partition alone is read") {
    withTableDir { dir =>
      def part(p: Int) = spark.range(10).selectExpr(s"id + ${p * 10} i", s"$p p")
      for (p <- 0 to 2)
        part(p).coalesce(1).write.mode("append").partitionBy("p").parquet(dir.getPath)
      createIndex(dir)
      assert(keptFiles(read(dir).where("i = 15")) === 1)
      // partition columns are no data columns
      assert(scanOf(read(dir).where("p = 1 AND i = 15")).kept().size === 1)
      assert(keptFiles(read(new File(dir, "p=1")).where("i = 15")) === 1)
      assert(keptFiles(read(new File(dir, "p=1")).where("i = 25")) === 0)
      val two = spark.read.parquet(s"$dir/p=0", s"$dir/p=1")
      assert(keptFiles(two.where("i = 15")) === 1)
    }
  }

  test("filters that reach the scan by constraint propagation") {
    // the keys of the join would be a filter of their own
    withSQLConf("spark.zorder.skipping.dynamic" -> "false")(withTens { dir =>
      val df: DataFrame = read(dir).where("i = 15").select("i").as("a")
        .join(read(dir).as("b"), "i")
      val scans = df.queryExecution.optimizedPlan.collect {
        case f @ org.apache.spark.sql.catalyst.plans.logical.Filter(_, _) => scanOf(f)
      }
      assert(scans.size === 2)
      scans.foreach(s => assert(s.kept().size === 1))
    })
  }
}
