package io.sparkzorder.commands.optimize

import java.io.File

import org.apache.spark.sql.Row
import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.commands.OptimizeTestBase

/** OPTIMIZE by SQL: targets, clauses and what a run leaves behind. */
class OptimizeSuite extends OptimizeTestBase {
  override protected def codegen: Boolean = true

  private def gains(row: Row): Seq[Row] = row.getSeq[Row](row.fieldIndex("columns"))

  test("a path table, by all its spellings") {
    withTableDir { dir =>
      write(shuffled(2000, 4), dir)
      val path = dir.getAbsolutePath
      for (target <- Seq(s"'$path'", s"TABLE PARQUET.`$path/`")) {
        val row = optimize(
          s"OPTIMIZE $target ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 4)})",
          dir)(read(dir))
        assert(gains(row).map(_.getString(0)) === Seq("a", "b"))
      }
    }
  }

  test("a managed table and an external one") {
    withTable("managed", "external") {
      shuffled(2000, 4).write.format("parquet").saveAsTable("managed")
      optimize("OPTIMIZE managed ZORDER BY a, b", locationOf("managed"))(spark.table("managed"))
      withTableDir { dir =>
        write(shuffled(1000, 3), dir)
        sql(s"CREATE TABLE external USING parquet LOCATION '${dir.getAbsolutePath}'")
        optimize("OPTIMIZE default.external ZORDER BY b", dir)(spark.table("external"))
        optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(spark.table("external"))
      }
    }
  }

