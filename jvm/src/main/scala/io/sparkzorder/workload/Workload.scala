package io.sparkzorder.workload

import org.apache.hadoop.conf.Configuration

import io.sparkzorder.log.StateDirectory

/**
 * The recorded scans of a table.
 *
 * @param templates the scans of each form; older scans have less weight, and the boxes of a template
 *   have the template's weight together
 */
private[sparkzorder] final case class Workload(templates: Map[Template, TemplateUse]) {

  /** Number of scans, of any age. */
  def count: Long = templates.values.map(_.count).sum

  /** Number of scans that can skip files in some layout. */
  def usableCount: Long =
    templates.filter(_._1 != Sketch.Unskippable).values.map(_.count).sum

  def weight: Double = templates.values.map(_.weight).sum

  /** The columns by which scans can skip files, with the weight of these scans, largest first. */
  def columns: Seq[(String, Double)] =
    templates.toSeq.flatMap { case (t, u) => t.columns.map(_ -> u.weight) }
      .groupBy(_._1).map { case (c, all) => c -> all.map(_._2).sum }.toSeq
      .sortBy { case (c, w) => (-w, c) }
}

private[sparkzorder] object Workload {
  private val HalfLifeDays = 7.0

  /** The workload of a table as its files tell it, together with what this driver has not written. */
  def read(state: StateDirectory, conf: Configuration, today: Long): Workload = {
    WorkloadCapture.flush(state)
    of(new WorkloadStore(state, conf).read(today), today)
  }

  private[workload] def of(sketches: Seq[StoredSketch], today: Long): Workload = {
    val merged = sketches.flatMap { s =>
      val factor = math.pow(2, -math.max(0L, today - s.day) / HalfLifeDays)
      s.templates.map { case (t, u) => t -> u.scaled(factor) }
    }.groupBy(_._1).map { case (t, all) => t -> all.map(_._2).reduce(_ + _) }
    Workload(merged.map { case (t, u) =>
      val sampled = u.boxes.values.sum
      t -> u.copy(boxes = if (sampled <= 0) Map.empty
      else u.boxes.map { case (b, w) => b -> w * u.weight / sampled })
    })
  }
}
