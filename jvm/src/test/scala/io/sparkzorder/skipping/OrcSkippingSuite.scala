// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.time.LocalDate
import java.util.TimeZone

import scala.util.Random

import org.apache.hadoop.fs.Path
import org.apache.hadoop.hive.ql.exec.vector.{DateColumnVector, TimestampColumnVector}
import org.apache.orc.{OrcFile, TypeDescription}
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.OrcTables

/** The index of tables of ORC files, whose footers say less than they seem to. */
class OrcSkippingSuite extends SkippingFuzzBase with OrcTables {
  private val pairs = 1500
  private val zones = Seq("UTC", "America/Los_Angeles", "Asia/Kathmandu", "Pacific/Apia")

  private def inZone[T](zone: String)(body: => T): T = {
    val before = TimeZone.getDefault
    TimeZone.setDefault(TimeZone.getTimeZone(zone))
    try body
    finally TimeZone.setDefault(before)
  }

  test(s"no file with a matching row is let go: $pairs pairs, clocks of three zones", Slow) {
    judgeUntil(pairs)((round, random) => one(random, ansi = round % 2 == 0))
  }

  private def one(random: Random, ansi: Boolean): Unit = withTableDir { dir =>
    // values are written, indexed and read where clocks differ
    val Seq(writer, indexer, reader) =
      if (random.nextInt(3) == 0) Seq.fill(3)(zones(random.nextInt(zones.size)))
      else Seq.fill(3)(zones.head)
    withSQLConf("spark.sql.ansi.enabled" -> ansi.toString) {
      val session = SparkLine.session(spark)
      val table = new RandomTable(random)
      withClue(s"${table.schema.sql} $writer $indexer $reader ") {
        inZone(writer) {
          table.frame(session, 8).write.orc(dir.getPath)
          // Spark compares types of timestamps by the positions of columns, so only the last may lack
          val lacking = Seq("c5", "s").drop(random.nextInt(2))
          table.frame(session, 2).drop(lacking: _*).write.mode("append").orc(dir.getPath)
        }
        inZone(indexer)(sql(s"CREATE ZORDER INDEX ON orc.`$dir`").collect())
        inZone(reader) {
          val df = spark.read.schema(table.schema).orc(dir.getPath)
          val some = predicates(random, table, 100)
          check(df, some)
          some.take(3).foreach(sameRows(df, _))
        }
      }
    }
  }

  test("a NaN hides values from ORC's bounds: such files are always read") {
    withTableDir { dir =>
      // a stride that begins with NaN has no bounds, and its other values get into none above
      val strides = "orc.row.index.stride" -> "1000"
      withSQLConf(strides) {
        spark.range(0, 2000, 1, 1)
          .selectExpr(
            "if(id = 1000, double('NaN'), if(id < 1000, 1D, 100D)) d").write.orc(dir.getPath)
      }
      write(spark.range(0, 10, 1, 1).selectExpr("2D d"), dir)
      // the trap is there: by its statistics the file has no 100
      val says = orcFiles(dir).map(withOrc(_)(_.getStatistics()(1)
        .asInstanceOf[org.apache.orc.DoubleColumnStatistics].getMaximum))
      info(s"greatest values as the files have it: $says")
      createOrcIndex(dir)
      val hidden = read(dir).where("d = 100")
      assert(hidden.count() === 999)
      assert(keptFiles(hidden) === 1)
      assert(keptFiles(read(dir).where("d = 7")) === 1)
      assert(keptFiles(read(dir).where("d > 50")) === 1)
    }
  }

  private def createOrcIndex(dir: java.io.File): Unit = {
    val _ = sql(s"CREATE ZORDER INDEX ON orc.`$dir`").collect()
  }

