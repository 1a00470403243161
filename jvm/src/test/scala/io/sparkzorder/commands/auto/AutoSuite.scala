package io.sparkzorder.commands.auto

import java.io.File

import org.apache.spark.sql.Row

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.workload.{RecordedScans, WorkloadCapture}

/** From the capture of scans to ZORDER BY AUTO and back. */
class AutoSuite extends OptimizeTestBase {
  private val on = "spark.zorder.workload.enabled" -> "true"

  override def withTableDir(body: File => Unit): Unit = super.withTableDir { dir =>
    WorkloadCapture.clear()
    write(
      spark.range(0, 40000, 1, 8).selectExpr(
        "id",
        "pmod(hash(id), 10000) a",
        "pmod(hash(id, 1), 10000) b",
        "concat('name', pmod(hash(id, 2), 5000)) s",
        "cast(id as string) as other"),
      dir)
    sql(s"CREATE ZORDER INDEX ON '$dir'")
    body(dir)
  }

  private def workload(dir: File): Seq[Row] = sql(s"SHOW WORKLOAD '$dir'").collect().toSeq

  private def columnsOf(row: Row): Seq[(String, String)] =
    row.getSeq[Row](0).map(r => (r.getString(0), r.getString(1)))

  private def ask(dir: File, filters: String*): Unit = withSQLConf(on) {
    filters.foreach(f => read(dir).where(f).collect())
  }

  private def bytesOf(dir: File): Double = dataFiles(dir).map(_.length.toDouble).sum

  /** As if so many point queries had been run. */
  private def record(dir: File, of: (String, Int)*): Unit =
    RecordedScans.write(dir, bytesOf(dir))(of.flatMap { case (column, n) =>
      (0 until n).map { i =>
        val at = (i * 97 % 256 + 0.5) / 256
        Seq(column -> ((at, at)))
      }
    }: _*)

  private def size(dir: File): String = sizeFor(dir, 64)

  private def auto(dir: File, size: String, clauses: String = ""): Row =
    sql(s"OPTIMIZE '$dir' ZORDER BY AUTO OPTIONS ($size) $clauses").head()

  private def reason(row: Row): String = row.getAs[String]("reason")

