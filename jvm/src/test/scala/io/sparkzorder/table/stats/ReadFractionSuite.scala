package io.sparkzorder.table.stats

import java.io.File
import java.sql.{Date, Timestamp}

import org.apache.parquet.filter2.predicate.FilterApi

import org.apache.spark.sql.{DataFrame, QueryTest}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.functions._
import org.apache.spark.sql.test.SharedSparkSession

class ReadFractionSuite extends QueryTest with SharedSparkSession {

  private val pageRows = 100
  // a row group ends soon after 1,000 rows of 12 bytes
  private val layout = Map(
    "parquet.page.row.count.limit" -> pageRows.toString,
    "parquet.block.size" -> "12000",
    "parquet.page.size.row.check.min" -> "100",
    "parquet.page.size.row.check.max" -> "100",
    "parquet.enable.dictionary" -> "false")

  private def hadoop = spark.sessionState.newHadoopConf()

  /** Writes one file for each frame, in order. */
  private def files(directory: File, frames: DataFrame*): Seq[String] =
    frames.zipWithIndex.map { case (frame, i) =>
      val folder = new File(directory, s"f$i")
      frame.coalesce(1).write.options(layout).parquet(folder.getPath)
      folder.listFiles().map(_.getPath).filter(_.endsWith(".parquet")).head
    }

  private def load(paths: Seq[String], columns: String*): Seq[FileStatistics] =
    FileStatistics.load(paths, columns.map(Seq(_)), hadoop)

  private def point(column: String, value: Any) = Seq(ColumnRange.of(column, value, value))

  /** Rows `from` to `to - 1` in order, with a key that is the row's number. */
  private def rows(from: Long, to: Long): DataFrame =
    spark.range(from, to, 1, 1).selectExpr("cast(id as int) as k", "id as wide")

  test("a sorted column: one file, one row group and one page hold a value") {
    withTempDir { dir =>
      val stats = load(files(dir, rows(0, 5000), rows(5000, 8000)), "k")
      assert(stats.head.rowGroups.size > 2, "the test needs several row groups")
      val groups = stats.flatMap(_.rowGroups)
      val at = ReadFraction.of(stats, point("k", 4321))
      val group = groups(groups.scanLeft(0L)(_ + _.rows).tail.indexWhere(_ > 4321)).rows
      assert(at.files == ReadShare(1, 2, 5000, 8000))
      assert(at.rowGroups == ReadShare(1, groups.size, group, 8000))
      assert(at.pages.read == 1)
      assert(at.pages.readRows == pageRows)
      assert(at.pages.total >= 80 && at.pages.totalRows == 8000)
      assert(at.files.fraction == 0.5)
    }
  }

  test("a range touches the pages it overlaps, in every level its own") {
    withTempDir { dir =>
      val stats = load(files(dir, rows(0, 1000)), "k")
      def pages(low: Int, high: Int) =
        ReadFraction.of(stats, Seq(ColumnRange.of("k", low, high))).pages
      assert(pages(100, 199) == ReadShare(1, 10, 100, 1000))
      assert(pages(99, 200) == ReadShare(3, 10, 300, 1000))
      assert(pages(-5, 2000) == ReadShare(10, 10, 1000, 1000))
      assert(pages(1000, 2000) == ReadShare(0, 10, 0, 1000))
      assert(pages(200, 100).read == 0, "no row lies in a range with its ends exchanged")
    }
  }

  test("two columns: the pages of both in which some row may match in both") {
    withTempDir { dir =>
      val frame = rows(0, 1000).selectExpr("k", "cast(k % 500 as int) as half")
      val stats = load(files(dir, frame), "k", "half")
      val both = ReadFraction.of(stats, point("k", 250) ++ point("half", 250))
      assert(both.pages == ReadShare(2, 20, 100, 1000))
      val never = ReadFraction.of(stats, point("k", 250) ++ point("half", 350))
      assert(never.rowGroups.read == 1, "a row group's min/max holds both values")
      assert(never.pages == ReadShare(0, 20, 0, 1000))
    }
  }

