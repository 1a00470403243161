// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.test.SharedSparkSession

/**
 * What scans that AUTO has not seen read of its layout, beside the best layout in hindsight. Numbers of
 * more seeds and more layouts are those of `make bench-auto-heldout`.
 */
class HeldOutSuite extends SharedSparkSession {
  private val Most = 1.05
  private val Columns = 4

  /** Workloads of as many columns or scans as take most of the time, or for which 16 files are too few. */
  private def large(w: HeldOutWorkload): Boolean =
    Seq("one heavy form", "filters with functions", "TPC-DS", "TPC-H").exists(w.name.startsWith)

  for {
    w <- HeldOutWorkload.all
    // a quarter of the files take a tenth of the time
    (seeds, files, tags) <-
      (if (large(w)) Nil else Seq((Seq(1), 16, Nil))) :+ ((Seq(1, 2, 3), 64, Seq(Slow)))
  } {
    val name = s"${w.name}: later scans read at most $Most of the best layout in hindsight"
    test(s"$name, $files files, seeds ${seeds.mkString(", ")}", tags: _*) {
      seeds.foreach { seed =>
        val table = new HeldOut(spark, w, seed, files, rowsOfFile = 250)
        val order = table.auto()
        val (best, least) = table.best(Columns)
        val ratio = table.reads(order) / least
        val text = s"${w.name}, seed $seed: ${HeldOut.text(table.by(order))} reads $ratio of " +
          s"${HeldOut.text(best)}; ${order.reason}"
        info(text)
        assert(ratio <= Most, text)
      }
    }
  }

  test("reason says since when scans count") {
    val order = new HeldOut(spark, HeldOutWorkload.drift, 1).auto()
    assert(order.reason.exists(
      _.contains("only the scans of the last 7 days count, because the queries changed")))
    val steady = new HeldOut(spark, HeldOutWorkload.equal, 1).auto()
    assert(!steady.reason.exists(_.contains("the queries changed")), steady.reason)
  }
}
