// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File

import scala.util.Random

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.index.IndexParts
import io.sparkzorder.index.WholeGenerations._
import io.sparkzorder.index.values.{PostingsFormat, PostingsReader, ValueDomain}

/**
 * Schemas, values, zones, writers' settings and predicates are random; the index is complete, stale,
 * partial or missing; ANSI is on in half of the rounds. The system property `sparkzorder.test.pairs` asks
 * for more pairs, as `make torture-skipping` does.
 */
class SkippingFuzzSuite extends SkippingFuzzBase {
  private val quick = 50
  private val pairs = sys.props.get("sparkzorder.test.pairs").fold(1000)(_.toInt)
  // few tables would say little, and many take their time
  private val perTable = math.min(500, pairs / 20)
  private val wholeQueries = 3
  private val shadowedQueries = 15

  private val zones = Seq("UTC", "America/Los_Angeles", "Asia/Kathmandu", "Africa/Monrovia")

  private def pick[T](random: Random, values: T*): T = values(random.nextInt(values.size))

  private def round(random: Random, ansi: Boolean): Unit = withTableDir { dir =>
    val settings = Seq(
      "spark.sql.ansi.enabled" -> ansi.toString,
      "spark.sql.session.timeZone" -> pick(random, zones: _*),
      "spark.sql.parquet.outputTimestampType" ->
        pick(random, "INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"),
      "spark.sql.parquet.datetimeRebaseModeInWrite" -> pick(random, "CORRECTED", "LEGACY"),
      "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED",
      "spark.sql.parquet.datetimeRebaseModeInRead" -> "CORRECTED",
      "spark.sql.parquet.writeLegacyFormat" -> random.nextBoolean().toString)
    inConf(settings: _*) {
      val session = SparkLine.session(spark)
      val table = new RandomTable(random)
      withClue(s"${table.schema.sql} $settings ") {
        table.frame(session, 8).write.parquet(dir.getPath)
        // some files lack columns
        table.frame(session, 2).drop(pick(random, "c0", "c1"), pick(random, "c2", "s"))
          .write.mode("append").parquet(dir.getPath)
        val isShadowed = random.nextInt(4) == 0
        // fingerprints that collide cost files, never rows
        PostingsFormat.withFingerprints(if (random.nextBoolean()) 4 else 31) {
          // of named columns, the values are read where NaN hides the bounds
          val named =
            if (random.nextBoolean()) s" (${table.columns.map(_.name).mkString(", ")})" else ""
          sql(s"CREATE ZORDER INDEX ON '$dir'$named${valuesOf(random, table)}").collect()
          if (isShadowed) shadowed(random, dir, table)
          if (random.nextInt(3) == 0) refreshed(random, dir, table)
        }
        spoil(random, dir, table)
        val df = spark.read.schema(table.schema).parquet(dir.getPath)
        val some = predicates(random, table, perTable)
        // the test lists the files that everybody sees
        if (!isShadowed) check(df, some)
        some.take(if (isShadowed) shadowedQueries else wholeQueries).foreach(sameRows(df, _))
      }
    }
  }

  /** Lays the rows out beside the files: queries read hidden files from now on. */
  private def shadowed(random: Random, dir: File, table: RandomTable): Unit = {
    val column = pick(random, "c0", "c3", "c4")
    sql(s"OPTIMIZE '$dir' ZORDER BY ($column) OPTIONS ('publish' 'shadow', 'targetFileSize' '2k')")
      .collect()
    def rows() = bag(spark.read.schema(table.schema).parquet(dir.getPath))
    assert(rows() === withoutExtension(rows()))
  }

  /** Asks for the values of columns at random. */
  private def valuesOf(random: Random, table: RandomTable): String = {
    val columns = table.columns.filter(c =>
      !c.name.contains(".") && ValueDomain.of(c.dataType).isDefined && random.nextInt(4) > 0)
    if (columns.isEmpty) ""
    else s" OPTIONS ('values' '${columns.map(_.name).mkString(", ")}')"
  }

  /** Makes an index of two parts: some files are new, and one may be another file now. */
  private def refreshed(random: Random, dir: File, table: RandomTable): Unit = {
    table.frame(SparkLine.session(spark), 1).write.mode("append").parquet(dir.getPath)
    if (random.nextBoolean()) {
      val from = dataFiles(dir)
      overwrite(dir, from.head.name, by = from(1).name)
    }
    IndexParts.withoutSmall(sql(s"REFRESH ZORDER INDEX ON '$dir'").collect())
  }

  /** Makes the index stale or partial, removes it, or leaves it as it is. */
  private def spoil(random: Random, dir: File, table: RandomTable): Unit = {
    val session = SparkLine.session(spark)
    random.nextInt(9) match {
      case 0 | 1 => table.frame(session, 2).write.mode("append").parquet(dir.getPath)
      case 2 | 3 =>
        val from = dataFiles(dir)
        overwrite(dir, from.head.name, by = from(1).name)
      case 4 | 5 =>
        val _ = storeOf(dir).update { before =>
          (io.sparkzorder.index.IndexContent.select(before.get._2, _ % 2 == 0), None)
        }
      case 6 => sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      case _ =>
    }
  }

