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

  /**
   * The same scans, with the columns in the given spelling. A scan notes the spelling of its relation, and a table of
   * Hive and a read of its path may differ.
   */
  def spelledAs(columns: Seq[String], sameName: (String, String) => Boolean): Workload = {
    def spelled(name: String) = columns.find(sameName(_, name)).getOrElse(name)
    val all = templates.toSeq.map { case (t, u) =>
      // the columns of a template are sorted, and the sides of its boxes have the same order
      val (uses, places) =
        t.uses.map(use => use.copy(column = spelled(use.column))).zipWithIndex
          .sortBy(_._1.column).unzip
      if (uses == t.uses) t -> u
      else {
        Template(uses) -> u.copy(boxes = u.boxes.map { case (b, w) =>
          RankBox(places.map(b.sides)) -> w
        })
      }
    }
    copy(templates = all.groupBy(_._1).map { case (t, same) =>
      t -> TemplateUse.sum(same.map(_._2))
    })
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

  /**
   * The recorded workload of a table. Scans that this driver has not written yet are written first.
   *
   * @param excluded columns that the workload must not name. Files from before a column was excluded still name it
   */
  def read(
      state: StateDirectory,
      conf: Configuration,
      today: Long,
      excluded: ExcludedColumns): Workload = of(stored(state, conf, today, excluded), today)

  /** The same, without the scans before the queries changed. */
  def sinceChange(
      state: StateDirectory,
      conf: Configuration,
      today: Long,
      excluded: ExcludedColumns): Workload =
    sinceChange(stored(state, conf, today, excluded), today)

  private def stored(
      state: StateDirectory,
      conf: Configuration,
      today: Long,
      excluded: ExcludedColumns) = {
    WorkloadCapture.flush(state)
    new WorkloadStore(state, conf).read(today).map(_.without(excluded))
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
