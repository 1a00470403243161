// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File
import java.util.{Timer, TimerTask}

import scala.collection.mutable
import scala.util.{Failure, Random, Success, Try}
import scala.util.hashing.byteswap64

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.functions.{col, expr}

import io.sparkzorder.RandomInputs
import io.sparkzorder.skipping.scan.{IndexPruning, RuntimePruningScan}

/**
 * Random queries with joins and subqueries ([[RandomJoins]]) over large tables with an index and small tables: the rows
 * are the rows of the same query without skipping. Queries that fail without skipping are left out.
 *
 * The system property `sparkzorder.test.pairs` asks for more queries, as `make torture-skipping` does.
 */
class DynamicFuzzSuite extends StarTestBase with RandomInputs {
  private val more = sys.props.get("sparkzorder.test.pairs").fold(60)(_.toInt / 100)
  private val perTables = 40
  private val MostFailures = 12

  override protected def codegen: Boolean = false

  private val small = Seq("few", "sparse", "none", "one", "edges", "spread")

  // what the queries so far have come to
  private var done = 0
  private var pruned = 0
  private var refused = 0
  private val failures = mutable.Buffer.empty[String]

  // ---- tables

  private def largeRows: String = select(
    "range(0, 240, 1, 24)",
    "id",
    13,
    Map(
      "d" -> "cast(id + (id % 4) / 4 AS DECIMAL(12, 2))",
      "db" -> ("CASE WHEN id % 60 = 0 THEN IF(id % 120 = 0, -0.0D, 0.0D) " +
        "WHEN id % 97 = 5 THEN double('NaN') ELSE double(id) END"),
      "fl" -> "IF(id % 90 = 3, float('NaN'), IF(id % 60 = 0, float('-0.0'), float(id)))",
      "ts" -> "cast(date_add(date'2024-01-01', int(id)) AS TIMESTAMP) + make_interval(0, 0, 0, 0, id % 3)"))

  /** @param nulls one of so many values is NULL */
  private def select(
      from: String,
      n: String,
      nulls: Int,
      others: Map[String, String] = Map.empty): String = {
    val columns = RandomJoins.Kinds.filter(_ != "x").map { k =>
      s"IF(pmod(hash(id, '$k'), $nulls) = 0, NULL, ${others.getOrElse(k, RandomJoins.valueOf(k, n))}) $k"
    }
    s"SELECT ${columns.mkString(", ")} FROM $from"
  }

  /** The ends of the types, and values that are equal but differ. */
  private val edges = Seq(
    "i" -> "0, -1, 2147483647, -2147483648",
    "l" -> "0, 700L, 9223372036854775807L, -9223372036854775808L",
    "d" -> "0, 5.00, 9999999999.99, -9999999999.99",
    "s" -> "'', '0005', ' 12', 'é'",
    "dt" -> "date'2024-01-01', date'0001-01-01', date'9999-12-31', date'1970-01-01'",
    "ts" -> "timestamp'2024-01-05', timestamp'1970-01-01', timestamp'9999-12-30', timestamp'1900-01-01'",
    "tn" -> "timestamp_ntz'2024-01-05', timestamp_ntz'1970-01-01', timestamp_ntz'9999-12-30', NULL",
    "fl" -> "float('NaN'), float('-0.0'), float(0), float('Infinity')",
    "db" -> "double('NaN'), -0.0D, 0.0D, double('-Infinity')",
    "b" -> "X'', X'FF', X'30303035', X'00'",
    "bo" -> "true, false, NULL, true",
    "st" -> ("named_struct('x', 5, 'y', '0005'), named_struct('x', NULL, 'y', '0007'), NULL, " +
      "named_struct('x', 2147483647, 'y', NULL)"))

  private val edgeRows: String = {
    val columns = edges.map { case (kind, values) =>
      s"cast(element_at(array($values), int(id)) AS ${RandomJoins.typeOf(kind)}) $kind"
    }
    s"SELECT ${columns.mkString(", ")} FROM range(1, 5)"
  }

