// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.skipping.scan.IndexPruning
import io.sparkzorder.workload.WorkloadCapture

/** What is noted of scans, and who may switch that on and off. */
class RecordedWorkloadSuite extends AutoTestBase {

  test("what is noted of scans: columns, kinds, ranks, and nothing while it is off", Slow) {
    withTableDir { dir =>
      read(dir).where("a = 5").collect()
      assert(workload(dir).isEmpty)
      ask(
        dir,
        "a = 5",
        "a = 7",
        "a IN (1, 5000) AND b < 100",
        "s LIKE 'name1%'",
        "other LIKE '%x' AND a > 9000",
        "length(other) = 3",
        "a IS NOT NULL")
      val rows = workload(dir).map(r =>
        (columnsOf(r), (r.getBoolean(1), r.getLong(2), r.getLong(6)))).toMap
      assert(rows === Map(
        Seq("a" -> "point") -> ((true, 2L, 0L)),
        Seq("a" -> "values", "b" -> "range") -> ((true, 1L, 0L)),
        Seq("s" -> "range") -> ((true, 1L, 0L)),
        Seq("a" -> "range") -> ((true, 1L, 1L)),
        Nil -> ((false, 2L, 1L))))
      assert(math.abs(workload(dir).map(_.getDouble(4)).sum - 1) < 1e-3)
    }
  }

  test(
    "joins and subqueries count as the keys that they let through; statements of ours do not",
    Slow) {
    withTableDir { dir =>
      withSQLConf(on) {
        read(dir).createOrReplaceTempView("fact")
        spark.range(50).selectExpr("id", "id * 7 k").write.mode("overwrite")
          .parquet(new File(dir.getParentFile, "dim").toString)
        spark.read.parquet(new File(dir.getParentFile, "dim").toString)
          .createOrReplaceTempView("dim")
        sql("SELECT * FROM fact JOIN dim ON a = k WHERE dim.id < 3").collect()
        sql(s"OPTIMIZE '$dir' ZORDER BY (a) OPTIONS (${sizeFor(dir, 16)}) DRY RUN").collect()
        sql(s"SHOW LAYOUT '$dir'").collect()
        val rows = workload(dir)
        assert(
          rows.map(columnsOf).toSet.subsetOf(
            Set(Seq("a" -> "values"), Seq("a" -> "range"), Nil)),
          rows)
        assert(rows.exists(_.getBoolean(1)), rows)
        assert(rows.map(_.getLong(2)).sum === 1)
      }
    }
  }

  test("a property turns it on and off for a table, columns can be excluded, VACUUM removes") {
    withTable("w") {
      WorkloadCapture.clear()
      spark.range(0, 1000, 1, 4).selectExpr("id", "hash(id) a").write.format("parquet")
        .saveAsTable("w")
      sql("CREATE ZORDER INDEX ON w")
      sql("ALTER TABLE w SET TBLPROPERTIES ('zorder.workload.enabled' = 'true')")
      sql("SELECT * FROM w WHERE a = 5").collect()
      assert(sql("SHOW WORKLOAD w").collect().map(_.getLong(2)).toSeq === Seq(1L))
      withSQLConf(on) {
        sql("ALTER TABLE w SET TBLPROPERTIES ('zorder.workload.enabled' = 'false')")
        sql("SELECT * FROM w WHERE a = 6").collect()
        assert(sql("SHOW WORKLOAD w").collect().map(_.getLong(2)).toSeq === Seq(1L))
        sql("ALTER TABLE w SET TBLPROPERTIES ('zorder.workload.enabled' = 'true', " +
          "'zorder.workload.exclude' = 'A')")
        sql("SELECT * FROM w WHERE a = 7 AND id < 10").collect()
        assert(sql("SHOW WORKLOAD w").collect().map(columnsOf).toSet ===
          Set(Nil, Seq("id" -> "range")))
      }
      val files = new File(locationOf("w"), "_zorder/_workload").listFiles()
      assert(files.length === 1 && files.head.getName.startsWith("_") && files.head.length < 65536)
      assert(!new String(java.nio.file.Files.readAllBytes(files.head.toPath)).contains("SELECT"))
      assert(sql("VACUUM LAYOUT w").collect().isEmpty)
      assert(sql("VACUUM LAYOUT w RETAIN 0 HOURS DRY RUN").collect().map(_.getString(1)).toSeq ===
        Seq("workload"))
      sql("VACUUM LAYOUT w RETAIN 0 HOURS").collect()
      assert(sql("SHOW WORKLOAD w").collect().isEmpty)
      sql("SELECT * FROM w WHERE a = 8 AND id < 10").collect()
      assert(sql("SHOW WORKLOAD w").collect().map(_.getLong(2)).toSeq === Seq(1L))
    }
  }

