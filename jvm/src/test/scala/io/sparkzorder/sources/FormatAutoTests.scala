// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.sparkzorder.TestAccess

import io.sparkzorder.log.StateDirectory
import io.sparkzorder.workload.{RecordedScans, WorkloadCapture}

/** The record of the workload and ZORDER BY AUTO, the same for each format. */
trait FormatAutoTests extends TableOfFormat { this: FormatTestBase =>

  protected def ask(queries: DataFrame*): Unit =
    withSQLConf("spark.zorder.workload.enabled" -> "true")(queries.foreach(run))

  protected def run(query: DataFrame): Unit = {
    query.collect()
    TestAccess.drainListeners(spark.sparkContext)
  }

  private def workload: Seq[Row] = {
    TestAccess.drainListeners(spark.sparkContext)
    sql(s"SHOW WORKLOAD $named").collect().toSeq
  }

  private def columnsOf(row: Row): Seq[(String, String)] =
    row.getSeq[Row](0).map(r => (r.getString(0), r.getString(1)))

  /** As if so many point queries had been run, each of which would read all bytes. */
  private def record(of: (String, Int)*): Unit = {
    new File(directory, StateDirectory.Name).mkdirs()
    RecordedScans.write(directory, 1e6)(of.flatMap { case (column, n) =>
      (0 until n).map { i =>
        val at = (i * 97 % 256 + 0.5) / 256
        Seq(column -> ((at, at)))
      }
    }: _*)
  }

  private def auto(clauses: String = ""): Row = {
    val before = bag(t)
    val row = sql(s"OPTIMIZE TABLE $named ZORDER BY AUTO $small $clauses").head()
    assert(bag(t) === before)
    row
  }

  private def reason(row: Row): String = row.getAs[String]("reason")

  common("scans are recorded by columns and kinds, and not while the record is off") {
    onTable(rows = 800, files = 2) {
      run(t.where("a = 5"))
      assert(workload.isEmpty)
      ask(
        t.where("a = 5"),
        t.where("a IN (1, 500) AND b < 100"),
        t.where("length(s) = 2"),
        t.join(t.where("p = 3").select("id"), "id"))
      val rows = workload.map(r => (columnsOf(r), (r.getBoolean(1), r.getLong(2)))).toMap
      assert(rows(Seq("a" -> "point")) === ((true, 1L)), rows)
      assert(rows(Seq("a" -> "values", "b" -> "range")) === ((true, 1L)), rows)
      // in a join
      assert(rows(Seq("p" -> "point")) === ((true, 1L)), rows)
      assert(rows.values.map(_._2).sum === 5, rows)
      assert(rows(Nil)._1 === false)
      assert(workload.forall(_.getLong(3) > 0))
    }
  }

  test("scans are recorded by columns, kinds and ranks, and not while the record is off", Slow) {
    onTable() {
      run(t.where("a = 5"))
      assert(workload.isEmpty)
      ask(
        t.where("a = 5"),
        t.where("a = 7").selectExpr("count(*)"),
        t.where("a IN (1, 500) AND b < 100"),
        t.where("s LIKE 's1%'"),
        t.where("length(s) = 2"),
        t.join(t.where("b = 3").select("id"), "id"),
        t.where(s"a > (SELECT max(a) - 1 FROM $named WHERE b = 9)"),
        t)
      // neither plans nor statements of ours
      withSQLConf("spark.zorder.workload.enabled" -> "true") {
        t.where("b = 4").explain()
        sql(s"OPTIMIZE TABLE $named ZORDER BY (a) $small").collect()
        sql(s"SHOW LAYOUT $named").collect()
      }
      val rows = workload.map(r => (columnsOf(r), (r.getBoolean(1), r.getLong(2)))).toMap
      assert(rows(Seq("a" -> "point")) === ((true, 2L)), rows)
      assert(rows(Seq("a" -> "values", "b" -> "range")) === ((true, 1L)), rows)
      assert(rows(Seq("s" -> "range")) === ((true, 1L)), rows)
      // one in a join, one in a subquery
      assert(rows(Seq("b" -> "point")) === ((true, 2L)), rows)
      assert(rows.values.map(_._2).sum === 10, rows)
      assert(rows(Nil)._1 === false)
      assert(workload.forall(_.getLong(3) > 0))
      // nothing but the record is in the directory of our state
      val state = new File(directory, StateDirectory.Name)
      assert(state.list.filterNot(_.startsWith(".")).toSeq === Seq("_workload"))
      val removed = sql(s"VACUUM LAYOUT $named RETAIN 0 HOURS").collect()
      assert(removed.nonEmpty && removed.forall(_.getBoolean(5)))
      assert(workload.isEmpty)
      assert(t.count() === 8000)
    }
  }

