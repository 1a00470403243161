package io.sparkzorder.skipping

import java.io.File
import java.net.URI

import scala.util.Random

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.functions.{input_file_name, max}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.RandomInputs

/**
 * The index against Spark itself: of every file in which Spark finds a matching row, the index must say
 * that it has to be read. Schemas, values, zones, writers' settings and predicates are random; the
 * index is complete, stale or partial. The system property `sparkzorder.test.pairs` asks for more.
 */
class SkippingFuzzSuite extends SkippingTestBase with RandomInputs {
  private val pairs = sys.props.get("sparkzorder.test.pairs").fold(2000)(_.toInt)
  private val perTable = 200

  private val zones = Seq("UTC", "America/Los_Angeles", "Asia/Kathmandu", "Africa/Monrovia")

  /** For each predicate, the names of the files with a row for which it is true: one query for all. */
  private def filesWithRows(df: DataFrame, predicates: Seq[Column]): Seq[Set[String]] = {
    val named = predicates.zipWithIndex.map { case (p, i) => p.as(s"p$i") }
    val perFile = df.select((input_file_name().as("file") +: named): _*)
      .groupBy("file").agg(max("p0"), predicates.indices.tail.map(i => max(s"p$i")): _*).collect()
    predicates.indices.map { i =>
      perFile.filter(r => !r.isNullAt(i + 1) && r.getBoolean(i + 1))
        .map(r => new Path(new URI(r.getString(0))).getName).toSet
    }
  }

  /** Predicates as the optimizer hands them to a scan, though not pushed there. */
  private def optimized(df: DataFrame, predicates: Seq[Column]): (Scan, Seq[Expression]) = {
    val named = predicates.zipWithIndex.map { case (p, i) => p.as(s"p$i") }
    val plan = df.select(named: _*).queryExecution.optimizedPlan
    val expressions = plan match {
      case p: Project => p.projectList.map {
          case Alias(e, _) => e
          case a: Attribute => a
          case other => other
        }
      case other => fail(s"not a projection: $other")
    }
    (scanOf(plan), expressions)
  }

  private var judged = 0
  private var dropped = 0

  private def check(df: DataFrame, predicates: Seq[Column]): Unit = {
    val (scan, expressions) = optimized(df, predicates)
    val truth = filesWithRows(df, predicates)
    val files = scan.files
    expressions.zip(truth).foreach { case (e, withRows) =>
      val keep = scan.narrowing(Seq(e))
      val kept = files.filter(f => keep.forall(_(f))).map(_.getPath.getName).toSet
      val lost = withRows -- kept
      assert(lost.isEmpty, s"lost by ${e.sql}")
      judged += 1
      if (kept.size < files.size) dropped += 1
    }
  }

  /** The rows of a query with skipping are those without. */
  private def sameRows(df: DataFrame, predicate: Column): Unit = {
    def rows() = bag(df.where(predicate))
    assert(rows() === withoutSkipping(rows()), s"rows where $predicate")
  }

  private def predicates(random: Random, table: RandomTable, mayFail: Boolean): Seq[Column] = {
    val make = new RandomPredicate(random, table.columns, mayFail)
    Seq.fill(perTable)(SparkLine.column(make.next()))
  }

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
        sql(s"CREATE ZORDER INDEX ON '$dir'").collect()
        spoil(random, dir, table)
        val df = spark.read.schema(table.schema).parquet(dir.getPath)
        val some = predicates(random, table, mayFail = !ansi)
        check(df, some)
        some.take(3).foreach(sameRows(df, _))
      }
    }
  }

  /** Makes the index stale or partial, or leaves it as it is. */
  private def spoil(random: Random, dir: File, table: RandomTable): Unit = {
    val session = SparkLine.session(spark)
    random.nextInt(4) match {
      case 0 => table.frame(session, 2).write.mode("append").parquet(dir.getPath)
      case 1 =>
        val from = dataFiles(dir)
        val (a, b) = (new File(dir, from.head.name), new File(dir, from(1).name))
        new File(dir, s".${a.getName}.crc").delete()
        java.nio.file.Files.copy(
          b.toPath,
          a.toPath,
          java.nio.file.StandardCopyOption.REPLACE_EXISTING)
        a.setLastModified(a.lastModified + 7000)
      case 2 =>
        val _ = storeOf(dir).update { before =>
          (io.sparkzorder.index.IndexContent.select(before.get._2, _ % 2 == 0), None)
        }
      case _ =>
    }
  }

  test(s"no file with a matching row is let go: $pairs pairs of table and predicate") {
    withRandom { random =>
      val rounds = math.max(1, pairs / perTable)
      for (r <- 1 to rounds) {
        // a seed of its own, so that a failing round can be had alone
        val seed = random.nextLong()
        withClue(s"round $r, seed $seed: ")(round(new Random(seed), ansi = r % 2 == 0))
      }
      info(s"$judged predicates, $dropped of which let files go")
      assert(judged >= rounds * perTable)
      assert(dropped > judged / 5)
    }
  }

  test("an index that says something wrong is noticed") {
    withRandom { random =>
      withTableDir { dir =>
        val table = new RandomTable(random)
        inConf(
          "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
          "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED") {
          table.frame(SparkLine.session(spark), 6).write.parquet(dir.getPath)
        }
        createIndex(dir)
        rewriteIndex(dir)(v => v.copy(max = v.min))
        val lost = intercept[org.scalatest.exceptions.TestFailedException] {
          check(read(dir), predicates(random, table, mayFail = false))
        }
        assert(lost.getMessage.contains("lost by"))
      }
    }
  }

  test("CHAR and VARCHAR columns") {
    withRandom { random =>
      withTable("t") {
        sql("CREATE TABLE t (ch CHAR(4), vc VARCHAR(6), i INT) USING parquet")
        def word(n: Int) = "'" + Seq.fill(random.nextInt(n + 1))("ab ").mkString
          .take(random.nextInt(n + 1)) + "'"
        for (_ <- 1 to 6) {
          val rows = Seq.fill(3)(s"(${word(4)}, ${word(6)}, ${random.nextInt(9)})")
          sql(s"INSERT INTO t VALUES ${rows.mkString(", ")}")
        }
        // as an engine without padding writes CHAR
        val raw = sql("SELECT 'ab' ch, 'ab' vc, 1 i UNION ALL SELECT 'a', 'b ', 2")
        raw.coalesce(1).write.mode("append").parquet(locationOf("t").getPath)
        sql("REFRESH TABLE t")
        sql("CREATE ZORDER INDEX ON t").collect()
        val some = Seq.fill(60) {
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
          inConf("spark.sql.readSideCharPadding" -> padding) {
            check(spark.table("t"), some.map(org.apache.spark.sql.functions.expr(_)))
          }
        }
      }
    }
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
          some.map(org.apache.spark.sql.functions.expr(_)))
      }
    }
  }
}
