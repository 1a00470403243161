// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.LongType

import io.sparkzorder.cluster.{FolderSample, KeyColumn}
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.ColumnRange
import io.sparkzorder.workload.RecordedScans

class PredictedReadsSuite extends AnyFunSuite {
  private val Files = 16
  private val Rows = 4000

  /**
   * The share of a table that scans with `c` between two shares of the rows would read after OPTIMIZE by `a`, if
   * `c` is equal to `a` or NULL.
   *
   * @param isNull chooses the rows with NULL
   */
  private def read(isNull: Int => Boolean): Double = {
    val columns = IndexedSeq("a", "c").map(c => OrderingColumn(Seq(c), LongType))
    val Seq(a, c) = Seq.fill(2)(KeyColumn.newBuilder(LongType))
    (0 until Rows).foreach { i =>
      a.add(i.toLong)
      c.add(if (isNull(i)) null else i.toLong)
    }
    val folder = JudgedFolder(
      IndexedSeq.fill(Files)(JudgedFile(Rows / Files, columns.map(_ => ColumnRange.Unknown))),
      FolderSample(IndexedSeq(a.result(), c.result())),
      Rows.toDouble / Files)
    val scan = (Map("c" -> Seq((0.2, 0.21))), 1000.0)
    val sampled = Sampled.of(
      columns,
      IndexedSeq(folder),
      RecordedScans.workload(Seq(Seq.fill(200)(scan))),
      bytes = 1000L,
      isWhole = false)
    // nearly all cuts are by `a`
    sampled.reads.of(Candidate(Seq(0, 1), Seq(1.0, 0.001))) / sampled.reads.today
  }

  test("a file with NULL is read only if its values match, as by min and max") {
    assert(read(_ => false) <= 2.0 / Files)
    assert(read(_ % 10 == 0) <= 2.0 / Files)
  }
}
