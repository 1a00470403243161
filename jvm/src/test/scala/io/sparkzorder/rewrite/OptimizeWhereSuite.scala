// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import scala.util.Random

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row
import org.apache.spark.sql.functions.input_file_name

import io.sparkzorder.commands.OptimizeTestBase

/** WHERE on data columns: files in which a row may match are rewritten, all others stay. */
class OptimizeWhereSuite extends OptimizeTestBase {

  /** Names of the files that hold a row for which a predicate is true, as Spark finds them. */
  private def matching(dir: File, where: String): Set[String] =
    read(dir).where(where).select(input_file_name()).distinct().collect()
      .map(r => new File(r.getString(0)).getName).toSet

  /** What a dry run would rewrite: number of files, and what it says. */
  private def chosen(dir: File, where: String): (Long, String) = {
    val row = sql(s"OPTIMIZE '$dir' FULL WHERE $where ZORDER BY (b) DRY RUN").head()
    (row.getAs[Row]("metrics").getAs[Long]("numFilesRemoved"), row.getAs[String]("reason"))
  }

  /** 8 files that follow one another in `a` and in `day`, each with a few NULLs in `n` or with nothing else. */
  private def slices(dir: File): Unit = inConf(
    // INT96, Spark's default, has no min and max
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS")(write(
    spark.range(0, 800, 1, 8).selectExpr(
      "id a",
      "pmod(hash(id), 100) b",
      "date_add(date'2026-01-01', cast(id DIV 10 AS INT)) day",
      "timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, cast(id AS INT)) at",
      "concat('k', lpad(id, 4, '0')) k",
      "named_struct('x', id * 2, 'y', 'v') s",
      "if(id < 100, null, id) n",
      "cast(id / 10.0 AS DECIMAL(10, 2)) d",
      "if(id % 7 = 0, double('NaN'), id) f"),
    dir))

  test("the files in which a row may match are rewritten, and the others are not touched") {
    withTableDir { dir =>
      slices(dir)
      def parquetFiles = userFiles(dir).filter(_._1.endsWith(".parquet"))
      val before = parquetFiles
      val expected = matching(dir, "a BETWEEN 150 AND 320")
      assert(expected.size === 3)
      val statement =
        s"OPTIMIZE '$dir' WHERE a BETWEEN 150 AND 320 ZORDER BY (b, a) OPTIONS (${sizeFor(dir, 8)})"
      val row = optimize(statement, dir)(read(dir))
      val after = parquetFiles
      assert(before.keySet.diff(after.keySet).map(f => new File(f).getName) === expected)
      assert(before.filterNot { case (f, _) => expected(new File(f).getName) }.forall {
        case (f, content) => after.get(f).contains(content)
      })
      assert(row.getAs[String]("reason").startsWith("WHERE chooses 3 of 8 files"))
      assert(row.getAs[Row]("metrics").getAs[Long]("totalConsideredFiles") === 8)
      // again: these files are laid out already
      val again = sql(statement).head()
      assert(again.getAs[Row]("metrics").getAs[Long]("numFilesRemoved") === 0)
    }
  }

  test("some types and predicates that a query skips by")(checkPredicates(every = 5))

  test("every type and predicate that a query skips by", Slow)(checkPredicates(every = 1))

  private def checkPredicates(every: Int): Unit = {
    withTableDir { dir =>
      slices(dir)
      val exact = Seq(
        "a = 5",
        "a + 0 = 5 AND a < 100",
        "a IN (1, 2, 750)",
        "a < 100 OR a > 750",
        "NOT (a >= 100)",
        "day = '2026-01-15'",
        "day BETWEEN date'2026-02-01' AND '2026-02-05'",
        "at < timestamp'2026-01-03 00:00:00'",
        "k LIKE 'k07%'",
        "k >= 'k0650'",
        "s.x = 300",
        "n IS NULL",
        "n IS NOT NULL AND n <=> 730",
        "d > 70.5",
        "a = CAST('42' AS BIGINT)",
        "a = 40 + 2")
      exact.indices.by(every).map(exact).foreach { where =>
        assert(chosen(dir, where)._1 === matching(dir, where).size, where)
      }
      // not more than is known: all files that may match
      assert(chosen(dir, "f = 5")._1 >= matching(dir, "f = 5").size)
      if (every == 1) {
        assert(chosen(dir, "pmod(a, 5) = 0")._1 === 8)
        assert(chosen(dir, "a = 1 AND a = 102")._1 === 0)
        assert(chosen(dir, "false AND a = 1")._1 === 0)
      }
      assert(chosen(dir, "a = 9999") === ((0, "WHERE chooses 0 of 8 files")))
    }
  }

  test("at the instants of the session's time zone") {
    withTableDir { dir =>
      slices(dir)
      for (zone <- Seq("UTC", "America/Los_Angeles", "Asia/Kolkata")) {
        inConf("spark.sql.session.timeZone" -> zone) {
          val where = "at = '2026-01-05 04:00:00'"
          // an instant between two rows lies in a file's range all the same
          assert(chosen(dir, where)._1 === 1, zone)
          assert(matching(dir, where).size === (if (zone.endsWith("Kolkata")) 0 else 1))
        }
      }
    }
  }

  test("data columns and partition columns mixed") {
    withTableDir { dir =>
      val rows = spark.range(0, 800, 1, 4).selectExpr("id a", "pmod(hash(id), 100) b", "id % 2 p")
      write(rows, dir, "p")
      assert(dataFiles(dir).size === 8)
      assert(chosen(dir, "p = 1 AND a < 150")._1 === 1)
      assert(chosen(dir, "p = 99 AND a < 150") === ((0, "WHERE chooses no data files")))
      assert(chosen(dir, "p = 1 AND (a < 150 OR a > 700)")._1 === 2)
      // an OR over both keeps what only the partition could rule out
      assert(chosen(dir, "p = 1 OR a < 150")._1 >= matching(dir, "p = 1 OR a < 150").size)
      assert(chosen(dir, "p = a")._1 === 8)
      for ((where, column) <- Seq("p = 1 AND b > 2" -> "`b`", "1 = 1 OR a IS NULL" -> "`a`"))
        fails("ZORDER_PREDICATE_NOT_ON_PARTITIONS", "`p`", column)(
          sql(s"OPTIMIZE '$dir' WHERE $where ZORDER BY a INTO '$dir-copy'"))
      optimize(s"OPTIMIZE '$dir' WHERE p = 1 AND a < 150 ZORDER BY (a, b)", dir)(read(dir))
      assert(dataFiles(dir).count(_.folder == "p=0") === 4)
    }
  }

  test("random predicates: no file with a matching row is left out", Slow) {
    val seed = System.currentTimeMillis()
    val random = new Random(seed)
    withTableDir { dir =>
      slices(dir)
      def value = random.nextInt(900) - 50
      def leaf: String = random.nextInt(8) match {
        case 0 => s"a ${Seq("<", "<=", "=", ">", ">=", "<>", "<=>")(random.nextInt(7))} $value"
        case 1 => s"n BETWEEN $value AND $value"
        case 2 => s"k > 'k${"%04d".format(math.abs(value))}'"
        case 3 => s"s.x IN ($value, $value, ${2 * value})"
        case 4 => s"d <= ${value / 10.0}"
        case 5 => s"day = date_add(date'2026-01-01', ${value / 10})"
        case 6 => s"f > $value"
        case _ => s"n IS ${if (random.nextBoolean()) "NOT " else ""}NULL"
      }
      def tree(depth: Int): String =
        if (depth == 0 || random.nextInt(3) == 0) leaf
        else {
          random.nextInt(3) match {
            case 0 => s"NOT (${tree(depth - 1)})"
            case 1 => s"(${tree(depth - 1)} AND ${tree(depth - 1)})"
            case _ => s"(${tree(depth - 1)} OR ${tree(depth - 1)})"
          }
        }
      (1 to 60).foreach { i =>
        val where = tree(3)
        assert(chosen(dir, where)._1 >= matching(dir, where).size, s"seed $seed, $i: $where")
      }
    }
  }

  test(
    "a catalog table by qualified names, with a column that older files lack and a CHAR column") {
    withTable("wt") {
      sql("CREATE TABLE wt (a BIGINT, c CHAR(5)) USING parquet")
      sql("INSERT INTO wt SELECT /*+ COALESCE(1) */ id, concat('c', id) FROM range(100)")
      sql("ALTER TABLE wt ADD COLUMNS (late BIGINT)")
      sql("INSERT INTO wt SELECT /*+ COALESCE(1) */ id, 'd', id FROM range(100, 200)")
      def removed(where: String): Long = sql(s"OPTIMIZE wt FULL WHERE $where ZORDER BY a DRY RUN")
        .select("metrics.numFilesRemoved").head().getLong(0)
      assert(removed("wt.a < 50") === 1)
      assert(removed("default.wt.a < 50") === 1)
      assert(removed("late IS NULL") === 1)
      assert(removed("late > 0") === 1)
      assert(removed("c = 'd'") === 2)
    }
  }

  test("a partition column behind the name of its table") {
    withTable("wp") {
      sql("CREATE TABLE wp (a BIGINT, p INT) USING parquet PARTITIONED BY (p)")
      sql("INSERT INTO wp SELECT /*+ COALESCE(1) */ id, id % 4 FROM range(100)")
      for (prefix <- Seq("wp", "default.wp", "spark_catalog.default.wp", "Default.WP"))
        assert(
          sql(s"OPTIMIZE wp FULL WHERE $prefix.p > 1 ZORDER BY a DRY RUN")
            .select("metrics.numFilesRemoved").head().getLong(0) === 2,
          prefix)
      val message = intercept[Exception](
        sql("OPTIMIZE wp FULL WHERE other.wp.p > 1 ZORDER BY a DRY RUN")).getMessage
      assert(message.contains("`other`.`wp`.`p`"), message)
    }
  }

  test(
    "predicates that Spark rewrites when it analyzes them: BETWEEN, NULLIF, correlated subqueries") {
    withTable("wp", "keys") {
      sql("CREATE TABLE keys USING parquet AS SELECT 1 k")
      sql("CREATE TABLE wp (a BIGINT, p INT) USING parquet PARTITIONED BY (p)")
      sql("INSERT INTO wp SELECT /*+ COALESCE(1) */ id, id % 4 FROM range(100)")
      for ((where, files) <- Seq(
          "p BETWEEN 1 AND 2" -> 2,
          "p NOT BETWEEN 1 AND 2" -> 2,
          "a BETWEEN 500 AND 600" -> 0,
          "a BETWEEN 5 AND 6 AND p BETWEEN 0 AND 1" -> 2,
          "nullif(p, 3) = 3" -> 0,
          "nullif(p, 3) BETWEEN 0 AND nullif(p, 1)" -> 2,
          "EXISTS (SELECT 1 FROM keys WHERE k = p)" -> 1,
          "NOT EXISTS (SELECT 1 FROM keys WHERE k = wp.p)" -> 3,
          "p = 2 OR EXISTS (SELECT 1 FROM keys WHERE k = p)" -> 2,
          "p = (SELECT max(k) FROM keys WHERE k = p)" -> 1,
          "p IN (SELECT k FROM keys WHERE k = p)" -> 1,
          "p IN (SELECT w.p FROM wp w WHERE w.p = wp.p AND w.p BETWEEN 1 AND 2)" -> 2)) {
        val found = sql(s"OPTIMIZE wp FULL WHERE $where ZORDER BY a DRY RUN")
          .select("metrics.numFilesRemoved").head().getLong(0)
        assert(found === files, where)
      }
    }
  }

  /** Predicates that neither a partition nor the bounds of a file decide, with words of the message. */
  private val undecidable = Seq(
    "rand() < 0.5" -> "no column",
    "true" -> "no column",
    "1 = 2" -> "no column",
    "current_date > date'2020-01-01'" -> "no column",
    "EXISTS (SELECT 1)" -> "no column",
    "input_file_name() LIKE '%part-00001%'" -> "no column",
    "p = 1 AND rand() < 0.5" -> "not deterministic",
    "p = 1 OR spark_partition_id() = 0" -> "not deterministic",
    "a > rand() * 0" -> "not deterministic",
    "p = 1 AND concat(input_file_name(), s) LIKE '%part-00001%'" -> "not deterministic",
    "_metadata.file_size > 0" -> "_metadata",
    "_metadata.file_name = 'x' AND a < 100" -> "_metadata")

  test("what neither a partition nor bounds of a file decide is refused")(
    checkUndecidable(every = 5))

  test(
    "what neither a partition nor bounds of a file decide is refused: each predicate, by path and by name",
    Slow)(checkUndecidable(every = 1))

  private def checkUndecidable(every: Int): Unit = {
    withTable("wu") {
      sql("CREATE TABLE wu (a BIGINT, b BIGINT, s STRING, p INT) USING parquet PARTITIONED BY (p)")
      sql("INSERT INTO wu SELECT id, id, concat('s', id), id % 2 FROM range(0, 800, 1, 4)")
      val dir = locationOf("wu")
      val before = snapshot(dir)
      for {
        (where, words) <- undecidable.indices.by(every).map(undecidable)
        target <- Seq("wu", s"'$dir'").take(if (every == 1) 2 else 1)
        end <- Seq("", "DRY RUN", s"INTO '$dir-copy'")
        // INTO takes no data column at all
        if !(end.startsWith("INTO") && Seq("a ", "_m", "curr").exists(where.startsWith)) &&
          !(end.startsWith("INTO") && where.contains(", s)"))
      } {
        fails("ZORDER_PREDICATE_NOT_TRANSLATABLE", words)(
          sql(s"OPTIMIZE $target WHERE $where ZORDER BY a $end"))
        assert(snapshot(dir) === before, s"$where $end")
        assert(!new File(s"$dir-copy").exists(), s"$where $end")
      }
      // what tools write in front of their predicates, and constants of a moment
      assert(chosen(dir, "1 = 1 AND p = 1")._1 === 4)
      // without parentheses, Spark's parser takes the function for a column
      assert(chosen(dir, "p = 1 AND p < year(current_date)")._1 === 4)
      assert(chosen(dir, "p = 1 AND CURRENT_DATE > date'2020-01-01'")._1 === 4)
      // what tools write in front of a predicate on data columns alone
      assert(chosen(dir, "1 = 1 AND a < 150")._1 === chosen(dir, "a < 150")._1)
      assert(chosen(dir, "a < 150 AND current_date > date'2020-01-01'")._1 ===
        chosen(dir, "a < 150")._1)
      if (every == 1) {
        assert(chosen(dir, "p = 1 AND current_date() > date'2020-01-01'")._1 === 4)
        assert(chosen(dir, "true AND a < 150 AND p = 1")._1 === 1)
      }
    }
  }

  test("a column that is named like what Spark says of a file is a column") {
    withTableDir { dir =>
      write(
        spark.range(0, 80, 1, 4).selectExpr("id a", "id b", "named_struct('x', id) _metadata"),
        dir)
      assert(chosen(dir, "_metadata.x < 20")._1 === 1)
      assert(chosen(dir, "a < 20 AND a > 40")._1 === 0)
    }
  }

  test("what cannot be: an unknown column, and rows of a copy") {
    withTableDir { dir =>
      slices(dir)
      val before = snapshot(dir)
      fails("UNRESOLVED_COLUMN.WITH_SUGGESTION", "nope")(
        sql(s"OPTIMIZE '$dir' WHERE nope = 1 ZORDER BY a"))
      fails("ZORDER_PREDICATE_NOT_ON_PARTITIONS", "`a`", "INTO")(
        sql(s"OPTIMIZE '$dir' WHERE a = 1 ZORDER BY a INTO '$dir-copy'"))
      assert(snapshot(dir) === before)
      assert(!new File(s"$dir-copy").exists())
    }
  }
}
