// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.File
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.log.StateDirectory

/** Writes a workload beside a table, as a driver would after many queries. */
object RecordedScans {

  /**
   * @param scans for each scan the kind of filter on each column, as in `a -> Point`, and where it is
   *   among the rows, as shares
   * @param bytes of each scan
   */
  def write(dir: File, bytes: Double, daysAgo: Int = 0)(
      scans: Seq[(String, (Double, Double))]*): Unit = {
    val sketch = new Sketch(1)
    scans.foreach { scan =>
      val sorted = scan.sortBy(_._1)
      val sides = sorted.map { case (_, (from, until)) => Seq(RankInterval.of(from, until)) }
      val uses = sorted.map { case (c, (from, until)) =>
        ColumnUse(c, if (from == until) UseKind.Point else UseKind.Range)
      }
      sketch.add(ScanUse(Template(uses), RankBox(sides), 0), bytes)
    }
    val conf = new Configuration()
    val store = new WorkloadStore(new StateDirectory(new Path(dir.toURI), conf), conf)
    store.write(
      StoredSketch(UUID.randomUUID().toString, WorkloadStore.today - daysAgo, sketch.content),
      None)
    ()
  }

  /** By what the notes of this driver recognise the bounds of which they know distributions. */
  def identities: Seq[AnyRef] = {
    val all = WorkloadCapture.tables.values.toArray(Array.empty[NotedTable]).toSeq
    all.map(_.distributions.identity).filter(_ != null)
  }

  /**
   * The record of some days, the last day first.
   *
   * @param days for each scan the intervals of shares of each column, and its bytes
   */
  def workload(days: Seq[Seq[(Map[String, Seq[(Double, Double)]], Double)]]): Workload = {
    val today = WorkloadStore.today
    Workload.sinceChange(
      days.zipWithIndex.map { case (scans, ago) =>
        val sketch = new Sketch(ago)
        scans.foreach { case (sides, bytes) =>
          val sorted = sides.toSeq.sortBy(_._1).map { case (c, shares) =>
            (
              c,
              RankInterval.some(shares.map(s => RankInterval.of(s._1, s._2)), ScanUse.MaxIntervals))
          }
          val uses = sorted.map { case (c, intervals) =>
            val isRange = intervals.exists(_.width > 0)
            ColumnUse(
              c,
              if (isRange) UseKind.Range
              else if (intervals.size > 1) UseKind.Values
              else UseKind.Point)
          }
          sketch.add(ScanUse(Template(uses), RankBox(sorted.map(_._2)), 0), bytes)
        }
        StoredSketch(UUID.randomUUID().toString, today - ago, sketch.content)
      },
      today)
  }
}
