// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import java.io.File

import scala.util.Random

import org.scalatest.tagobjects.Slow

import io.sparkzorder.workload.RecordedScans

/** ZORDER BY AUTO: what it chooses, when it leaves the layout, and SORT BY ZORDER AUTO. */
class AutoSuite extends AutoTestBase {

  test("AUTO chooses the columns, DRY RUN tells it before") {
    withTableDir { dir =>
      val files = size(dir)
      record(dir, "a" -> 120, "b" -> 30)
      val plan = auto(dir, files, "DRY RUN")
      assert(gains(plan).map(_.getString(0)) === Seq("a", "b"), plan)
      Seq("AUTO chooses (a:", "files stay", "150 of 150 recorded scans", "and by").foreach { part =>
        assert(reason(plan).contains(part), reason(plan))
      }
      val rows = bag(read(dir))
      val done = auto(dir, files)
      assert(metric(done, "numFilesAdded") >= 60, done)
      assert(gains(done).map(_.getString(0)) === Seq("a", "b"))
      val perPoint = gains(done).map(_.getDouble(2))
      assert(perPoint.head <= 8 && perPoint.head < perPoint(1), done)
      assert(bag(read(dir)) === rows)
    }
  }

  test("a column in two spellings is one column") {
    withTableDir { dir =>
      record(dir, "a" -> 60, "A" -> 60)
      val chosen = reason(auto(dir, size(dir), "DRY RUN"))
      assert(chosen.startsWith("AUTO chooses (a): 120 of 120"), chosen)
      // once as the choice, and once in the list of layouts
      assert(chosen.split("\\(a\\)", -1).length === 3, chosen)
      assert(!chosen.contains("(a, a"), chosen)
    }
  }

  test("a second AUTO and a run without ZORDER BY keep the layout", Slow) {
    withTableDir { dir =>
      val files = size(dir)
      record(dir, "a" -> 120, "b" -> 30)
      auto(dir, files)
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
      nothing("the table has a skipping index")
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

  test("a form of one scan does not outweigh a form of 46, from the scans to the files", Slow) {
    withTableDir { dir =>
      val random = new Random(1)
      def point = s"a = ${random.nextInt(10000)}"
      def range = {
        val from = random.nextInt(9500)
        s"b BETWEEN $from AND ${from + 499}"
      }
      val asked = Seq.fill(88)(point) ++ Seq.fill(46)(range) ++
        Seq.fill(15)(s"$point AND $range") :+ "s BETWEEN 'name1' AND 'name13'"
      ask(dir, random.shuffle(asked): _*)
      val row = auto(dir, size(dir))
      info(reason(row))
      assert(gains(row).map(_.getString(0)) === Seq("a", "b"), row)
      // the chosen layout reads the least of those that are listed
      val listed =
        "\\((\\S[^)]*)\\) (\\d+) (\\w+)".r.findAllMatchIn(reason(row).split("stay as they are")(1))
          .map(m => (m.group(1), m.group(2).toLong)).toSeq
      assert(listed.size > 2 && listed.map(_._2).min === listed.head._2, listed)
      assert(reason(row).contains(s"AUTO chooses (${listed.head._1}): 150 of 150"), reason(row))
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

  test("alternating workloads do not flip the layout; drift changes it", Slow) {
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

  test("a table with partitions, NULLs, a constant and a skewed column", Slow) {
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

  test("SORT BY ZORDER AUTO: declared at CREATE or later, kept by OPTIMIZE, taken back", Slow) {
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

  test("where no other layout is possible, none is announced") {
    withTableDir { dir =>
      val other = new File(dir.getParentFile, "other")
      write(read(dir).selectExpr("id", "1 one"), other)
      sql(s"CREATE ZORDER INDEX ON '$other'")
      record(other, "one" -> 120)
      val row = auto(other, size(other))
      assert(reason(row).contains("stay as they are; no column has two values"), row)
    }
  }
}
