// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import org.scalatest.funsuite.AnyFunSuite

/** Scans from before the queries changed do not count for AUTO. */
class ChangedQueriesSuite extends AnyFunSuite {
  private val today = 20000L

  /** @param scans for each day, today first, the number of scans by each column */
  private def workload(scans: Seq[Seq[(String, Int)]]): Workload =
    Workload.sinceChange(
      scans.zipWithIndex.map { case (kinds, ago) =>
        val sketch = new Sketch(1)
        for ((c, n) <- kinds; i <- 0 until n) {
          val box = RankBox(Seq(Seq(RankInterval(i % 200, i % 200))))
          sketch.add(ScanUse(Template(Seq(ColumnUse(c, UseKind.Point))), box, 0), 10.0)
        }
        StoredSketch(s"driver $ago", today - ago, sketch.content)
      },
      today)

  private def days(n: Int, kinds: (String, Int)*): Seq[Seq[(String, Int)]] = Seq.fill(n)(kinds)

  private def columnsOf(w: Workload): Set[String] = w.columns.map(_._1).toSet

  test("other queries since some days: those before are left out") {
    for (ago <- Seq(7, 10, 20)) {
      val w = workload(days(ago, "b" -> 40) ++ days(28 - ago, "a" -> 40))
      assert(w.changedDaysAgo === Some(ago - 1L) && columnsOf(w) === Set("b"), w)
    }
    val half = workload(days(10, "b" -> 20, "c" -> 20) ++ days(10, "b" -> 20, "a" -> 20))
    assert(half.changedDaysAgo === Some(9L) && columnsOf(half) === Set("b", "c"))
  }

  test("no change: the same queries, weekends, two days, few scans, one day") {
    def all(of: Seq[Seq[(String, Int)]], columns: String*): Unit = {
      val w = workload(of)
      assert(w.changedDaysAgo === None && columnsOf(w) === columns.toSet, w)
    }
    all(days(28, "a" -> 30, "b" -> 10), "a", "b")
    val week = days(2, "b" -> 60) ++ days(5, "a" -> 60)
    all(week ++ week ++ week, "a", "b")
    all(days(2, "b" -> 40) ++ days(12, "a" -> 40), "a", "b")
    all(days(8, "b" -> 3) ++ days(12, "a" -> 40), "a", "b")
    all(days(12, "b" -> 40) ++ days(9, "a" -> 2), "a", "b")
    all(days(1, "b" -> 400, "a" -> 400), "a", "b")
  }
}