  common("the notes of a scan do not keep the bounds of the files in memory") {
    onTable() {
      WorkloadCapture.clear()
      ask(t.where("a = 5"))
      assert(workload.map(columnsOf) === Seq(Seq("a" -> "point")))
      // an object without a field
      assert(RecordedScans.identities.map(_.getClass) === Seq(classOf[Object]))
    }
  }

  common("keys of joins and values of subqueries count as filters") {
    onTable() {
      // else no key lets a file go
      sql(s"OPTIMIZE TABLE $named ZORDER BY (a) $small").collect()
      def keys = sql(s"SELECT a k FROM $named WHERE id IN (5, 700)")
      ask(t.join(keys, expr("a = k"), "left_semi"))
      ask(sql(s"SELECT * FROM $named WHERE b >= (SELECT max(id) FROM range(9))"))
      val rows = workload.map(r => columnsOf(r) -> r.getLong(2)).toMap
      assert(rows(Seq("a" -> "values")) === 1, rows)
      assert(rows(Seq("b" -> "range")) === 1, rows)
    }
  }

  common("a property of the table turns the record on and off, and leaves columns out") {
    onTable() {
      def set(key: String, value: String): Unit = {
        sql(s"ALTER TABLE $named SET TBLPROPERTIES ('$key' = '$value')")
        ()
      }
      set("zorder.workload.enabled", "true")
      set("zorder.workload.exclude", "b")
      run(t.where("a = 5 AND b = 6"))
      assert(workload.map(columnsOf) === Seq(Seq("a" -> "point")))
      set("zorder.workload.enabled", "false")
      ask(t.where("s = 's1'"))
      assert(workload.map(columnsOf) === Seq(Seq("a" -> "point")))
      set("zorder.workload.exclude", "A,b")
      assert(workload.map(columnsOf) === Seq(Nil))
    }
  }

  common("nothing is recorded while spark-zorder is off, or leaves the table to its format") {
    onTable() {
      for (setting <- Seq("enabled" -> "false", s"formats.$format" -> "delegate")) {
        withSQLConf(s"spark.zorder.${setting._1}" -> setting._2)(ask(t.where("a = 5")))
      }
      assert(workload.isEmpty)
      assert(!new File(directory, StateDirectory.Name).exists())
      ask(t.where("a = 5"))
      assert(workload.nonEmpty)
    }
  }

  common("each column that queries ask for is known, however many they are") {
    onTable() {
      ask(t +: Seq("a = 1", "b = 1", "s = 's1'", "p = 1", "id = 1").map(t.where): _*)
      val usable = workload.filter(_.getBoolean(1)).flatMap(columnsOf).map(_._1)
      assert(usable.sorted === Seq("a", "b", "id", "p", "s"), workload)
    }
  }

  common("ranks come from the bounds of the format") {
    onTable() {
      // files of narrow ranges
      sql(s"OPTIMIZE TABLE $named ZORDER BY (a) $small").collect()
      ask((0 until 10).map(i => t.where(s"a BETWEEN 100 AND ${300 + i}")): _*)
      record()
      val row = sql(s"SHOW WORKLOAD $named").head()
      assert(columnsOf(row) === Seq("a" -> "range"))
      val boxes = row.getLong(5)
      assert(boxes >= 1 && boxes <= 10)
    }
  }

