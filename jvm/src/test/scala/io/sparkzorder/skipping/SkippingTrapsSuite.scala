package io.sparkzorder.skipping

import java.io.File
import java.nio.file.Files

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.index.{
  ColumnChoice,
  ColumnValues,
  FooterEntries,
  IndexContent,
  LeafEntry,
  LongBounds
}
import io.sparkzorder.skipping.scan.IndexNarrowing
import io.sparkzorder.table.{ParquetFiles, PathTarget, TableLister}
import io.sparkzorder.table.stats.{Footer, FooterReader}

/** Bugs of peers in which skipping loses rows, each as a test of its own. */
class SkippingTrapsSuite extends SkippingTestBase {

  private def footerOf(dir: File): Footer = {
    val files =
      new TableLister(SparkLine.session(spark), PathTarget(dir.getPath, ParquetFiles)).list().files
    FooterReader.read(files, spark.sessionState.newHadoopConf(), ParquetFiles).head
  }

  private def entryOf(footer: Footer): LeafEntry =
    new FooterEntries(ColumnChoice()).of(footer, "f").leaves.head

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

  test("NaN: a chunk with NaN has no bounds, and NaN is the greatest value (hudi#18754)") {
    withTableDir { dir =>
      filesOf(
        dir,
        sql("SELECT double('NaN') d, float('NaN') f UNION ALL SELECT 1d, 1f"),
        sql("SELECT 1d d, 1f f UNION ALL SELECT 2d, 2f"),
        sql("SELECT -0.0d d, -0.0f f"))
      createIndex(dir)
      val df = read(dir)
      for (c <- Seq("d", "f"); t = if (c == "d") "double" else "float") {
        assert(keptFiles(df.where(s"$c > 5")) === 1)
        assert(keptFiles(df.where(s"$c = $t('NaN')")) === 1)
        assert(keptFiles(df.where(s"$c >= $t('NaN')")) === 1)
        assert(keptFiles(df.where(s"$c IN (7, $t('NaN'))")) === 1)
        assert(keptFiles(df.where(s"NOT ($c <= 5)")) === 1)
        assert(keptFiles(df.where(s"$c = 0")) >= 1)
        assert(keptFiles(df.where(s"$c < 0")) === 1)
        assert(keptFiles(df.where(s"$c = $t('Infinity')")) === 1)
      }
    }
  }

  test("NaN that a writer passed over in its bounds") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT double('NaN') d UNION ALL SELECT 1d UNION ALL SELECT 2d"))
      createIndex(dir)
      // as footers of Arrow, Impala and DuckDB have it: bounds of the numbers alone
      rewriteIndex(dir) { v =>
        val ends =
          Seq(1d, 2d).map(d => LongBounds(Array(io.sparkzorder.bits.OrderedLongs.ofDouble(d))))
        v.copy(flags = Array(ColumnValues.Bounded), min = ends.head, max = ends.last)
      }
      val df = read(dir)
      for (p <- Seq(
          "d > 5",
          "d >= 5",
          "d = double('NaN')",
          "d IN (7, double('NaN'))",
          "NOT (d <= 5)",
          "d != 1",
          "NOT (d IN (1, 2))",
          "NOT (d < 3)")) {
        assert(keptFiles(df.where(p)) === 1, p)
      }
      for (p <- Seq("d = 7", "d < 1", "d IN (0, 7)", "d <=> 4")) {
        assert(keptFiles(df.where(p)) === 0, p)
      }
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