  test("a file's hull may hold a value that none of its row groups holds") {
    withTempDir { dir =>
      val stats = load(files(dir, rows(0, 1000).union(rows(5000, 9000)).coalesce(1)), "k")
      val gap = ReadFraction.of(stats, point("k", 3000))
      val around = stats.flatMap(_.rowGroups).size
      assert(gap.files.read == 1)
      assert(gap.rowGroups.read <= 1 && gap.rowGroups.total == around)
      assert(gap.pages.read <= 1)
    }
  }

  test("NULLs: an all-null file holds no value, and only it or a file with NULLs holds NULL") {
    withTempDir { dir =>
      val allNull = rows(0, 300).selectExpr("cast(null as int) as k", "wide")
      val some = rows(0, 300).selectExpr("if(k = 150, null, k) as k", "wide")
      val stats = load(files(dir, allNull, some, rows(0, 300)), "k")
      assert(ReadFraction.of(stats, point("k", 10)).files == ReadShare(2, 3, 600, 900))
      val nulls = ReadFraction.of(stats, point("k", null))
      assert(nulls.files == ReadShare(2, 3, 600, 900))
      assert(nulls.pages == ReadShare(4, 9, 400, 900))
    }
  }

  test("missing statistics must be read: INT96, and NaN in one of several row groups") {
    withTempDir { dir =>
      val nan = rows(0, 8000).selectExpr("if(k = 7999, double('NaN'), double(k)) as d")
      val doubles = load(files(dir, nan), "d")
      assert(doubles.head.rowGroups.size > 1, "the test needs several row groups")
      val outside = ReadFraction.of(doubles, point("d", 1e9))
      assert(outside.files.read == 1, "one row group does not say, so the file does not")
      assert(outside.rowGroups.read == 1)

      withSQLConf("spark.sql.parquet.outputTimestampType" -> "INT96") {
        val times = rows(0, 300).selectExpr("timestamp_seconds(k) as t")
        val int96 = load(files(new File(dir, "int96"), times), "t")
        val read = ReadFraction.of(int96, point("t", -1L))
        assert(Seq(read.files, read.rowGroups, read.pages).forall(_.fraction == 1.0))
      }
    }
  }

  test("an absent column is all NULL; an empty file is never read; none at all reads nothing") {
    withTempDir { dir =>
      val stats = load(files(dir, rows(0, 200).drop("k"), rows(0, 200), rows(0, 0)), "k")
      assert(ReadFraction.of(stats, point("k", 5)).files == ReadShare(1, 3, 200, 400))
      assert(ReadFraction.of(stats, point("k", 5)).pages == ReadShare(1, 2, 100, 200 + 200))
      assert(ReadFraction.of(stats, point("k", null)).files == ReadShare(1, 3, 200, 400))
      assert(ReadFraction.of(Nil, point("k", 5)).files.fraction == 0.0)
    }
  }

  test("each file is judged in the type that it stores") {
    withTempDir { dir =>
      val wide = rows(0, 200).selectExpr("wide as k")
      val stats = load(files(dir, rows(0, 200), wide, rows(500, 700)), "k")
      assert(ReadFraction.of(stats, point("k", 150)).files.read == 2)
      assert(ReadFraction.of(stats, point("k", 150L)).files.read == 2)
    }
  }

  private val types: Seq[(String, Any, Any)] = Seq(
    ("boolean", false, true),
    ("tinyint", -3.toByte, 4.toByte),
    ("smallint", -300.toShort, 400.toShort),
    ("int", -70000, 70000),
    ("bigint", -7000000000L, 7000000000L),
    ("float", -1.5f, 2.5f),
    ("double", -1.5, 2.5),
    ("date", Date.valueOf("1901-01-01"), Date.valueOf("2026-01-01")),
    (
      "timestamp",
      Timestamp.valueOf("1960-01-01 00:00:00"),
      Timestamp.valueOf("2026-01-01 00:00:00")),
    ("decimal(7,2)", BigDecimal("-1.25"), BigDecimal("1.25")),
    ("decimal(18,4)", BigDecimal("-1.2500"), BigDecimal("1.2500")),
    ("decimal(38,18)", BigDecimal("-1." + "1" * 18), BigDecimal("129." + "1" * 18)),
    ("string", "apple", "äpfel"),
    ("binary", Array[Byte](1), Array[Byte](-1)))

