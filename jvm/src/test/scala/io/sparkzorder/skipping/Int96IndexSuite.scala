// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.errors.ZOrderException
import io.sparkzorder.index.{IndexReader, Int96Leaf}

/** INT96 columns: what is said without their values, and files pruned by values that were read. */
class Int96IndexSuite extends SkippingTestBase {

  /** Ten days in each file, from a year on. The last file has only NULLs. */
  private def write(dir: File, years: Int*): Unit =
    inConf("spark.sql.parquet.outputTimestampType" -> "INT96") {
      val frames = years.map { y =>
        spark.range(0, 200).selectExpr(
          s"make_timestamp($y, 1, 1, 10, 0, 0.123456) + make_dt_interval(cast(id % 10 as int)) t",
          "named_struct('x', id, 't', if(id % 3 = 0, null, " +
            s"make_timestamp($y, 6, 1, 0, 0, 0))) n",
          "id")
      }
      val nulls = spark.range(3).selectExpr(
        "cast(null as timestamp) t",
        "named_struct('x', id, 't', cast(null as timestamp)) n",
        "id")
      filesOf(dir, frames :+ nulls: _*)
    }

  private def createReading(dir: File): Unit = {
    val _ = sql(s"CREATE ZORDER INDEX ON '$dir' OPTIONS ('int96' 'read')").collect()
  }

  private def readsInt96(dir: File): Boolean =
    new IndexReader(storeOf(dir).generations().head, spark.sessionState.newHadoopConf())
      .header.readsInt96

  private val predicates = Seq(
    "t = timestamp'2021-01-05 10:00:00.123456'" -> 1,
    "t < timestamp'2021-01-01 10:00:00.123456'" -> 1,
    "t > timestamp'2022-01-10 10:00:00.123455'" -> 1,
    "t > timestamp'2022-01-10 10:00:00.123456'" -> 0,
    "year(t) = 2021" -> 1,
    "n.t >= timestamp'2021-06-01'" -> 2,
    "n.t IS NULL" -> 4,
    "t IS NULL" -> 1)

  test("without the option only NULLs prune, and SHOW SKIPPING says why") {
    withTableDir { dir =>
      write(dir, 2020, 2021, 2022)
      createIndex(dir)
      val df = read(dir)
      assert(keptFiles(df.where("t = timestamp'2021-01-05 10:00:00.123456'")) === 3)
      assert(keptFiles(df.where("t IS NULL")) === 1)
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      dataFiles(dir).foreach(f => new File(dir, f.name).delete())
      inConf("spark.sql.parquet.outputTimestampType" -> "INT96")(filesOf(
        dir,
        sql("SELECT timestamp'2020-01-01 00:00:00' t"),
        sql("SELECT timestamp'2021-01-01 00:00:00' t")))
      createIndex(dir)
      val reasons = sql(s"SHOW SKIPPING FOR SELECT * FROM parquet.`$dir` WHERE year(t) = 2020")
        .collect().mkString
      assert(
        reasons.contains("files store t as INT96") && reasons.contains("OPTIONS ('int96' 'read')"))
    }
  }

  test("with the option the values prune, also after REFRESH and OPTIMIZE") {
    withTableDir { dir =>
      write(dir, 2020, 2021, 2022)
      createReading(dir)
      assert(readsInt96(dir))
      predicates.zip(keptFilesEach(read(dir), predicates.map(_._1))).foreach {
        case ((p, n), found) => assert(found === n, p)
      }
      write(dir, 2023)
      val refreshed = sql(s"REFRESH ZORDER INDEX ON '$dir'").head()
      assert(refreshed.getLong(5) === 2L)
      assert(keptFiles(read(dir).where("year(t) = 2023")) === 1)
      sql(s"OPTIMIZE '$dir' ZORDER BY (id) OPTIONS ('timestampType' 'preserve')").collect()
      // the statistics of the new files come from footers; REFRESH reads their values
      assert(readsInt96(dir))
      matching(read(dir).where("year(t) = 2023"))
      assert(sql(s"REFRESH ZORDER INDEX ON '$dir'").head().getLong(5) > 0L)
      assert(sql(s"REFRESH ZORDER INDEX ON '$dir'").head().getLong(5) === 0L)
      assert(keptFiles(read(dir).where("t > timestamp'2030-01-01'")) === 0)
    }
  }

  test("in each mode of rebasing and each zone the rows are those without the index", Slow) {
    for {
      write <- Seq("CORRECTED", "LEGACY")
      zone <- Seq("UTC", "America/Los_Angeles")
    } withTableDir { dir =>
      inConf(
        "spark.sql.parquet.int96RebaseModeInWrite" -> write,
        "spark.sql.session.timeZone" -> zone) {
        this.write(dir, 1000, 1582, 1883, 1899, 1900, 1950, 2024)
      }
      createReading(dir)
      for {
        (mode, shift) <- Seq("CORRECTED" -> "true", "LEGACY" -> "false")
        other <- Seq("America/Los_Angeles", "Asia/Kathmandu")
        year <- Seq(1582, 1899, 1900, 2024)
      } inConf(
        "spark.sql.parquet.int96RebaseModeInRead" -> mode,
        "spark.sql.parquet.int96TimestampConversion" -> shift,
        "spark.sql.session.timeZone" -> other) {
        val kept = keptFiles(read(dir).where(s"year(t) = $year"))
        if (year > 1950 && write == "CORRECTED") assert(kept === 1)
      }
    }
  }

  test("a function of a column that only some files have bounds of") {
    withTableDir { dir =>
      inConf("spark.sql.parquet.int96RebaseModeInWrite" -> "LEGACY")(write(dir, 1582, 2024))
      createReading(dir)
      for (filter <- Seq("year(t) = 1582", "year(t) < 1700", "year(t) > 2020")) {
        assert(keptFiles(read(dir).where(filter)) > 0)
      }
      // the files with bounds are left out
      write(dir, 2020)
      sql(s"REFRESH ZORDER INDEX ON '$dir'").collect()
      assert(keptFiles(read(dir).where("year(t) = 2020")) === 2)
    }
  }

  test("files of writers without a mark: old times have no bounds, since readers differ") {
    withTableDir { dir =>
      writingOldDates(write(dir, 1899, 2024))
      createReading(dir)
      val stored = storeOf(dir).generations().head
      val content = new IndexReader(stored, spark.sessionState.newHadoopConf()).content()
      assert(!content.columns.exists(_._1.leafType == Int96Leaf))
    }
  }

  test("OPTIONS of CREATE INDEX take int96 alone, and REFRESH takes none") {
    withTableDir { dir =>
      write(dir, 2024)
      val unknown = intercept[ZOrderException](
        sql(s"CREATE ZORDER INDEX ON '$dir' (id) OPTIONS (verify full)").collect())
      assert(unknown.getMessage.contains("verify"))
      val wrong = intercept[ZOrderException](
        sql(s"CREATE ZORDER INDEX ON '$dir' OPTIONS ('int96' 'skip')").collect())
      assert(wrong.getMessage.contains("it must be read"))
      intercept[Exception](sql(s"REFRESH ZORDER INDEX ON '$dir' OPTIONS ('int96' 'read')"))
      sql(s"CREATE ZORDER INDEX IF NOT EXISTS ON '$dir' id, t OPTIONS (INT96 read)").collect()
      assert(keptFiles(read(dir).where("year(t) = 2023")) === 0)
    }
  }
}