  test("names that are the same by some rules only") {
    // micro sign and Greek letter, with and without a dot: equal in upper case
    for ((own, other) <- Seq(
        "\u03bcs" -> "\u00b5s",
        "id" -> "\u0131d",
        "sum" -> "\u017fum",
        "i\u0307d" -> "\u0130d")) withTableDir { dir =>
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
      }
    }
  }

  test("who is known to notice NaN") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1d d"))
      val footer = footerOf(dir)
      def trusted(by: String) = entryOf(footer.copy(createdBy = by)).noNaN
      assert(entryOf(footer).noNaN, footer.createdBy)
      assert(trusted("parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)"))
      assert(!trusted("parquet-mr version 1.8.1 (build 4aba4dae7bb0d4edbcf7923ae1339f28fd3f7fcf)"))
      for (by <-
          Seq("parquet-cpp-arrow version 14.0.1", "impala version 4.0", "DuckDB", "", "x y z")) {
        assert(!trusted(by), by)
      }
    }
  }

  test("strings over 4 KB have neither bounds nor a null count (hudi#18755)") {
    withTableDir { dir =>
      filesOf(
        dir,
        sql("SELECT repeat('x', 5000) s UNION ALL SELECT NULL"),
        sql("SELECT repeat('y', 5000) s"),
        sql("SELECT 'a' s"))
      createIndex(dir)
      val df = read(dir)
      assert(keptFiles(df.where("s IS NULL")) === 2)
      assert(keptFiles(df.where("s IS NOT NULL")) === 3)
      assert(keptFiles(df.where("s LIKE 'y%'")) === 2)
      assert(keptFiles(df.where("s = 'a'")) === 3)
    }
  }

  test("a null count that is not known is not zero (hudi#19645, trino#13389)") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1 i UNION ALL SELECT NULL"))
      createIndex(dir)
      assert(keptFiles(read(dir).where("i IS NULL")) === 1)
      rewriteIndex(dir)(v => v.copy(nulls = v.nulls.map(_ => -1L)))
      assert(keptFiles(read(dir).where("i IS NULL")) === 1)
      assert(keptFiles(read(dir).where("NOT (i <=> 1)")) === 1)
      assert(keptFiles(read(dir).where("i = 2")) === 0)
    }
  }

  test("cut maxima are rounded up (delta-kernel-rs#1003)") {
    withTableDir { dir =>
      val common = "c" * 70
      filesOf(dir, sql(s"SELECT '${common}a' s UNION ALL SELECT '${common}z'"), sql("SELECT 'b' s"))
      createIndex(dir)
      val df = read(dir)
      assert(keptFiles(df.where(s"s = '${common}m'")) === 1)
      assert(keptFiles(df.where(s"s > '${common}y'")) === 1)
      assert(keptFiles(df.where(s"s LIKE '${common}z%'")) === 1)
      assert(keptFiles(df.where(s"s != '${"c" * 64}'")) === 2)
      assert(keptFiles(df.where(s"NOT startswith(s, '${common}a')")) === 2)
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

  test("INT96 has null counts alone (trino#5083)") {
    inConf(
      "spark.sql.parquet.outputTimestampType" -> "INT96",
      "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED") {
      withTableDir { dir =>
        filesOf(
          dir,
          sql("SELECT timestamp'2020-01-01 00:00:00' t"),
          sql("SELECT timestamp'1020-01-01 00:00:00' t"),
          sql("SELECT cast(null as timestamp) t"))
        createIndex(dir)
        assert(keptFiles(read(dir).where("t = timestamp'1020-01-01 00:00:00'")) === 2)
        assert(keptFiles(read(dir).where("t IS NULL")) === 1)
      }
    }
  }

  test("Julian dates and times of old files (spark#33347, paimon#2325)") {
    val years =
      Seq("0001-03-04", "1500-03-01", "1582-10-15", "1850-05-06", "1899-12-31", "2001-02-03")
    for ((zone, kind, mode) <- Seq(
        ("America/Los_Angeles", "TIMESTAMP_MICROS", "LEGACY"),
        ("Asia/Kathmandu", "TIMESTAMP_MILLIS", "LEGACY"),
        ("Africa/Monrovia", "TIMESTAMP_MICROS", "CORRECTED"))) {
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
          for (y <- Seq("0001-03-04", "1500-03-01", "1850-05-06"); op <- Seq("=", "<=")) {
            val days = keptFiles(read(dir).where(s"d $op date'$y'"))
            val times = keptFiles(read(dir).where(s"t $op timestamp'$y 01:02:03'"))
            if (mode == "CORRECTED" && op == "=") assert((days, times) === ((1, 1)))
          }
          // what no calendar changes is skipped even so
          if (mode == "LEGACY") assert(keptFiles(read(dir).where("d > date'2001-02-03'")) < 6)
        }
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
      val before = IndexNarrowing.failureCount
      Files.write(new File(dir, "_zorder/_index/_1").toPath, "no index".getBytes)
      assert(keptFiles(read(dir).where("i = 2")) === 2)
      assert(IndexNarrowing.failureCount === before + 1)
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