  common("AUTO chooses the columns, DRY RUN tells it before, a second run makes no commit") {
    onTable() {
      record("a" -> 120, "b" -> 30)
      val before = commits
      val plan = auto("DRY RUN")
      assert(gains(plan).map(_.getString(0)) === Seq("a", "b"), plan)
      Seq("AUTO chooses (a", "files stay", "150 of 150 recorded scans", "and by").foreach { part =>
        assert(reason(plan).contains(part), reason(plan))
      }
      assert(commits === before)
      val done = auto()
      assert(commits === before + 1)
      assert(gains(done).map(_.getString(0)) === Seq("a", "b"))
      assert(gains(done).head.getDouble(2) < gains(done)(1).getDouble(2), done)
      assert(reason(auto()).contains("AUTO keeps the layout by (a, b)"))
      assert(commits === before + 1)
    }
  }

  test("AUTO keeps a layout with its weights, and changes a first one once in seven days", Slow) {
    onTable() {
      record("a" -> 120, "b" -> 30)
      val before = commits
      auto()
      assert(commits === before + 1)
      val again = auto()
      assert(reason(again).contains("AUTO keeps the layout by (a, b)"), again)
      // without ZORDER BY the layout stays, with its weights
      val more = sql(s"OPTIMIZE TABLE $named $small").head()
      assert(metric(more, "numFilesAdded") === 0, more)
      assert(commits === before + 1)

      // another workload would change the layout, which is the table's first one: once
      sql(s"VACUUM LAYOUT $named RETAIN 0 HOURS").collect()
      record("s" -> 200)
      val changed = auto()
      assert(gains(changed).map(_.getString(0)) === Seq("s"), changed)
      sql(s"VACUUM LAYOUT $named RETAIN 0 HOURS").collect()
      record("b" -> 200)
      val kept = auto()
      assert(reason(kept).contains("once in 7 days"), kept)
      assert(commits === before + 2)
    }
  }

  common("AUTO leaves a table without a layout as it is, and says why") {
    onTable() {
      val before = commits
      def nothing(why: String, clauses: String = ""): Unit = {
        val row = sql(s"OPTIMIZE TABLE $named $clauses ZORDER BY AUTO").head()
        assert(reason(row).contains("AUTO keeps the files as they are"), row)
        assert(reason(row).contains(why), row)
        assert(metric(row, "numFilesRemoved") === 0, row)
      }
      nothing("0 scans are recorded")
      nothing("the record is that of the whole table", "WHERE a < 10")
      record("no_such_column" -> 200)
      nothing("no recorded scan is on a column")
      assert(commits === before)
      fails("ZORDER_INVALID_SETTING", "AUTO chooses the weights")(
        sql(s"OPTIMIZE TABLE $named ZORDER BY AUTO OPTIONS (weights = 'a:2')"))
    }
  }

  common("AUTO of a partitioned table") {
    onTable("PARTITIONED BY (p)") {
      ask(t.where("p = 1 AND a = 5"), t.where("a = 5"))
      record("a" -> 200, "p" -> 50)
      val row = auto()
      assert(gains(row).map(_.getString(0)) === Seq("a"), row)
      assert(metric(row, "partitionsOptimized") === 4, row)
    }
  }

  common("weights by hand are kept by runs without ZORDER BY") {
    onTable() {
      val options = "OPTIONS (targetFileSize = '4k', weights = 'a:4')"
      sql(s"OPTIMIZE TABLE $named ZORDER BY (a, b) $options").collect()
      val row = sql(s"OPTIMIZE TABLE $named $small").head()
      assert(metric(row, "numFilesAdded") === 0, row)
    }
  }

  common("the size of files is kept by runs that name none") {
    onTable() {
      sql(s"OPTIMIZE TABLE $named ZORDER BY (a, b) $small").collect()
      for (by <- Seq("", "ZORDER BY (a, b)")) {
        val row = sql(s"OPTIMIZE TABLE $named $by").head()
        assert(metric(row, "numFilesAdded") === 0, row)
      }
      val all = metric(sql(s"OPTIMIZE TABLE $named FULL").head(), "numFilesAdded")
      assert(all > 4)
      val large = sql(s"OPTIMIZE TABLE $named OPTIONS ('targetFileSize' '200m')").head()
      assert(metric(large, "numFilesAdded") === 1)
      assert(metric(sql(s"OPTIMIZE TABLE $named").head(), "numFilesAdded") === 0)
    }
  }
}
