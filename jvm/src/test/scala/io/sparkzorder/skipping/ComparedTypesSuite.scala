// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import org.scalatest.tagobjects.Slow

import io.sparkzorder.ParquetTestFiles

/** Columns that are compared with values of other types, as BI tools and other databases do. */
class ComparedTypesSuite extends GridTestBase {
  private val ansi = "spark.sql.ansi.enabled"

  private def shapes: Seq[(String, Int)] = Seq(
    "wide = '1500'" -> 4,
    "wide = 1500" -> 4,
    "wide = 1500D" -> 4,
    "wide > '9800'" -> 4,
    "wide > 9850.5D" -> 4,
    "wide >= 9850.5" -> 4,
    "wide <=> '1500'" -> 4,
    "wide IN ('1500', '1600')" -> 4,
    "wide IN (1500D, 1600D)" -> 4,
    "wide BETWEEN '500' AND '900'" -> 4,
    "cast(wide as bigint) = 1500" -> 4,
    "cast(wide as int) = 1500" -> 4,
    "cast(wide as int) IN (1500, 1600)" -> 4,
    "cast(wide as smallint) < 1600" -> 4,
    "cast(wide as double) = 1500" -> 4,
    "cast(wide as float) < 1000" -> 4,
    "cast(wide as decimal(10,0)) = 1500" -> 4,
    "cast(wide as decimal(38,6)) = 1500" -> 4,
    "cast(wide as decimal(12,2)) IN (1500, 1600)" -> 4,
    "wide + 1 = 1501" -> 4,
    "wide - 1 < 1000" -> 4,
    "10000 - wide > 9000" -> 4,
    "wide * 2 < 1000" -> 4,
    "-wide > -1000" -> 4,
    "wide / 2 < 500" -> 4,
    "floor(wide) = 1500" -> 4,
    "ceil(wide) < 1500" -> 4,
    "floor(money) = 15" -> 4,
    "cast(money as int) = 15" -> 4,
    "cast(money as bigint) + 1 = 16" -> 4,
    "money = '15.25'" -> 4,
    "money < 10.5D" -> 4,
    "widest = '15'" -> 4,
    "widest = 15.0" -> 4,
    "widest > 98.5D" -> 4,
    "cast(widest as int) = 15" -> 4,
    "short = '15'" -> 4,
    "short IN ('15', '16.00')" -> 4,
    "k = '15'" -> 4,
    "k > '98'" -> 4,
    "k IN ('15', 16)" -> 4,
    "k BETWEEN '5' AND '9'" -> 4,
    "k = 15.0" -> 4,
    "k = 15D" -> 4,
    "nullable = '15'" -> 4,
    "x = '15'" -> 4,
    "x IN ('15', '16')" -> 4,
    "x < '10'" -> 4,
    "x = 15" -> 4,
    "x = 15.0" -> 4,
    "d = '2024-02-03'" -> 4,
    "d IN ('2024-02-03', '2024-02-04')" -> 4,
    "d < '2024-03'" -> 4,
    "t < '2024-03-01'" -> 4,
    "t = '2024-02-03 00:00:00'" -> 4,
    "t BETWEEN '2024-02-01' AND '2024-02-03'" -> 4)

  test("a literal of another type: one of three")(checkKept(shapes.indices.by(3).map(shapes)))

  test("a literal of another type", Slow) {
    checkShapes(shapes: _*)
  }

  test("a literal of another type, without ANSI", Slow) {
    inConf(ansi -> "false") {
      // Spark compares all of an IN as texts if one value is a text
      checkShapes(shapes.filterNot(_._1.matches("(wide|short|k|x) IN .*'.*")): _*)
    }
  }

  test("values at the ends of DECIMAL(38, 0) overflow and keep their files") {
    for (isAnsi <- Seq("true", "false")) inConf(ansi -> isAnsi) {
      withTableDir { dir =>
        filesOf(
          dir,
          Seq("-" + "9" * 38, "0", "9" * 38).map(v =>
            sql(s"SELECT cast('$v' as decimal(38,0)) w")): _*)
        createIndex(dir)
        def kept(p: String): Int = keptByIndex(read(dir).where(p))
        assert(kept("try_cast(w as bigint) IS NULL") >= 2)
        assert(kept("cast(w as bigint) = 0") <= 3)
        assert(kept("cast(w as double) > 1e30") === 1)
        assert(kept("cast(w as double) < -1e30") === 1)
        assert(kept("cast(w as double) = 0") === 1)
        assert(kept("w = '0'") === 1)
      }
    }
  }