  private def rowsOfSmall(name: String, random: Random): String = {
    val first = random.nextInt(220)
    name match {
      case "few" => select("range(25)", s"($first + id)", 50)
      case "sparse" =>
        val strings = Map("s" -> s"string($first + id * 19)", "d" -> s"$first + id * 19.25")
        val rows = select("range(12)", s"($first % 40 + id * 19)", 3, strings)
        s"$rows UNION ALL $rows"
      case "none" => select("range(0)", "id", 50)
      case "one" => select("range(1)", s"($first + id)", 50)
      case "edges" => edgeRows
      case _ => select("range(60)", s"(id * 7 % 90)", 20)
    }
  }

  private def writeLarge(dir: File, random: Random): Unit = {
    val (fact, parts) = (new File(dir, "fact"), new File(dir, "parts"))
    sql(largeRows).write.parquet(fact.getPath)
    if (random.nextBoolean()) sql(edgeRows).coalesce(1).write.mode("append").parquet(fact.getPath)
    // a partition column for Spark's own pruning
    val rows = sql(largeRows).coalesce(8).withColumn("i", expr("int(coalesce(l, 0) div 30)"))
    rows.write.partitionBy("i").parquet(parts.getPath)
    Seq(fact, parts).foreach { table =>
      val values = if (random.nextInt(3) == 0) " OPTIONS ('values' 's, i')" else ""
      if (values.nonEmpty && table == fact) sql(s"CREATE ZORDER INDEX ON '$table'$values").collect()
      else createIndex(table)
      if (table == fact && random.nextInt(6) == 0) {
        sql(s"OPTIMIZE '$table' ZORDER BY (s, dt) OPTIONS ('targetFileSize' '6k')").collect()
      }
      // files that the index does not know
      if (table == fact && random.nextInt(4) == 0) {
        sql(edgeRows).coalesce(1).write.mode("append").parquet(fact.getPath)
      }
      read(table).createOrReplaceTempView(table.getName)
    }
  }

  /** The rows as a part of the plan. */
  private def local(rows: DataFrame): DataFrame =
    spark.createDataFrame(rows.collectAsList(), rows.schema)

  private def writeSmall(dir: File, name: String, random: Random): Unit = {
    val rows = sql(rowsOfSmall(name, random)).coalesce(1)
    random.nextInt(10) match {
      case 0 =>
        val writer = rows.write
        (if (random.nextBoolean()) writer.partitionBy("bo") else writer).saveAsTable(name)
      case 1 =>
        local(rows).createOrReplaceTempView(name)
      case way =>
        val path = new File(dir, name)
        rows.write.parquet(path.getPath)
        if (random.nextInt(4) == 0) createIndex(path)
        read(path).createOrReplaceTempView(name)
        if (way == 2) sql(s"CACHE TABLE $name").collect()
        if (way == 3) {
          read(path).createOrReplaceTempView(s"${name}_below")
          sql(s"CREATE OR REPLACE TEMP VIEW $name AS SELECT * FROM ${name}_below WHERE i IS NULL OR i <> 3")
            .collect()
        }
    }
  }