  test("an excluded column: no scan of the path notes it, no statement shows it, AUTO leaves it") {
    withTable("w") {
      WorkloadCapture.clear()
      spark.range(0, 40000, 1, 8).selectExpr("id", "pmod(hash(id), 10000) a", "hash(id, 1) b")
        .write.format("parquet").saveAsTable("w")
      sql("CREATE ZORDER INDEX ON w")
      val dir = locationOf("w")
      def names = sql("SHOW WORKLOAD w").collect().flatMap(columnsOf(_)).map(_._1).toSet
      def files = new File(dir, "_zorder/_workload").listFiles().map(f =>
        new String(java.nio.file.Files.readAllBytes(f.toPath))).toSeq
      withSQLConf(on) {
        sql("SELECT * FROM w WHERE a = 5").collect()
        assert(names === Set("a"))
        sql("ALTER TABLE w SET TBLPROPERTIES ('zorder.workload.exclude' = 'A')")
        // a scan without filters, in a session that compares names with case
        withSQLConf("spark.sql.caseSensitive" -> "true")(sql("SELECT * FROM w").collect())
        WorkloadCapture.flush()
        assert(files.size === 1 && !files.head.contains("\"a\""), files)
        WorkloadCapture.clear()
        read(dir).where("a = 6 AND b > 0").collect()
        WorkloadCapture.flush()
        assert(files.size === 2 && files.forall(!_.contains("\"a\"")), files)
        // a file from before the column was excluded
        record(dir, "a" -> 200)
        assert(names === Set.empty)
        read(dir).where("b > 0").collect()
        assert(names === Set("b"))
        for (row <- Seq(
            sql("OPTIMIZE TABLE w ZORDER BY AUTO DRY RUN").head(),
            auto(dir, size(dir), "DRY RUN")))
          assert(!reason(row).contains("(a"), row)

        sql("ALTER TABLE w SET TBLPROPERTIES ('zorder.workload.enabled' = 'false')")
        WorkloadCapture.clear()
        val before = files.toSet
        read(dir).where("b = 6").collect()
        WorkloadCapture.flush()
        assert(files.toSet === before)
      }
    }
  }

  test("a column that is excluded later leaves the record of the day; a wrong property is off") {
    withTable("w", "d") {
      WorkloadCapture.clear()
      spark.range(0, 1000, 1, 4).selectExpr("id", "hash(id) a").write.format("parquet")
        .saveAsTable("w")
      sql("CREATE ZORDER INDEX ON w")
      def properties(p: String) = sql(s"ALTER TABLE w SET TBLPROPERTIES ($p)")
      def recorded = sql("SHOW WORKLOAD w").collect().map(r => columnsOf(r) -> r.getLong(2)).toMap
      properties("'zorder.workload.enabled' = 'true'")
      sql("SELECT * FROM w WHERE a = 5").collect()
      assert(recorded === Map(Seq("a" -> "point") -> 1L))
      properties("'zorder.workload.exclude' = 'a'")
      sql("SELECT * FROM w WHERE id < 7").collect()
      assert(recorded === Map(Nil -> 1L, Seq("id" -> "range") -> 1L))

      properties("'zorder.workload.enabled' = 'yes'")
      spark.range(3).write.format("parquet").saveAsTable("d")
      val failures = IndexPruning.failureCount
      assert(sql("SELECT * FROM w JOIN d ON w.id = d.id WHERE d.id < 2").count() === 2)
      assert(IndexPruning.failureCount === failures)
      withSQLConf(on)(sql("SELECT * FROM w WHERE id < 7").collect())
      assert(recorded.values.sum === 2)
    }
  }

  test("fields of a struct have no ranks of the struct: they are not noted", Slow) {
    withTableDir { dir =>
      val other = new File(dir.getParentFile, "nested")
      write(read(dir).selectExpr("named_struct('a', a, 'n', s, 'id', id) s", "b"), other)
      sql(s"CREATE ZORDER INDEX ON '$other'")
      ask(
        other,
        "s.a = 5",
        "s.n = 'name7'",
        "s.a = 5 AND s.id = 70 AND b < 9",
        "s.a = 5 AND s.n > 'm'")
      assert(workload(other).map(r => (columnsOf(r), r.getLong(2), r.getLong(6))).toSet === Set(
        (Nil, 3L, 4L),
        (Seq("b" -> "range"), 1L, 2L)))
    }
  }
}
