// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import org.apache.hadoop.conf.Configuration

import io.sparkzorder.log.StateDirectory

/**
 * The recorded scans of a table.
 *
 * @param templates the scans of each template. Older scans have less weight. The weights of the boxes of a
 *   template add up to the weight of the template
 * @param changedDaysAgo the number of days since the queries changed. Scans before the change are left out. None if
 *   the queries did not change
 */
private[sparkzorder] final case class Workload(
    templates: Map[Template, TemplateUse],
    changedDaysAgo: Option[Long] = None) {

  /** Number of scans, of any age. */
  def count: Long = templates.values.map(_.count).sum

  /** Number of scans that can skip files in some layout. */
  def usableCount: Long =
    templates.filter(_._1 != Sketch.Unskippable).values.map(_.count).sum

  def weight: Double = templates.values.map(_.weight).sum

  /** For each column, the share of the read bytes that belongs to scans with a filter on the column. */
  private def shares: Map[String, Double] =
    columns.map { case (c, w) => c -> w / math.max(Double.MinPositiveValue, weight) }.toMap

  /** The difference to another workload: the largest difference between the two shares of any one column. */
  private def difference(other: Workload): Double = {
    val (own, others) = (shares, other.shares)
    (own.keySet ++ others.keySet).iterator
      .map(c => math.abs(own.getOrElse(c, 0.0) - others.getOrElse(c, 0.0)))
      .foldLeft(0.0)(math.max)
  }

  /** The columns by which scans can skip files, with the weight of these scans, largest first. */
  def columns: Seq[(String, Double)] =
    templates.toSeq.flatMap { case (t, u) => t.columns.map(_ -> u.weight) }
      .groupBy(_._1).map { case (c, all) => c -> all.map(_._2).sum }.toSeq
      .sortBy { case (c, w) => (-w, c) }
}

private[sparkzorder] object Workload {
  private val HalfLifeDays = 7.0

  // a change that has lasted this many days is not just a weekend
  private val ChangedDays = 7
  // with fewer scans before or after, a change may be chance
  private val ChangedScans = 100L
  // the queries have changed if the share of a column differs by at least this much
  private val ChangedShare = 0.4

  /** The recorded workload of a table. Scans that this driver has not written yet are written first. */
  def read(state: StateDirectory, conf: Configuration, today: Long): Workload =
    of(stored(state, conf, today), today)

  /** The same, without the scans before the queries changed. */
  def sinceChange(state: StateDirectory, conf: Configuration, today: Long): Workload =
    sinceChange(stored(state, conf, today), today)

  private def stored(state: StateDirectory, conf: Configuration, today: Long) = {
    WorkloadCapture.flush(state)
    new WorkloadStore(state, conf).read(today)
  }

  /**
   * Leaves out the scans before a clear change of the queries. The weight of old scans falls by half in a week, which
   * is too slow after such a change.
   */
  private[workload] def sinceChange(sketches: Seq[StoredSketch], today: Long): Workload = {
    val changes = sketches.map(_.day).distinct.filter(today - _ >= ChangedDays - 1).map { day =>
      val (after, before) = sketches.partition(_.day >= day)
      (day, of(after, today), of(before, today))
    }.filter { case (_, after, before) =>
      after.count >= ChangedScans && before.count >= ChangedScans &&
      after.difference(before) >= ChangedShare
    }
    if (changes.isEmpty) of(sketches, today)
    else {
      val (day, after, _) = changes.maxBy { case (_, after, before) => after.difference(before) }
      after.copy(changedDaysAgo = Some(math.max(0L, today - day)))
    }
  }

  private[workload] def of(sketches: Seq[StoredSketch], today: Long): Workload = {
    val merged = sketches.flatMap { s =>
      val factor = math.pow(2, -math.max(0L, today - s.day) / HalfLifeDays)
      s.templates.map { case (t, u) => t -> u.scaled(factor) }
    }.groupBy(_._1).map { case (t, all) => t -> TemplateUse.sum(all.map(_._2)) }
    Workload(merged.map { case (t, u) =>
      val sampled = u.boxes.values.sum
      t -> u.copy(boxes = if (sampled <= 0) Map.empty
      else u.boxes.map { case (b, w) => b -> w * u.weight / sampled })
    })
  }
}