  test("long strings, bytes that are no text, -0.0, dates before 1582") {
    withTableDir { dir =>
      def row(e: String) = write(spark.range(1).selectExpr(e), dir)
      row("concat(repeat('x', 2000), 'a') s")
      row("concat(repeat('x', 2000), 'b') s")
      row("cast(x'ff41' AS STRING) s")
      row("'plain' s")
      createOrcIndex(dir)
      Seq("repeat('x', 2000) || 'b'", "cast(x'ff41' AS STRING)", "'plain'", "'zzz'").foreach { v =>
        assert(keptFiles(read(dir).where(s"s = $v")) <= 3)
      }
      assert(keptFiles(read(dir).where("s > 'xz'")) >= 1)
    }
    withTableDir { dir =>
      write(spark.range(1).selectExpr("-0.0D d", "date'1500-03-01' t"), dir)
      write(spark.range(1).selectExpr("5D d", "date'2020-03-01' t"), dir)
      createOrcIndex(dir)
      assert(keptFiles(read(dir).where("d = 0.0D")) === 1)
      // what calendars count differently is always read
      assert(keptFiles(read(dir).where("t = date'1500-03-01'")) === 1)
      assert(keptFiles(read(dir).where("t = date'2020-03-01'")) === 2)
    }
  }

  test("dates and times before 1582 in files of both calendars, rewritten and pruned", Slow)(
    checkCalendars("false", "true", Seq(true, false), isWhole = false))

  test("dates and times before 1582: other settings, and files of one calendar", Slow) {
    for {
      session <- Seq("false", "true")
      vectorized <- Seq("true", "false")
      calendars <- Seq(Seq(true), Seq(false), Seq(true, false))
    } checkCalendars(session, vectorized, calendars, isWhole = true)
  }

  private def checkCalendars(
      session: String,
      vectorized: String,
      calendars: Seq[Boolean],
      isWhole: Boolean): Unit = {
    // The first exists in the Julian calendar alone, and those from 1582-10-05 on in the Gregorian calendar
    // alone. Where the setting is true, ORC converts such a day to another day and back.
    val single =
      if (session == "true") Seq("1500-05-01", "1582-09-01")
      else Seq("1500-02-29", "1582-10-10", "1582-10-04")
    val written =
      if (isWhole) Seq("1000-01-01", "1582-10-15", "2020-01-01") ++ single
      else Seq("1000-01-01", "2020-01-01", single.head)
    val days = written.map {
      case "1500-02-29" => LocalDate.of(1500, 3, 1).toEpochDay
      case l => LocalDate.parse(l).toEpochDay
    }
    withSQLConf(
      "orc.proleptic.gregorian" -> session,
      "spark.sql.orc.enableVectorizedReader" -> vectorized) {
      withTableDir { dir =>
        assert(dir.mkdirs())
        for (proleptic <- calendars; (day, i) <- days.zipWithIndex) {
          calendarFile(new java.io.File(dir, s"$proleptic-$i.orc"), proleptic, Seq(day, day + 1))
        }
        def labels: Seq[Row] = {
          val all =
            read(dir).selectExpr("string(d) d", "string(t) t").distinct().sort("d", "t").collect()
          if (isWhole) all.toSeq else all.indices.by(3).map(all(_))
        }
        val values = labels
        def check(): Unit = for {
          r <- values
          op <- if (isWhole) Seq("=", "<", ">=") else Seq("=")
          filter <- Seq(s"d $op date'${r.getString(0)}'", s"t $op timestamp'${r.getString(1)}'")
        } {
          val found = read(dir).where(filter)
          keptFiles(found)
          if (op == "=") assert(bag(found) === withoutSkipping(bag(found)), filter)
        }
        createOrcIndex(dir)
        check()
        // another session may have another setting than the session of the index
        for (other <- Seq("true", "false")) withSQLConf("orc.proleptic.gregorian" -> other) {
          for (r <- labels) {
            keptFiles(read(dir).where(s"d = date'${r.getString(0)}'"))
          }
        }
        val rows = bag(read(dir))
        withClue(s"$session $vectorized $calendars ") {
          // other writers than Spark may write nanoseconds
          val options = s"OPTIONS ('allowTypeChange' 'true', ${sizeFor(dir, 3)})"
          optimizeOrc(dir, s"FULL ZORDER BY (d) $options")
          assert(bag(read(dir)) === rows)
          check()
        }
      }
    }
  }