  test("what is noted of scans: columns, kinds, ranks, and nothing while it is off") {
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

  test("joins and subqueries count as the keys that they let through; statements of ours do not") {
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

  test("AUTO chooses the columns, DRY RUN tells it before, a second run does nothing") {
    withTableDir { dir =>
      val files = size(dir)
      record(dir, "a" -> 120, "b" -> 30)
      val plan = auto(dir, files, "DRY RUN")
      assert(gains(plan).map(_.getString(0)) === Seq("a", "b"), plan)
      Seq("AUTO chooses (a:", "leave it", "150 of 150 recorded scans", "and by").foreach { part =>
        assert(reason(plan).contains(part), reason(plan))
      }
      val rows = bag(read(dir))
      val done = auto(dir, files)
      assert(metric(done, "numFilesAdded") >= 60, done)
      assert(gains(done).map(_.getString(0)) === Seq("a", "b"))
      val perPoint = gains(done).map(_.getDouble(2))
      assert(perPoint.head <= 8 && perPoint.head < perPoint(1), done)
      assert(bag(read(dir)) === rows)

      val again = auto(dir, files)
      assert(metric(again, "numFilesAdded") === 0, again)
      assert(reason(again).contains("AUTO keeps the layout by (a, b)"), again)
      // without ZORDER BY the layout stays, with its weights
      val more = sql(s"OPTIMIZE '$dir' OPTIONS ($files)").head()
      assert(gains(more).map(_.getString(0)) === Seq("a", "b"))
      assert(metric(more, "numFilesAdded") === 0, more)
    }
  }

  test("too few scans, scans without use, small gains, small workloads, and wrong options") {
    withTableDir { dir =>
      val files = size(dir)
      def nothing(why: String): Unit = {
        val row = auto(dir, files)
        assert(metric(row, "numFilesAdded") === 0 && metric(row, "numFilesRemoved") === 0, row)
        assert(reason(row).contains("AUTO keeps the files as they are"), row)
        assert(reason(row).contains(why), row)
      }
      nothing("0 scans are recorded")
      RecordedScans.write(dir, bytesOf(dir))(Seq.fill(110)(Nil): _*)
      nothing("none of the 110 recorded scans can skip files")
      RecordedScans.write(
        dir,
        bytesOf(dir))(Seq.fill(10)(Seq("no_such_column" -> ((0.1, 0.1)))): _*)
      nothing("no recorded scan is on a column")
      RecordedScans.write(dir, bytesOf(dir))(Seq.fill(90)(Seq("a" -> ((0.02, 1.0)))): _*)
      nothing("saves a fifth")
      RecordedScans.write(dir, 10.0)(Seq.fill(9000)(Seq("a" -> ((0.3, 0.3)))): _*)
      nothing("saves a fifth")
      fails("ZORDER_INVALID_SETTING", "AUTO chooses the weights")(
        sql(s"OPTIMIZE '$dir' ZORDER BY AUTO OPTIONS ('weights' 'a:2')"))
    }
  }

  test("what is saved must be worth the rewrite") {
    withTableDir { dir =>
      RecordedScans.write(dir, bytesOf(dir) / 50)(Seq.fill(110)(Seq("a" -> ((0.3, 0.3)))): _*)
      val row = auto(dir, size(dir))
      assert(metric(row, "numFilesAdded") === 0, row)
      assert(reason(row).contains("not worth a rewrite"), row)
    }
  }

  test("alternating workloads do not flip the layout; drift changes it") {
    withTableDir { dir =>
      val files = size(dir)
      record(dir, "a" -> 60, "b" -> 60)
      assert(metric(auto(dir, files), "numFilesAdded") > 0)
      for (c <- Seq("a", "b")) {
        record(dir, c -> 20)
        val row = auto(dir, files)
        assert(metric(row, "numFilesAdded") === 0, row)
      }
      record(dir, "s" -> 1500)
      val row = auto(dir, files)
      assert(gains(row).map(_.getString(0)).contains("s"), row)
      assert(metric(row, "numFilesAdded") > 0, row)
      assert(metric(auto(dir, files), "numFilesAdded") === 0)
    }
  }

  test("a table with partitions, NULLs, a constant and a skewed column") {
    withTableDir { dir =>
      val other = new File(dir.getParentFile, "other")
      write(
        read(dir).selectExpr(
          "id",
          "if(id % 5 = 0, null, a) a",
          "if(id % 2 = 0, 7, b) b",
          "1 one",
          "id % 2 p"),
        other,
        "p")
      sql(s"CREATE ZORDER INDEX ON '$other'")
      record(other, "a" -> 60, "b" -> 60, "one" -> 20, "p" -> 10)
      val rows = bag(read(other))
      val row = auto(other, size(other))
      assert(gains(row).map(_.getString(0)).toSet.subsetOf(Set("a", "b")), row)
      assert(metric(row, "numFilesAdded") > 0, row)
      assert(bag(read(other)) === rows)
      assert(metric(auto(other, size(other)), "numFilesAdded") >= 0)
    }
  }

  test("`auto` in parentheses, quoted or among others is a column") {
    withTableDir { dir =>
      val other = new File(dir.getParentFile, "other")
      write(read(dir).withColumnRenamed("a", "auto"), other)
      for (by <- Seq("(auto)", "`auto`", "auto, b", "(b, auto)")) {
        val row = sql(s"OPTIMIZE '$other' ZORDER BY $by DRY RUN").head()
        assert(gains(row).map(_.getString(0)).contains("auto"), by)
      }
      assert(gains(sql(s"OPTIMIZE '$other' ZORDER BY auto DRY RUN").head()).isEmpty)
    }
  }

  test("SORT BY ZORDER AUTO: declared at CREATE or later, kept by OPTIMIZE, taken back") {
    def properties(table: String) =
      sql(s"SHOW TBLPROPERTIES $table").collect().map(r => r.getString(0) -> r.getString(1)).toMap
    withTable("x", "y") {
      sql("CREATE TABLE x (id BIGINT, a INT) USING parquet SORT BY ZORDER AUTO")
      assert(properties("x").get("zorder.order") === Some("auto"))
      spark.range(0, 1000, 1, 4).selectExpr("id", "hash(id) a").write.insertInto("x")
      sql("CREATE ZORDER INDEX ON x")
      sql("SELECT * FROM x WHERE a = 5").collect()
      assert(sql("SHOW WORKLOAD x").count() === 1)
      val row = sql("OPTIMIZE x").head()
      assert(reason(row).contains("AUTO keeps the files as they are: 1 scans"), row)
      assert(metric(row, "numFilesAdded") === 1, "small files are put together")
      sql("ALTER TABLE x SORT BY (a)")
      assert(properties("x").get("zorder.columns") === Some("a"))
      assert(gains(sql("OPTIMIZE x").head()).map(_.getString(0)) === Seq("a"))
      sql("ALTER TABLE x SORT BY ZORDER AUTO")
      assert(properties("x").get("zorder.columns") === None)
      assert(reason(sql("OPTIMIZE x").head()).contains("AUTO keeps the layout by (a)"))
      sql("ALTER TABLE x SORT BY ()")
      assert(properties("x").get("zorder.order") === None)
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
          Set(Seq("a" -> "point"), Seq("id" -> "range")))
      }
      val files = new File(locationOf("w"), "_zorder/_workload").listFiles()
      assert(files.length === 1 && files.head.getName.startsWith("_") && files.head.length < 65536)
      assert(!new String(java.nio.file.Files.readAllBytes(files.head.toPath)).contains("SELECT"))
      assert(sql("VACUUM LAYOUT w").collect().isEmpty)
      assert(sql("VACUUM LAYOUT w RETAIN 0 HOURS DRY RUN").collect().map(_.getString(1)).toSeq ===
        Seq("workload"))
      sql("VACUUM LAYOUT w RETAIN 0 HOURS").collect()
      WorkloadCapture.clear()
      assert(sql("SHOW WORKLOAD w").collect().isEmpty)
    }
  }
}