  private val overBytes = "a STRING over bytes without annotation in the file"

  test(overBytes)(checkBytes(Seq(true, false), "s", every = 4))

  test(s"$overBytes: with and without files of texts and a values index", Slow) {
    for (isText <- Seq(Seq(false), Seq(true, false)); values <- Seq("", "s"))
      checkBytes(isText, values, every = 1)
  }

  /** @param every 4 takes each fourth filter */
  private def checkBytes(isText: Seq[Boolean], values: String, every: Int): Unit = {
    def of(first: Char): Seq[Array[Byte]] =
      (0 until 20).map(i => s"$first${"%02d".format(i)} Ä".getBytes("UTF-8")) :+ null
    val broken = Seq("ff41", "c3", "80", "4100", "c328", "f0288c28", "61c3")
      .map(h => h.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray)
    withTable("t") {
      withTableDir { dir =>
        for (text <- isText;
          (rows, i) <- (Seq('a', 'b', 'c', 'Z').map(of) :+ broken).zipWithIndex) {
          ParquetTestFiles.ofBytes(
            new org.apache.hadoop.fs.Path(s"$dir/$text-$i.parquet"),
            text,
            rows)
        }
        sql(s"CREATE TABLE t (id BIGINT, s STRING) USING parquet LOCATION '$dir' " +
          s"TBLPROPERTIES ('zorder.index.values' = '$values')")
        val pushdown = "spark.sql.parquet.filterPushdown" -> "false"
        val filters = Seq(
          "s = 'b07 Ä'",
          "s IN ('b07 Ä', 'c19 Ä')",
          "s <=> 'b07 Ä'",
          "s > 'c'",
          "s < 'a01'",
          "s <= 'a00 Ä'",
          "s BETWEEN 'Z' AND 'a05'",
          "s LIKE 'b1%'",
          "s LIKE '%Ä'",
          "startswith(s, 'c0')",
          "substr(s, 1, 1) = 'Z'",
          "upper(s) = 'B07 Ä'",
          "lower(s) LIKE 'z%'",
          "length(s) = 6",
          "length(s) = 1",
          "octet_length(s) = 2",
          "s IS NULL",
          "s IS NOT NULL AND s < 'A'",
          "cast(s AS BINARY) = x'ff41'",
          "cast(s AS BINARY) >= x'c3'",
          "s = cast(x'c3' AS STRING)",
          "s >= cast(x'80' AS STRING)",
          "hex(s) = '80'",
          "s RLIKE '^b0'",
          "s != 'a00 Ä'",
          "NOT s LIKE 'a%'",
          "trim(s) = 'c05 Ä'",
          "concat(s, 'x') = 'b07 Äx'")
        def check(): Seq[Int] = filters.indices.by(every).map(filters).map { filter =>
          val found = spark.table("t").where(filter)
          val kept = keptFiles(found)
          val without = withoutSkipping(inConf(pushdown)(bag(found)))
          assert(bag(found) === without, filter)
          kept
        }
        sql("CREATE ZORDER INDEX ON t").collect()
        val kept = check()
        info(s"$isText $values: $kept")
        fails("ZORDER_INCOMPATIBLE_SCHEMAS", "STRING in the catalog but BINARY")(
          sql("OPTIMIZE t FULL ZORDER BY (s)").collect())
        // the same files as bytes
        for (filter <- Seq("s = x'c3'", "s > x'62'", "s < x'5b'")) {
          val bytes = spark.read.schema("id BIGINT, s BINARY").parquet(dir.getPath).where(filter)
          assert(
            bytes.selectExpr("hex(s)").collect().toSet ===
              withoutSkipping(bytes.selectExpr("hex(s)").collect().toSet),
            filter)
        }
      }
    }
  }

  test("keys of another type") {
    for (threshold <- Seq("10MB", "-1")) {
      inConf("spark.sql.autoBroadcastJoinThreshold" -> threshold) {
        spark.range(100).selectExpr("cast(id * 100 as double) x", "id").write.mode("overwrite")
          .saveAsTable("keys_of_doubles")
        val df = sql(
          "SELECT o.* FROM orders o JOIN keys_of_doubles k ON o.wide = k.x WHERE k.id IN (15, 16)")
        val rows = bag(df)
        assert(rows === withoutSkipping(bag(df)))
        assert(rows.nonEmpty)
      }
    }
  }
}
