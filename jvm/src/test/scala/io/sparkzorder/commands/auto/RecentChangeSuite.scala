// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import io.sparkzorder.log.{Record, RunCost, StateDirectory, TableLog}

/** AUTO changes a layout at most once in seven days. */
class RecentChangeSuite extends AutoTestBase {
  private val day = 24L * 3600 * 1000
  private val now = 1800000000000L

  private def run(daysAgo: Int, columns: String, input: Long = 0, weight: Double = 1.0): Record =
    Record.marker(Record.Optimize, s"run-$daysAgo", "somebody").copy(
      createdMs = now - daysAgo * day,
      columns = columns.map(_.toString),
      cost = Some(RunCost(input, 0L, 0L)),
      weights = if (weight == 1.0) Nil else Seq(Double.box(weight), Double.box(1.0)))

  private def recent(newestFirst: Record*): Option[Long] =
    RecentChange.of(newestFirst, undos = Nil, bytes = 1000, now)

  test("which runs are changes, and how long they count") {
    assert(recent() === None)
    assert(recent(run(0, "a", 1000)) === None, "the first layout")
    assert(recent(run(0, "a", 100), run(1, "a", 1000)) === None, "new files of the same layout")
    assert(recent(run(2, "b"), run(9, "a")) === Some(2))
    assert(recent(run(0, "b"), run(2, "b"), run(9, "a")) === Some(2))
    assert(recent(run(6, "b"), run(9, "a")) === Some(6))
    assert(recent(run(7, "b"), run(9, "a")) === None)
    assert(recent(run(1, "ab", weight = 4), run(9, "ab")) === Some(1))
    assert(recent(run(1, "a", 900), run(9, "a", 1000)) === Some(1), "the same columns, cut anew")
    // it counted as a change of today until the time had come, and stopped AUTO for longer
    assert(recent(run(-3, "b"), run(9, "a")) === None, "a wrong clock")
    val ahead = run(0, "b").copy(createdMs = now + 60000)
    assert(recent(ahead, run(9, "a")) === Some(0), "a clock that is a little ahead")
  }

  test("a second change within the time is put off, and the reason says so", Slow) {
    withTableDir { dir =>
      val files = size(dir)
      record(dir, "a" -> 120)
      assert(metric(auto(dir, files), "numFilesAdded") > 0)
      record(dir, "b" -> 1500)
      assert(gains(auto(dir, files)).map(_.getString(0)).contains("b"))
      record(dir, "s" -> 20000)
      val row = auto(dir, files)
      assert(metric(row, "numFilesAdded") === 0, row)
      assert(reason(row).contains("the layout was changed 0 days ago"), row)
      // columns that are named are not put off
      val named = sql(s"OPTIMIZE '$dir' ZORDER BY (s) OPTIONS ($files)").head()
      assert(metric(named, "numFilesAdded") > 0)
    }
  }

  test("a change counts although the record before it is gone") {
    val changed =
      run(5, "b").copy(layoutSinceMs = RecentChange.since(run(5, "b"), Seq(run(9, "a"))))
    assert(changed.layoutSinceMs === changed.createdMs)
    val later = run(1, "b").copy(layoutSinceMs = RecentChange.since(run(1, "b"), Seq(changed)))
    assert(recent(later) === Some(5))
    assert(RecentChange.since(run(1, "b"), Nil) === 0, "the first layout")
    assert(RecentChange.since(run(1, "b"), Seq(run(5, "b"))) === 0)
  }

  test(
    "runs carry in their records since when the layout is; an undone layout does not come again",
    Slow) {
    withTableDir { dir =>
      val files = size(dir)
      val state = new StateDirectory(new Path(dir.toURI), spark.sessionState.newHadoopConf())
      def since = TableLog.read(state).inForce.map(_._2.layoutSinceMs)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a) OPTIONS ($files)").collect()
      assert(since === Seq(0L))
      sql(s"OPTIMIZE '$dir' ZORDER BY (b) OPTIONS ($files)").collect()
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY (b) OPTIONS ($files)").collect()
      assert(since.size === 3 && since(0) > 0 && since(0) === since(1), since)
    }
    withTableDir { dir =>
      val files = size(dir)
      record(dir, "a" -> 120)
      assert(metric(auto(dir, files), "numFilesAdded") > 0)
      sql(s"UNDO LAYOUT '$dir'").collect()
      val row = auto(dir, files)
      assert(metric(row, "numFilesAdded") === 0, row)
      assert(reason(row).contains("the layout was changed 0 days ago"), row)
    }
  }
}