  private def withTables(random: Random)(body: File => Unit): Unit = withTableDir { dir =>
    val views = Seq("fact", "parts") ++ small ++ small.map(_ + "_below")
    withTable(small: _*) {
      withTempView(views: _*) {
        inConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
          writingOldDates {
            writeLarge(dir, random)
            small.foreach(writeSmall(dir, _, random))
            try body(dir)
            finally spark.catalog.clearCache()
          }
        }
      }
    }
  }

  private def settings(random: Random): Seq[(String, String)] = {
    def pick(values: String*): String = values(random.nextInt(values.size))
    def rarely(usual: Boolean) = (random.nextInt(12) == 0 ^ usual).toString
    Seq(
      "spark.sql.adaptive.enabled" -> pick("true", "false"),
      "spark.sql.autoBroadcastJoinThreshold" -> pick("-1", "40000", "40000", "10485760"),
      "spark.sql.ansi.enabled" -> pick("true", "false", "false"),
      "spark.sql.session.timeZone" -> pick("UTC", "America/Los_Angeles", "Asia/Kathmandu"),
      "spark.sql.datetime.java8API.enabled" -> pick("true", "false"),
      "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> rarely(usual = true),
      "spark.sql.exchange.reuse" -> rarely(usual = true),
      "spark.sql.constraintPropagation.enabled" -> rarely(usual = true),
      "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold" -> pick("10MB", "0"),
      "spark.sql.cbo.enabled" -> rarely(usual = false),
      "spark.sql.parquet.enableVectorizedReader" -> rarely(usual = true),
      "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly" -> rarely(usual = true),
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> pick("-1", "40000", "10485760"),
      "spark.sql.join.preferSortMergeJoin" -> rarely(usual = true),
      "spark.sql.execution.reuseSubquery" -> rarely(usual = true),
      "spark.sql.codegen.wholeStage" -> rarely(usual = false))
  }

  // ---- queries

  private val timer = new Timer(true)

  override def afterAll(): Unit =
    try super.afterAll()
    finally timer.cancel()

  /** The rows with how often each occurs. -0.0 counts as 0.0, because Spark may choose either of two equal values. */
  private def rowsOf(df: DataFrame, seconds: Int = 60): Map[Any, Int] = {
    val stop = new TimerTask { def run(): Unit = spark.sparkContext.cancelJobGroup("fuzz") }
    spark.sparkContext.setJobGroup("fuzz", "fuzz", interruptOnCancel = false)
    timer.schedule(stop, seconds * 1000L)
    try df.collect().toSeq.map(plain).groupBy(identity).map { case (r, rs) => r -> rs.size }
    finally {
      stop.cancel()
      spark.sparkContext.clearJobGroup()
    }
  }

  private def plain(v: Any): Any = v match {
    case r: Row => r.toSeq.map(plain)
    case a: Array[_] => a.toSeq
    case d: Double => (d + 0.0).toString
    case f: Float => (f + 0.0f).toString
    case other => other
  }

  private def planned(text: String): DataFrame = {
    val df = sql(text)
    df.queryExecution.executedPlan
    df
  }

  /** True if the keys of joins, or subqueries, have pruned files. */
  protected def isPruned(df: DataFrame): Boolean =
    scansOf(df).exists(_.metrics.get(RuntimePruningScan.PrunedAtRunTime).exists(_.value > 0))

  /** Runs both frames, and notes a difference. */
  private def compare(what: String, without: => DataFrame, ours: => DataFrame): Unit =
    // a join of too many rows is left out
    Try(withoutSkipping(rowsOf(without, seconds = 6))) match {
      case Failure(_) => refused += 1
      case Success(expected) =>
        done += 1
        val errors = IndexPruning.failureCount
        var frame = Option.empty[DataFrame]
        val found = Try {
          val df = ours
          frame = Some(df)
          rowsOf(df)
        }
        if (frame.exists(isPruned)) pruned += 1
        def note(kind: String): Unit = {
          val lost = expected.toSeq.diff(found.getOrElse(Map.empty).toSeq).take(3)
          val added = found.getOrElse(Map.empty).toSeq.diff(expected.toSeq).take(3)
          failures += s"$kind: $what\nlost $lost\nadded $added\n" +
            found.failed.map(e => s"${e.getClass.getName} ${e.getMessage}".take(600)).getOrElse("")
          logWarning(failures.last)
        }
        if (IndexPruning.failureCount > errors) note("the index failed")
        // some queries have no fixed result, for example if Spark may choose one of equal values
        if (found != Success(expected)) {
          if (Try(withoutSkipping(rowsOf(without))) == Success(expected)) {
            note(if (found.isFailure) "failed" else "other rows")
          } else refused += 1
        }
    }

  private def ask(random: Random, clue: String, dir: File): Unit = {
    val chosen = settings(random)
    val ansi = chosen.contains("spark.sql.ansi.enabled" -> "true")
    // some tables are asked more often
    val (larges, smalls) = (Seq("fact", "fact", "parts"), small ++ Seq("few", "sparse"))
    val depth = 1 + math.min(random.nextInt(3), random.nextInt(3))
    val text = new RandomJoins(random, larges, smalls, ansi).query(depth)
    val what = s"$clue ${chosen.map(_._2).mkString(", ")}\n$text"
    inConf(chosen: _*) {
      if (random.nextInt(12) > 0) compare(what, sql(text), sql(text))
      else {
        val (without, ours) = (withoutSkipping(Try(planned(text))), Try(planned(text)))
        if (random.nextBoolean()) compare(s"planned: $what", without.get, ours.get)
        change(dir, random)
        compare(s"after a change: $what", without.get, ours.get)
        compare(s"anew: $what", sql(text), sql(text))
      }
    }
  }

  /** More rows in a small table, or another view of that name. */
  private def change(dir: File, random: Random): Unit = {
    val name = small(random.nextInt(small.size))
    val rows = sql(rowsOfSmall("few", random)).coalesce(1)
    if (spark.sessionState.catalog.tableExists(TableIdentifier(name, Some("default")))) {
      rows.select(spark.table(name).columns.map(col).toSeq: _*).write.insertInto(name)
    } else if (random.nextBoolean() && new File(dir, name).exists()) {
      rows.write.mode("append").parquet(new File(dir, name).getPath)
    } else local(rows).createOrReplaceTempView(name)
  }

  /** Checks that a side whose rows may differ in each run gives each of its keys the partners that this key has. */
  private def askUnsteady(random: Random, clue: String): Unit = {
    def pick(values: String*): String = values(random.nextInt(values.size))
    val (table, k) =
      (pick("few", "sparse", "edges", "spread"), pick("i", "l", "s", "dt", "d", "db", "b"))
    val side = pick(
      s"SELECT $k k FROM $table WHERE rand() < 0.5",
      s"SELECT $k k FROM $table WHERE pmod(hash(uuid()), 3) = 0",
      s"SELECT $k k FROM $table TABLESAMPLE (40 PERCENT)",
      s"SELECT /*+ REPARTITION(5) */ $k k FROM $table LIMIT 4",
      s"SELECT first(k) k FROM (SELECT /*+ REPARTITION(5) */ $k k, bo FROM $table) GROUP BY bo",
      s"SELECT $k k FROM (SELECT /*+ REPARTITION(5) */ * FROM $table) WHERE monotonically_increasing_id() % 3 = 1",
      s"SELECT k FROM (SELECT k, row_number() OVER (ORDER BY bo) r FROM (SELECT /*+ REPARTITION(5) */ $k k, bo " +
        s"FROM $table)) WHERE r < 6")
    val query = pick(
      s"SELECT s.k, count(f.$k) FROM (SELECT DISTINCT k FROM side) s LEFT JOIN fact f ON s.k = f.$k GROUP BY s.k",
      s"SELECT DISTINCT s.k FROM side s LEFT ANTI JOIN fact f ON s.k = f.$k",
      s"SELECT DISTINCT s.k, f.l FROM side s LEFT JOIN fact f ON f.$k <= s.k AND f.$k >= s.k",
      s"SELECT DISTINCT f.l, s.k IS NULL FROM fact f JOIN side s ON f.$k = s.k",
      s"SELECT DISTINCT k FROM side WHERE NOT EXISTS (SELECT 1 FROM fact f WHERE f.$k = side.k)")
    val chosen = settings(random)
    inConf(chosen: _*) {
      def of(rows: String) = rowsOf(sql(s"WITH side AS ($rows) $query")).keySet
      val all = withoutSkipping(of(s"SELECT $k k FROM $table"))
      for (_ <- 1 to 3) {
        val other = of(side) -- all
        if (other.nonEmpty) {
          failures += s"$clue ${chosen.map(_._2)} WITH side AS ($side) $query: ${other.take(3)}"
          logWarning(failures.last)
        }
      }
    }
  }

  /** @param leastPruned of a hundred queries, so many must have files pruned by keys */
  private def check(queries: Int, leastPruned: Int): Unit = {
    done = 0
    pruned = 0
    refused = 0
    failures.clear()
    inConf("spark.sql.shuffle.partitions" -> "2") {
      withRandom { random =>
        while (done < queries && failures.size < MostFailures) {
          val seed = random.nextLong()
          withTables(new Random(seed)) { dir =>
            for (i <- 0 until math.min(perTables, queries - done)) {
              // generators with neighbouring seeds begin alike
              def own = new Random(byteswap64(seed + i))
              ask(own, s"tables $seed, query $i", dir)
              if (i % 10 == 9) askUnsteady(own, s"tables $seed, query $i")
            }
          }
          if (queries > 600) note(s"seed $randomSeed: $done queries, $pruned of them pruned")
        }
        info(s"seed $randomSeed: $done queries, $pruned of them pruned, $refused refused by Spark")
        assert(failures.isEmpty, failures.mkString("\n"))
        assert(refused * 2 <= done, s"Spark refused $refused queries")
        assert(
          pruned * 100 >= done * leastPruned,
          s"of $done queries, $pruned had files pruned by keys")
      }
    }
  }

  test(s"random queries with joins: $more queries", Slow)(check(more, 15))
}
