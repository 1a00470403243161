// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File
import java.nio.file.Files
import java.util.Locale

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.functions.{col, struct}

import io.sparkzorder.SkippingCounters
import io.sparkzorder.index.IndexContent
import io.sparkzorder.index.WholeGenerations._

/** Bugs of peers in which skipping loses rows by names, types or files, each as a test of its own. */
class SkippingTrapsSuite extends SkippingTestBase {

  test("LIKE with wildcards and escapes in the middle (hudi#18791)") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 'a%bc' s UNION ALL SELECT 'a%bd'"), sql("SELECT 'axb' s"))
      createIndex(dir)
      val df = read(dir)
      assert(keptFiles(df.where("s LIKE 'a\\\\%b%'")) === 1)
      assert(keptFiles(df.where("s LIKE 'a%b'")) === 2)
      assert(keptFiles(df.where("s LIKE 'a_b%'")) === 2)
      assert(keptFiles(df.where("s LIKE 'a|%b%' ESCAPE '|'")) === 1)
      inConf("spark.sql.optimizer.excludedRules" ->
        "org.apache.spark.sql.catalyst.optimizer.LikeSimplification") {
        assert(keptFiles(df.where("s LIKE 'a|%b%' ESCAPE '|'")) === 1)
        assert(keptFiles(df.where("s LIKE 'ax%'")) === 1)
        assert(keptFiles(df.where("s NOT LIKE 'ax%'")) === 1)
        assert(keptFiles(df.where("s NOT LIKE 'a%x%'")) === 2)
      }
    }
  }

  test("a JVM whose locale has digits of its own: dates in texts, and the names of new files") {
    val before = Locale.getDefault
    withTableDir { dir =>
      write(
        spark.range(0, 4000, 100, 4)
          .selectExpr("cast(date_add(date'1999-01-01', int(id)) AS STRING) s", "id"),
        dir)
      Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"))
      try {
        assert("%d".format(1) !== "1")
        optimize(s"OPTIMIZE '$dir' ZORDER BY s OPTIONS ('targetFileSize' '2k')", dir)(read(dir))
        for (f <- dataFiles(dir)) assert(f.name.matches("part-[0-9]{5}-.*"), f.name)
        for (filter <- Seq(
            "cast(s AS DATE) = date'2003-02-09'",
            "year(cast(s AS DATE)) = 2003",
            "cast(s AS TIMESTAMP) < timestamp'2003-02-09 01:00:00'")) {
          val df = read(dir).where(filter)
          assert(bag(df) === withoutSkipping(bag(df.select("*"))) && !bag(df).isEmpty, filter)
        }
      } finally Locale.setDefault(before)
    }
  }

  test("constants of 50,000 characters cost no memory by their beginnings", Slow) {
    withTableDir { dir =>
      val long = "1," * 25000
      filesOf(dir, sql(s"SELECT '${long}x' s"), sql("SELECT 'a' s"), sql("SELECT 'zz' s"))
      createIndex(dir)
      val df = read(dir)
      for ((filter, files) <- Seq(
          s"concat(s, '!') = '${long}x!'" -> 1,
          s"concat('(', s, '!') >= '(${long}x!'" -> 3,
          s"concat(s, '!') BETWEEN '$long!' AND '${long}x!'" -> 1,
          s"lower(s) = '${long}x'" -> 1,
          s"upper(s) LIKE '$long%'" -> 1,
          s"substring_index(s, '|', 1) = '${long}x'" -> 1,
          s"trim(s) > '$long'" -> 3))
        assert(keptFiles(df.where(filter)) === files, filter.take(40))
    }
  }

  test("a default of a struct, of which a query reads one field") {
    withTable("t") {
      sql("CREATE TABLE t (id INT, u STRUCT<x: INT, y: INT>) USING parquet")
      sql("INSERT INTO t SELECT 1, named_struct('x', 1, 'y', 2)")
      sql("ALTER TABLE t ADD COLUMN s STRUCT<a: INT> DEFAULT named_struct('a', 1)")
      sql("INSERT INTO t SELECT 2, named_struct('x', 3, 'y', 4), named_struct('a', 9)")
      sql("CREATE ZORDER INDEX ON t").collect()
      for (columns <- Seq("u.x", "id", "id, _metadata.file_size", "*")) {
        // whether Spark itself sees the default depends on what it reads of the struct
        for (vectorized <- Seq("true", "false")) {
          withSQLConf("spark.sql.parquet.enableVectorizedReader" -> vectorized) {
            val df = sql(s"SELECT $columns FROM t WHERE s.a = 1")
            assert(bag(df) === withoutSkipping(bag(df.select("*"))), columns)
          }
        }
      }
    }
  }

  // micro sign and Greek letter, with and without a dot: equal in upper case
  testParts("names that are the same by some rules only")(checkNames("\u03bcs" -> "\u00b5s"))(
    checkNames("id" -> "\u0131d", "sum" -> "\u017fum", "i\u0307d" -> "\u0130d"))

  private def checkNames(names: (String, String)*): Unit = {
    for ((own, other) <- names) withTableDir { dir =>
      filesOf(dir, spark.range(3).toDF(own), spark.range(3).toDF(other))
      createIndex(dir)
      val df = spark.read.schema(s"`$own` BIGINT").parquet(dir.getPath)
      for (p <- Seq("IS NULL", "= 2", "IS NOT NULL", "<=> NULL")) {
        val query = df.where(s"`$own` $p")
        assert(bag(query) === withoutSkipping(bag(query.select("*"))), s"$own $other $p")
        keptFiles(query)
      }
    }
  }

  test("IN without values") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT cast(null AS INT) n"), sql("SELECT 1 n"))
      createIndex(dir)
      withSQLConf("spark.sql.optimizer.excludedRules" ->
        "org.apache.spark.sql.catalyst.optimizer.OptimizeIn") {
        // whether NULL is outside of it differs between lines
        for (query <- Seq(read(dir).where(!col("n").isin()), read(dir).where(col("n").isin())))
          assert(bag(query) === withoutSkipping(bag(query.select("*"))))
        // an IN without rows does not keep other filters from pruning
        val rows = struct(col("n"), col("n"))
        assert(keptFiles(read(dir).where(!rows.isin() && col("n") === 1)) === 1)
      }
    }
  }

  test("CHAR compares with padding (trino#30187)") {
    withTable("t") {
      sql("CREATE TABLE t (c CHAR(5), v VARCHAR(5), n STRUCT<c: CHAR(3)>) USING parquet")
      // the file holds it without padding, as other engines write it
      val dir = locationOf("t")
      filesOf(dir, sql("SELECT 'ab' c, 'ab' v, named_struct('c', 'x') n"))
      sql("CREATE ZORDER INDEX ON t").collect()
      sql("REFRESH TABLE t")
      for (p <- Seq("c = 'ab'", "c = 'ab   '", "c >= 'ab '", "c IN ('ab ', 'q')", "n.c = 'x'")) {
        assert(keptFiles(spark.table("t").where(p)) === 1, p)
        inConf("spark.sql.readSideCharPadding" -> "false") {
          assert(keptFiles(spark.table("t").where(p)) === 1, p)
        }
      }
      assert(keptFiles(spark.table("t").where("v = 'zz'")) === 0)
      assert(keptFiles(spark.table("t").where("v = 'ab'")) === 1)
    }
  }

  testParts("Julian dates and times of old files (spark#33347, paimon#2325)")(
    checkJulian(("America/Los_Angeles", "TIMESTAMP_MICROS", "LEGACY")))(checkJulian(
    ("Asia/Kathmandu", "TIMESTAMP_MILLIS", "LEGACY"),
    ("Africa/Monrovia", "TIMESTAMP_MICROS", "CORRECTED")))

  private def checkJulian(ways: (String, String, String)*): Unit = {
    val years =
      Seq("0001-03-04", "1500-03-01", "1582-10-15", "1850-05-06", "1899-12-31", "2001-02-03")
    for ((zone, kind, mode) <- ways) {
      inConf(
        "spark.sql.session.timeZone" -> zone,
        "spark.sql.parquet.outputTimestampType" -> kind,
        "spark.sql.parquet.datetimeRebaseModeInWrite" -> mode) {
        withTableDir { dir =>
          def texts(time: String) = years.map(y => s"'$y$time'").mkString("array(", ",", ")")
          spark.range(0, years.size.toLong, 1, years.size).selectExpr(
            s"cast(element_at(${texts("")}, int(id) + 1) as date) d",
            s"cast(element_at(${texts(" 01:02:03")}, int(id) + 1) as timestamp) t")
            .write.parquet(dir.getPath)
          createIndex(dir)
          val old = Seq("0001-03-04", "1500-03-01", "1850-05-06")
          def each(op: String) = keptFilesEach(
            read(dir),
            old.map(y => s"d $op date'$y'") ++ old.map(y => s"t $op timestamp'$y 01:02:03'"))
          each("<=")
          val equal = each("=")
          if (mode == "CORRECTED") assert(equal.forall(_ == 1))
          // what no calendar changes is skipped even so
          if (mode == "LEGACY") assert(keptFiles(read(dir).where("d > date'2001-02-03'")) < 6)
        }
      }
    }
  }

  test("texts that begin alike, and a text that is too long for bounds") {
    withTableDir { dir =>
      filesOf(
        dir,
        sql("SELECT concat('xyz', lpad(id, 6, '0')) s FROM range(0, 1000)"),
        sql("SELECT concat('xyz', lpad(id, 6, '0')) s FROM range(500000, 501000)"),
        sql("SELECT concat('zzzab', repeat('q', 5000)) s"))
      createIndex(dir)
      assert(keptFiles(read(dir).where("s = 'a'")) === 1)
      for (filter <- Seq("s LIKE 'zzz%'", "s >= 'zzz'", "substring(s, 1, 3) = 'zzz'")) {
        assert(keptFiles(read(dir).where(s"substring(s, 4, 2) = 'ab' AND $filter")) === 1)
      }
      assert(keptFiles(read(dir).where("substring(s, 4, 3) = '500'")) === 2)
    }
  }

  test("-0.0 is 0.0, but has another text") {
    for (t <- Seq("DOUBLE", "FLOAT")) withTableDir { dir =>
      def values(some: String*) = sql(some.map(v => s"SELECT $t('$v') x").mkString(" UNION ALL "))
      filesAtOnce(
        dir,
        values("-0.0"),
        values("5", "9"),
        values("-0.3", "0.0"),
        values("50", "60"))
      createIndex(dir)
      val filters = Seq(
        "cast(x AS STRING) = '-0.0'",
        "cast(x AS STRING) LIKE '-%'",
        "cast(x AS STRING) <> '0.0'",
        "concat('v', x) = 'v-0.0'",
        "cast(rint(x) AS STRING) = '0.0'",
        "cast(rint(x) AS STRING) = '-0.0'",
        "cast(-x AS STRING) = '0.0'",
        "cast(abs(x) AS STRING) = '0.0'",
        "cast(x * -1 AS STRING) = '-0.0'",
        "cast(coalesce(x, 1) AS STRING) = '-0.0'")
      filters.zip(keptFilesEach(read(dir), filters)).foreach { case (filter, kept) =>
        assert(kept > 0, filter)
      }
      // also where the range of the files ends at zero
      withTableDir { small =>
        filesOf(small, values("-0.3", "0.0"), values("50", "60"))
        createIndex(small)
        keptFiles(read(small).where("cast(rint(x) AS STRING) = '0.0'"))
      }
    }
  }

  test("names that differ in case alone") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1 a"), sql("SELECT 2 A"), sql("SELECT 3 b"))
      inConf("spark.sql.caseSensitive" -> "true") {
        filesOf(dir, sql("SELECT 4 a, 5 A"))
      }
      createIndex(dir)
      for (sensitive <- Seq("true", "false")) {
        inConf("spark.sql.caseSensitive" -> sensitive) {
          // the last file cannot be read without case, so it is only looked at
          val df = spark.read.schema("a INT").parquet(dir.getPath)
          val kept = scanOf(df.where("a = 1")).kept()
          val found =
            if (sensitive == "true") matching(df.where("a = 1")) else Set.empty[String]
          assert(found.subsetOf(kept))
          assert(kept.size === (if (sensitive == "true") 3 else 2))
        }
      }
    }
  }

  test("a column that files lack: NULL, unless the table has a default for it") {
    withTable("t") {
      sql("CREATE TABLE t (a INT) USING parquet")
      sql("INSERT INTO t VALUES (1)")
      sql("ALTER TABLE t ADD COLUMN b INT DEFAULT 7")
      sql("ALTER TABLE t ADD COLUMN c INT")
      sql("INSERT INTO t VALUES (2, 8, 9)")
      sql("CREATE ZORDER INDEX ON t").collect()
      val t = spark.table("t")
      assert(keptFiles(t.where("b = 7")) === 1)
      assert(keptFiles(t.where("b = 8")) === 2)
      assert(keptFiles(t.where("c = 9")) === 1)
      assert(keptFiles(t.where("c IS NULL")) === 1)
      assert(keptFiles(t.where("c IS NOT NULL")) === 1)
    }
  }

  test("files that changed, are new or are unknown are read (hudi#10389, hyperspace#240)") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1 i"), sql("SELECT 2 i"))
      createIndex(dir)
      filesOf(dir, sql("SELECT 3 i"))
      assert(keptFiles(read(dir).where("i = 9")) === 1)
      // another content under the old name
      val names = dataFiles(dir).map(_.name)
      val two = matching(read(dir).where("i = 2")).head
      val one = matching(read(dir).where("i = 1")).head
      assert(names.contains(one))
      overwrite(dir, one, by = two)
      assert(keptFiles(read(dir).where("i = 2")) === 3)
      // a partial index: one file only
      val _ = storeOf(dir).update { before =>
        (IndexContent.select(before.get._2, _ == 0), None)
      }
      assert(keptFiles(read(dir).where("i = 77")) >= 2)
    }
  }

  test("an index that cannot be read is no index, and is counted") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1 i"), sql("SELECT 2 i"))
      createIndex(dir)
      assert(keptFiles(read(dir).where("i = 2")) === 1)
      val before = SkippingCounters.failures
      Files.write(new File(dir, "_zorder/_index/_1").toPath, "no index".getBytes)
      assert(keptFiles(read(dir).where("i = 2")) === 2)
      assert(SkippingCounters.failures === before + 1)
      sql(s"REFRESH ZORDER INDEX ON '$dir'").collect()
      assert(keptFiles(read(dir).where("i = 2")) === 1)
    }
  }

  test("types: unsigned, other scales, and integers read as something narrower are unknown") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 300 i, cast(1.5 as decimal(9,2)) m"))
      createIndex(dir)
      def kept(schema: String, p: String) =
        scanOf(spark.read.schema(schema).parquet(dir.getPath).where(p)).kept().size
      assert(kept("i INT", "i = 44") === 0)
      assert(kept("i TINYINT", "i = 44Y") === 1)
      assert(kept("i BIGINT", "i = 44L") === 0)
      assert(kept("i STRING", "i = 'x'") === 1)
      assert(kept("m DECIMAL(9,2)", "m = 9") === 0)
      assert(kept("m DECIMAL(12,2)", "m = 9") === 0)
      assert(kept("m DECIMAL(30,2)", "m = 9") === 0)
      assert(kept("m DECIMAL(9,3)", "m = 9") === 1)
      assert(kept("m DECIMAL(8,2)", "m = 9") === 1)
    }
  }
}