  test("a point query touches about the ideal number of files") {
    withTableDir { dir =>
      write(shuffled(6000, 8), dir)
      val row = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 16)})",
        dir)(read(dir))
      val files = dataFiles(dir).size
      assert(files >= 12 && files <= 22)
      gains(row).foreach { g =>
        val Seq(before, after, ideal) = g.toSeq.tail.map(_.asInstanceOf[Double])
        assert(before > 7.9 && before <= 8.0)
        assert(math.abs(ideal - math.sqrt(files.toDouble)) < 1e-9)
        assert(after <= 1.2 * ideal, g.toString)
        // an independent look at the footers; the values of the column are uniform
        val seen = filesPerPoint(dir, g.getString(0), 0L until 1000L)
        assert(math.abs(seen - after) <= 0.1 * seen, s"$seen, reported $after")
      }
    }
  }

  test("two runs give the same layout") {
    withTableDir { dir =>
      write(shuffled(5000, 5), dir)
      val statement = s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 8)})"
      optimize(statement, dir)(read(dir))
      def layout = dataFiles(dir).map(f => (f.name.take(10), f.rows))
      val once = layout
      optimize(statement.replace("ZORDER", "FULL ZORDER"), dir)(read(dir))
      assert(layout.map(_._2).sum === once.map(_._2).sum)
      assert(math.abs(layout.size - once.size) <= 1)
    }
  }

  test("WHERE chooses partitions by any expression over them") {
    withTable("other") {
      sql("CREATE TABLE other USING parquet AS SELECT 2 AS wanted")
      withTableDir { dir =>
        write(shuffled(400, 2).selectExpr("*", "id % 4 p", "concat('k ', id % 2) q"), dir, "p", "q")
        def chosen(where: String): Set[String] = {
          val before = dataFiles(dir)
          optimize(s"OPTIMIZE '$dir' FULL WHERE $where ZORDER BY (a)", dir)(read(dir))
          before.diff(dataFiles(dir)).map(_.folder).toSet
        }
        val all = dataFiles(dir).map(_.folder).toSet
        assert(all === Set("p=0/q=k 0", "p=1/q=k 1", "p=2/q=k 0", "p=3/q=k 1"))
        def considered(where: String): Long = sql(s"OPTIMIZE '$dir' WHERE $where DRY RUN")
          .select("metrics.totalConsideredFiles").head().getLong(0)
        assert(considered("p = 1") === 2)
        assert(considered("p IN (0, 3)") === 4)
        assert(considered("p = (SELECT max(wanted) FROM other)") === 2)
        assert(considered("EXISTS (SELECT 1 FROM other WHERE wanted = 3)") === 0)
        assert(considered("q BETWEEN 'k 0' AND 'k 00'") === 4)
        assert(considered("CASE WHEN p = 3 THEN true END") === 2)
        assert(chosen("P >= 1 AND p < 3") === Set("p=1/q=k 1", "p=2/q=k 0"))
        assert(chosen("upper(q) LIKE '%1' OR pmod(p, 4) = 0") ===
          Set("p=0/q=k 0", "p=1/q=k 1", "p=3/q=k 1"))
        assert(chosen("p IN (SELECT wanted FROM other)") === Set("p=2/q=k 0"))
        assert(chosen("p = 99") === Set())
      }
    }
  }

  test("WHERE over a catalog table, with qualified names") {
    withTable("pt") {
      shuffled(600, 2).selectExpr("*", "id % 3 P").write.format("parquet").partitionBy("P")
        .saveAsTable("pt")
      val dir = locationOf("pt")
      for (where <- Seq("pt.p = 1", "default.pt.P = 1", "t.p = 1")) {
        val statement = s"OPTIMIZE pt FULL WHERE $where ZORDER BY (a)"
        if (where.startsWith("t.")) intercept[Exception](sql(statement))
        else {
          val row = optimize(statement, dir)(spark.table("pt"))
          assert(row.getAs[Row]("metrics").getAs[Long]("partitionsOptimized") === 1, where)
        }
      }
    }
  }

  test("INTO an empty or missing directory leaves the source alone") {
    withTempDir { base =>
      val dir = new File(base, "table")
      write(shuffled(1000, 4).selectExpr("*", "concat('x=', id % 3) p"), dir, "p")
      val before = snapshot(dir)
      val rows = bag(read(dir))
      val empty = new File(base, "empty")
      assert(empty.mkdir())
      for (out <- Seq(empty, new File(base, "missing/below"))) {
        val row = sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$out' " +
          s"OPTIONS (${sizeFor(dir, 6)})").head()
        assert(snapshot(dir) === before)
        assert(bag(read(out)) === rows)
        val written = dataFiles(out)
        val m = row.getAs[Row]("metrics")
        assert(m.getAs[Long]("numFilesAdded") === written.size)
        assert(m.getAs[Row]("filesAdded").getAs[Long]("totalSize") === written.map(_.length).sum)
        assert(m.getAs[Long]("numFilesRemoved") === 0)
        assert(m.getAs[Long]("retainedBytes") === 0)
        assert(m.getAs[Long]("numRows") === 1000)
        assert(m.isNullAt(m.fieldIndex("retainedUntil")))
        assert(written.map(_.folder).toSet === dataFiles(dir).map(_.folder).toSet)
        val others = snapshot(out).filter(_._2._2 != "directory").keySet.map(_.split('/').last)
          .filterNot(_.endsWith(".parquet"))
        assert(others === Set("_SUCCESS", "_README", "_1"))
        assert(new File(out, "_zorder/_index/_1").isFile)
        checkState(out)
        val again = fails("ZORDER_TARGET_NOT_EMPTY")(sql(s"OPTIMIZE '$dir' INTO '$out'"))
        assert(again.getMessage.contains(out.getName))
      }
      fails("ZORDER_PATH_IN_TABLE")(sql(s"OPTIMIZE '$dir' INTO '$dir/inside'"))
      fails("ZORDER_TARGET_NOT_EMPTY")(
        sql(s"OPTIMIZE '$dir' INTO '${dataFilesAsFiles(out = empty).head}'"))
      assert(snapshot(dir) === before)
    }
  }

  test("INTO without columns copies every file, small or not") {
    withTempDir { base =>
      val dir = new File(base, "table")
      write(shuffled(3000, 1).selectExpr("*", "0 p"), dir, "p")
      write(shuffled(60, 3).selectExpr("*", "0 p"), new File(base, "more"), "p")
      for (f <- dataFilesAsFiles(new File(base, "more"))) {
        assert(f.renameTo(new File(dir, s"p=0/${f.getName}")))
      }
      // one small file alone in its folder
      write(shuffled(10, 1).selectExpr("*", "1 p"), new File(base, "alone"), "p")
      assert(new File(base, "alone/p=1").renameTo(new File(dir, "p=1")))
      val before = snapshot(dir)
      val out = new File(base, "out")
      sql(s"OPTIMIZE '$dir' INTO '$out' OPTIONS ('targetFileSize' '4k')").collect()
      assert(bag(read(out)) === bag(read(dir)))
      assert(snapshot(dir) === before)
    }
  }

  private def dataFilesAsFiles(out: File): Seq[File] =
    dataFiles(out).map(f => new File(new File(out, f.folder), f.name))

  test("DRY RUN writes nothing and predicts the shares") {
    withTableDir { dir =>
      write(shuffled(6000, 8), dir)
      val before = snapshot(dir)
      val clauses = s"ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 16)})"
      val plan = sql(s"OPTIMIZE '$dir' $clauses DRY RUN").head()
      assert(snapshot(dir) === before)
      assert(plan.getAs[Boolean]("dryRun"))
      val row = optimize(s"OPTIMIZE '$dir' $clauses", dir)(read(dir))
      def files(r: Row) = r.getAs[Row]("metrics").getAs[Long]("numFilesAdded")
      assert(files(plan) === files(row))
      gains(plan).zip(gains(row)).foreach { case (p, r) =>
        assert(p.getDouble(1) === r.getDouble(1))
        assert(p.getDouble(3) === r.getDouble(3))
        assert(math.abs(p.getDouble(2) - r.getDouble(2)) <= 0.1 * r.getDouble(2), s"$p $r")
      }
      def size(r: Row) =
        r.getAs[Row]("metrics").getAs[Row]("filesAdded").getAs[Long]("totalSize").toDouble
      assert(size(plan) / size(row) > 0.6 && size(plan) / size(row) < 1.7)
      assert(plan.getAs[Row]("metrics").getAs[Long]("numRows") === 6000)
      val committed = snapshot(dir)
      assert(sql(s"OPTIMIZE '$dir' DRY RUN").count() === 1)
      withTempDir { other =>
        sql(s"OPTIMIZE '$dir' $clauses DRY RUN").collect()
        sql(s"OPTIMIZE '$dir' ZORDER BY a INTO '$other/x' DRY RUN").collect()
        assert(!new File(other, "x").exists())
      }
      assert(snapshot(dir) === committed)
    }
  }

  test("compaction keeps the order of rows and leaves large files alone") {
    withTableDir { dir =>
      write(shuffled(3000, 1), dir)
      val large = dataFiles(dir).head
      write(shuffled(100, 5), dir)
      val row = optimize(
        s"OPTIMIZE '$dir' OPTIONS ('targetFileSize' '${large.length}')",
        dir)(read(dir))
      assert(dataFiles(dir).contains(large))
      assert(dataFiles(dir).size === 2)
      assert(gains(row) === Nil)
      val small = dataFiles(dir).filterNot(_ == large).head
      val ids = spark.read.parquet(s"$dir/${small.name}").select("id").collect().map(_.getLong(0))
      // the five files were consecutive ranges of id, named by their part number
      assert(ids.toSeq === (0L until 100L))
      val again = optimize(
        s"OPTIMIZE '$dir' OPTIONS ('targetFileSize' '${large.length}')",
        dir)(read(dir))
      assert(again.getAs[String]("reason") === "there are no small files to put together")
    }
  }

  test("FULL rewrites every file") {
    withTableDir { dir =>
      write(shuffled(500, 3), dir)
      optimize(s"OPTIMIZE '$dir' FULL ZORDER BY (a)", dir)(read(dir))
      val once = dataFiles(dir)
      optimize(s"OPTIMIZE '$dir' FULL", dir)(read(dir))
      assert(dataFiles(dir).intersect(once) === Nil)
    }
  }

  test("without ZORDER BY: the table's layout before the property zorder.columns") {
    withTable("t") {
      shuffled(500, 3).write.format("parquet").saveAsTable("t")
      val dir = locationOf("t")
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'a , `b`')")
      def columns(statement: String) = gains(optimize(statement, dir)(spark.table("t")))
        .map(_.getString(0))
      assert(columns("OPTIMIZE t") === Seq("a", "b"))
      assert(columns("OPTIMIZE t ZORDER BY (s)") === Seq("s"))
      assert(columns("OPTIMIZE t") === Seq("s"))
      withTable("u") {
        shuffled(500, 3).write.format("parquet").saveAsTable("u")
        sql("ALTER TABLE u SET TBLPROPERTIES ('zorder.columns' = 'a, nope')")
        fails("ZORDER_COLUMN_NOT_FOUND", "`nope`")(sql("OPTIMIZE u"))
      }
    }
  }

  test("nested fields and odd names") {
    withTableDir { dir =>
      val odd = Seq("with.dot", "with-dash", "with space", "select", "größe", "日本", "back`tick")
      val df = shuffled(800, 3).selectExpr(
        Seq("id", "named_struct('b', a, 'C', named_struct('d.e', b)) st") ++
          odd.zipWithIndex.map { case (n, i) =>
            s"pmod(hash(id, $i), 100) `${n.replace("`", "``")}`"
          }: _*)
      write(df, dir)
      val row = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (st.b, ST.c.`d.e`) OPTIONS (${sizeFor(dir, 4)})",
        dir)(read(dir))
      assert(gains(row).map(_.getString(0)) === Seq("st.b", "st.C.`d.e`"))
      val names = odd.map(n => s"`${n.replace("`", "``")}`")
      val all = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (${names.mkString(", ")})",
        dir)(read(dir))
      assert(gains(all).size === odd.size)
      // the columns of the layout are found again
      val again = optimize(s"OPTIMIZE '$dir'", dir)(read(dir))
      assert(gains(again).map(_.getString(0)) === gains(all).map(_.getString(0)))
      fails("ZORDER_COLUMN_NOT_FOUND", "nope")(sql(s"OPTIMIZE '$dir' ZORDER BY st.nope"))
      fails("ZORDER_COLUMN_NOT_ORDERABLE", "one of its fields")(
        sql(s"OPTIMIZE '$dir' ZORDER BY st"))
      fails("ZORDER_COLUMN_DUPLICATED", "st.b")(sql(s"OPTIMIZE '$dir' ZORDER BY st.b, ST.B"))
    }
  }

  test("a table in an odd directory") {
    withTempDir { base =>
      for (name <- Seq("with space 100% a+b", "per%20cent,h#größe")) {
        val dir = new File(base.getCanonicalFile, name)
        write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
        optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
        optimize(s"OPTIMIZE parquet.`$dir` WHERE p = 0 ZORDER BY (a, b)", dir)(read(dir))
      }
    }
  }

  test("both case sensitivities") {
    withTableDir { dir =>
      withSQLConf(SQLConf.CASE_SENSITIVE.key -> "true") {
        write(shuffled(400, 2).selectExpr("id", "a", "b A"), dir)
        val row = optimize(s"OPTIMIZE '$dir' ZORDER BY (A, a)", dir)(read(dir))
        assert(gains(row).map(_.getString(0)) === Seq("A", "a"))
        fails("ZORDER_COLUMN_NOT_FOUND", "`ID`")(sql(s"OPTIMIZE '$dir' ZORDER BY ID"))
      }
      fails("ZORDER_INCOMPATIBLE_SCHEMAS", "caseSensitive")(sql(s"OPTIMIZE '$dir' ZORDER BY a"))
    }
    withTableDir { dir =>
      write(shuffled(400, 2), dir)
      val row = optimize(s"OPTIMIZE '$dir' ZORDER BY (ID, A)", dir)(read(dir))
      assert(gains(row).map(_.getString(0)) === Seq("id", "a"))
      fails("ZORDER_COLUMN_DUPLICATED")(sql(s"OPTIMIZE '$dir' ZORDER BY (a, A)"))
    }
  }

  test("columns that are refused") {
    withTableDir { dir =>
      write(
        shuffled(100, 1).selectExpr("*", "array(a) arr", "map(a, b) m", "id % 2 p"),
        dir,
        "p")
      val before = snapshot(dir)
      fails("ZORDER_COLUMN_NOT_FOUND", "`nope`", "`arr`")(sql(s"OPTIMIZE '$dir' ZORDER BY nope"))
      fails("ZORDER_COLUMN_IS_PARTITION_COLUMN", "`P`")(sql(s"OPTIMIZE '$dir' ZORDER BY (a, P)"))
      fails("ZORDER_COLUMN_NOT_ORDERABLE", "ARRAY<INT>")(sql(s"OPTIMIZE '$dir' ZORDER BY arr"))
      fails("ZORDER_COLUMN_NOT_ORDERABLE", "MAP<")(sql(s"OPTIMIZE '$dir' ZORDER BY m"))
      fails("ZORDER_TOO_MANY_COLUMNS", "64")(
        sql(s"OPTIMIZE '$dir' ZORDER BY ${(1 to 64).map("c" + _).mkString(", ")}"))
      assert(snapshot(dir) === before)
    }
  }

  test("the caches of a session show the new files") {
    withTable("t") {
      shuffled(1000, 4).write.format("parquet").saveAsTable("t")
      val dir = locationOf("t")
      sql("CACHE TABLE t")
      val cached = spark.table("t").where("a < 500")
      cached.cache()
      val expected = bag(cached)
      val open = spark.read.parquet(dir.getAbsolutePath)
      assert(open.count() === 1000)
      optimize(s"OPTIMIZE t ZORDER BY (a, b)", dir)(spark.table("t"))
      assert(spark.catalog.isCached("t"))
      assert(bag(spark.table("t").where("a < 500")) === expected)
      // nothing that is cached still opens a file that is gone
      sql("REFRESH TABLE t")
      assert(spark.table("t").count() === 1000)
      sql("UNCACHE TABLE t")
      cached.unpersist()
      assert(spark.table("t").inputFiles.map(f => f.split('/').last).toSet ===
        dataFiles(dir).map(_.name).toSet)
      optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(spark.table("t"))
    }
  }

  test("the user's session and job description stay as they were") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      val sc = spark.sparkContext
      sc.setJobDescription("mine")
      sc.setJobGroup("group", "mine", interruptOnCancel = false)
      try {
        val before = spark.conf.getAll
        optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
        intercept[Exception](sql(s"OPTIMIZE '$dir' ZORDER BY nope"))
        assert(spark.conf.getAll === before)
        assert(sc.getLocalProperty("spark.job.description") === "mine")
        assert(sc.getLocalProperty("spark.jobGroup.id") === "group")
        assert(sc.getLocalProperty("callSite.short") === null)
      } finally sc.clearJobGroup()
    }
  }

  test("files that were not listed are never touched") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      val strangers = Seq("_SUCCESS", "_note", ".hidden", "_other/x.parquet", ".dir/y")
      strangers.foreach { n =>
        val f = new File(dir, n)
        f.getParentFile.mkdirs()
        java.nio.file.Files.write(f.toPath, "mine".getBytes("UTF-8"))
      }
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
      val after = snapshot(dir)
      strangers.foreach(n => assert(after.contains(n), n))
    }
  }

  test("a file of the same name as one that an earlier run replaced") {
    withTableDir { dir =>
      write(shuffled(300, 1), dir)
      val first = dataFiles(dir).head.name
      val copy = new File(dir.getParentFile, "copy")
      java.nio.file.Files.copy(new File(dir, first).toPath, copy.toPath)
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
      // writers that always call their file the same
      java.nio.file.Files.copy(copy.toPath, new File(dir, first).toPath)
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
      assert(read(dir).count() === 600)
    }
  }
}