  /** One file by ORC's own writer, whose days count in one of the calendars. */
  private def calendarFile(file: java.io.File, isProleptic: Boolean, days: Seq[Long]): Unit = {
    val schema = TypeDescription.fromString("struct<id:int,d:date,t:timestamp>")
    val options = OrcFile.writerOptions(spark.sessionState.newHadoopConf()).setSchema(schema)
      .setProlepticGregorian(isProleptic)
    val writer = OrcFile.createWriter(new Path(null, null, file.getPath), options)
    val batch = schema.createRowBatch()
    batch.size = days.size
    val dates = batch.cols(1).asInstanceOf[DateColumnVector]
    val times = batch.cols(2).asInstanceOf[TimestampColumnVector]
    dates.changeCalendar(isProleptic, false)
    times.changeCalendar(isProleptic, false)
    days.zipWithIndex.foreach { case (day, i) =>
      dates.vector(i) = day
      times.time(i) = day * 86400000L + 3600000L
      times.nanos(i) = 0
    }
    writer.addRowBatch(batch)
    writer.close()
  }

  test("CHAR: values are found with their padding and without, by a table and by its files", Slow) {
    withTable("t") {
      sql("CREATE TABLE t (c CHAR(5), i INT) USING orc")
      Seq("a", "ab ", "a\\u0001", "ä", "").zipWithIndex.foreach { case (v, i) =>
        sql(s"INSERT INTO t VALUES ('$v', $i)")
      }
      sql("CREATE ZORDER INDEX ON t").collect()
      for {
        df <- Seq(spark.table("t"), read(locationOf("t")))
        padded <- Seq("true", "false")
        op <- Seq("=", "<", ">", "<=>", ">=")
        v <- Seq("a", "ab", "ab   ", "a    ", "", "ä", "b", "a\\u0001")
      } withSQLConf("spark.sql.readSideCharPadding" -> padded) {
        keptFiles(df.where(s"c $op '$v'"))
      }
      optimize("OPTIMIZE t ZORDER BY (c)", locationOf("t"))(spark.table("t"))
    }
  }

  test("a column by its position has nothing to do with the index") {
    withTableDir { dir =>
      write(spark.range(10).selectExpr("id a", "id + 100 b"), dir)
      write(spark.range(10).selectExpr("id + 50 a", "id + 150 b"), dir)
      createOrcIndex(dir)
      val swapped = spark.read.schema("b BIGINT, a BIGINT").orc(dir.getPath)
      assert(swapped.where("b = 105").count() === 1)
      withSQLConf("orc.force.positional.evolution" -> "true") {
        assert(swapped.where("b = 5").count() === 1)
        assert(swapped.where("a = 155").count() === 1)
      }
    }
  }

  test("OPTIMIZE keeps the index; point queries read few files") {
    withTableDir { dir =>
      write(shuffled(8000, 8), dir)
      optimizeOrc(dir, s"ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 16)})")
      val files = dataFiles(dir).size
      val kept = keptFilesEach(read(dir), (0 until 1000 by 97).map(v => s"a = $v"))
      info(s"$files files, kept for points: $kept")
      assert(kept.sum.toDouble / kept.size < 0.4 * files)
      assert(keptFiles(read(dir).where("a = 5 AND b = 7")) <= 3)
      val shown = sql(s"SHOW SKIPPING FOR SELECT * FROM orc.`$dir` WHERE a = 5").head()
      assert(shown.getAs[Boolean]("used"))
      assert(shown.getAs[Long]("filesKept") < shown.getAs[Long]("files"))
      write(shuffled(100, 1), dir)
      val refreshed = sql(s"REFRESH ZORDER INDEX ON orc.`$dir`").head()
      assert(refreshed.getAs[Long]("filesRead") === 1)
      sql(s"UNDO LAYOUT orc.`$dir`").collect()
      val all = read(dir).where("a = 5")
      assert(keptFiles(all) >= 1)
    }
  }
}