  // Spark's suites give a test 20 minutes
  private val parts = math.max(1, pairs / 20000)

  private def judge(until: Int, part: Int): Unit =
    judgeUntil(until, part) { (r, random) =>
      if (r % 10 == 0) charRound(random, ansi = r % 20 == 0)
      else round(random, ansi = r % 2 == 0)
    }

  test(s"no file with a matching row is let go: $quick pairs of table and predicate") {
    judge(quick, 1)
  }

  (1 to parts).foreach { part =>
    test(
      s"no file with a matching row is let go: $pairs pairs of table and predicate, part $part",
      Slow) {
      judge(judged + pairs / parts, part)
      info(s"${PostingsReader.reads._1} reads of indexed values")
      assert(PostingsReader.reads._1 > 0)
      Seq("literal NaN", "literal -0.0", "literal infinity", "literal before 1900", "in with null")
        .foreach(kind => assert(constructs(kind) > 0, kind))
    }
  }

  test("an index that says something wrong is noticed") {
    withRandom { random =>
      withTableDir { dir =>
        val table = new RandomTable(random)
        writingOldDates {
          table.frame(SparkLine.session(spark), 6).write.parquet(dir.getPath)
        }
        createIndex(dir)
        rewriteIndex(dir)(v => v.copy(max = v.min))
        val lost = intercept[org.scalatest.exceptions.TestFailedException] {
          check(read(dir), predicates(random, table, perTable / 2))
        }
        assert(lost.getMessage.contains("lost by"))
      }
    }
  }

  /** CHAR and VARCHAR columns, which exist in tables of the catalog alone. */
  private def charRound(random: Random, ansi: Boolean): Unit = withTable("t") {
    sql("CREATE TABLE t (ch CHAR(4), vc VARCHAR(6), i INT) USING parquet")
    def word(n: Int) = "'" + Seq.fill(random.nextInt(n + 1))(pick(random, "ab ", "é", "a")).mkString
      .take(random.nextInt(n + 1)) + "'"
    // six files of three rows
    val rows = Seq.fill(18)(s"(${word(4)}, ${word(6)}, ${random.nextInt(9)})")
    sql(s"INSERT INTO t SELECT /*+ REPARTITION(6) */ * FROM VALUES ${rows.mkString(", ")}")
    // as an engine without padding writes CHAR
    val raw = sql("SELECT 'ab' ch, 'ab' vc, 1 i UNION ALL SELECT 'a', 'b ', 2")
    raw.coalesce(1).write.mode("append").parquet(locationOf("t").getPath)
    sql("REFRESH TABLE t")
    sql("CREATE ZORDER INDEX ON t").collect()
    val some = Seq.fill(math.min(perTable, 100) / 2) {
      val c = pick(random, "ch", "vc")
      val op = pick(random, "=", "<", ">=", "!=", "<=>")
      val leaf = pick(
        random,
        s"$c $op ${word(5)}",
        s"$c IN (${word(4)}, ${word(4)})",
        s"$c LIKE 'a%'",
        s"$c IS NULL")
      pick(random, leaf, s"NOT ($leaf)", s"$leaf AND i < ${random.nextInt(9)}")
    }
    for (padding <- Seq("true", "false")) {
      inConf(
        "spark.sql.readSideCharPadding" -> padding,
        "spark.sql.ansi.enabled" -> ansi.toString) {
        val predicates = some.map(expr(_))
        // their plans differ as filters and as columns of a result
        check(spark.table("t"), predicates, filtered = 2)
        predicates.take(wholeQueries).foreach(sameRows(spark.table("t"), _))
      }
    }
  }

  test("CHAR and VARCHAR columns") {
    withRandom(random => charRound(random, ansi = false))
  }

  test("files of a narrower type than the table's") {
    assume(SparkLine.readsWidened)
    withRandom { random =>
      withTableDir { dir =>
        val narrow = "i INT, f FLOAT, m DECIMAL(9,2)"
        val wide = "i BIGINT, f DOUBLE, m DECIMAL(22,2)"
        for (k <- 1 to 6) {
          val from = random.nextInt(1000) - 500
          val frame = spark.range(from, from + 20L)
            .selectExpr("id", "id / 3 x").selectExpr("id i", "x f", "x m")
          val types = StructType.fromDDL(if (k % 2 == 0) narrow else wide)
          val cast = types.map(t => s"cast(${t.name} as ${t.dataType.sql}) ${t.name}")
          frame.selectExpr(cast: _*).coalesce(1).write.mode("append").parquet(dir.getPath)
        }
        createIndex(dir)
        val some = Seq.fill(100) {
          val c = pick(random, "i", "f", "m")
          s"$c ${pick(random, "=", "<", ">", "<=>")} ${random.nextInt(1200) - 600}" +
            pick(random, "", ".33BD", "d")
        }
        check(
          spark.read.schema(wide).parquet(dir.getPath),
          some.map(expr(_)))
      }
    }
  }
}