  for ((sqlType, low, high) <- types) test(s"points of type $sqlType") {
    withTempDir { dir =>
      withSQLConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
        def file(value: Any) = spark.range(3).select(lit(value).cast(sqlType).as("c"))
        val frames = Seq(file(low), file(high))
        val stats = load(files(dir, frames: _*), "c")
        val convert =
          CatalystTypeConverters.createToCatalystConverter(frames.head.schema.head.dataType)
        for (value <- Seq(low, high)) {
          val read = ReadFraction.of(stats, point("c", convert(value)))
          assert(read.files == ReadShare(1, 2, 3, 6), value)
          assert(read.pages == ReadShare(1, 2, 3, 6), value)
        }
        val all = Seq(ColumnRange.of("c", convert(low), convert(high)))
        assert(ReadFraction.of(stats, all).files.read == 2)
      }
    }
  }

  test("a Parquet predicate with NOT, a nested column, and a column without page indexes loaded") {
    withTempDir { dir =>
      val nested = rows(0, 300).selectExpr("named_struct('b.c', k) as a", "wide")
      val stats = FileStatistics.load(files(dir, nested), Seq(Seq("a", "b.c")), hadoop)
      val in = Seq(ColumnRange(Seq("a", "b.c"), 120, 130))
      assert(ReadFraction.of(stats, in).pages == ReadShare(1, 3, 100, 300))

      val plain = load(files(new File(dir, "plain"), rows(0, 300)), "k")
      val not = FilterApi.not(FilterApi.lt(FilterApi.intColumn("k"), Int.box(200)))
      assert(ReadFraction.of(plain, not, Seq(Seq("k"))).pages == ReadShare(1, 3, 100, 300))
      val error = intercept[IllegalArgumentException](ReadFraction.of(plain, point("wide", 1L)))
      assert(error.getMessage.contains("[wide]"))
    }
  }

  test("values and ranges that make no sense are refused") {
    withTempDir { dir =>
      val stats = load(files(dir, rows(0, 10)), "k")
      intercept[IllegalArgumentException](ReadFraction.of(stats, point("k", "ten")))
      intercept[ArithmeticException](ReadFraction.of(stats, point("k", 1L << 40)))
      intercept[IllegalArgumentException](ColumnRange.of("k", null, 1))
      intercept[IllegalArgumentException](ReadFraction.of(stats, Nil: Seq[ColumnRange]))
    }
  }

  test("no unit that holds a matching row is ruled out (random rows and ranges)") {
    val seed = 20261121L
    val random = new scala.util.Random(seed)
    withTempDir { dir =>
      val frames = (0 until 6).map { i =>
        spark.range(0, 1500, 1, 1).select(
          when(
            rand(seed + i) < 0.1,
            null).otherwise(pmod(hash(col("id"), lit(i)), lit(400)) + i * 100)
            .as("a"),
          (col("id") / 3).cast("int").as("b"))
      }
      val paths = files(dir, frames: _*)
      val stats = load(paths, "a", "b")
      val rows = paths.map(spark.read.parquet(_).collect())
      for (_ <- 0 until 200) {
        val (a, b) = (random.nextInt(1000), random.nextInt(500))
        val (a2, b2) = (a + random.nextInt(60), b + random.nextInt(20))
        val ranges = Seq(ColumnRange.of("a", a, a2), ColumnRange.of("b", b, b2))
        for (i <- paths.indices) {
          val found = rows(i).count(r =>
            !r.isNullAt(0) && r.getInt(0) >= a && r.getInt(0) <= a2 && r.getInt(1) >= b &&
              r.getInt(1) <= b2)
          val read = ReadFraction.of(Seq(stats(i)), ranges)
          val clue = s"a in $a..$a2, b in $b..$b2, file $i, seed $seed"
          assert(found == 0 || read.files.read == 1, clue)
          assert(read.pages.readRows >= found, clue)
          assert(read.rowGroups.readRows >= read.pages.readRows, clue)
          assert(read.files.readRows >= read.rowGroups.readRows, clue)
        }
      }
    }
  }
}
