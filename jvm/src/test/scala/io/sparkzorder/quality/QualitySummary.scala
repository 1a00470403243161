// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import java.util.{LinkedHashMap, Map => JMap}

/** All outcomes of a benchmark; a section that was not run is empty. */
final case class QualitySections(
    uniform: Seq[Outcome],
    skewed: Seq[Outcome],
    paged: Seq[Outcome],
    partitions: Option[PartitionOutcomes],
    many: Seq[Outcome])

/**
 * A threshold and the measured number.
 *
 * @param worst the worst case; empty for a mean
 */
final case class QualityVerdict(threshold: String, limit: Double, measured: Double, worst: String) {
  def reached: Boolean = measured <= limit

  def json: JMap[String, Any] = {
    val fields: JMap[String, Any] = new LinkedHashMap[String, Any]()
    fields.put("threshold", threshold)
    fields.put("limit", limit)
    fields.put("measured", measured)
    fields.put("worst", worst)
    fields.put("reached", reached)
    fields
  }
}

/** All thresholds, each with its worst case. */
object QualitySummary {

  def of(s: QualitySections): Seq[QualityVerdict] = {
    val folders = s.partitions.toSeq.flatMap(_.judged)
    val even = s.uniform ++ s.skewed ++ folders
    val moved = s.partitions.map(p => (p.rowsBefore.toSet diff p.rowsAfter.toSet).size.toDouble)
    Seq(
      mean(s.uniform),
      worst("uniform: point queries", Threshold.WorstExcess, s.uniform)(_.files.pointExcess),
      worst("uniform: a column's excess, of one spare bit", 1.0, s.uniform)(o =>
        o.files.columnExcess.max / Threshold.columnExcess(o.columns.size)),
      worst("uniform: 1 % ranges", Threshold.RangeExcess, s.uniform)(_.files.rangeExcess(0.01)),
      worst("uniform: 10 % ranges", Threshold.RangeExcess, s.uniform)(_.files.rangeExcess(0.1)),
      worst("uniform: 1 % boxes", Threshold.RangeExcess, s.uniform)(_.files.boxExcess(0.01)),
      worst("uniform: 10 % boxes", Threshold.RangeExcess, s.uniform)(_.files.boxExcess(0.1)),
      worst("skewed: a column beside the kd-tree", Threshold.AgainstOracle, s.skewed)(
        _.againstOracle.max),
      worst("largest file by rows", Threshold.LargestFile, even)(_.sizes.largestByRows),
      worst("largest file by bytes", Threshold.LargestFile, even)(_.sizes.largestByBytes),
      worst("files below half the target", Threshold.SmallFiles.toDouble, even)(
        _.sizes.small.toDouble),
      worst("pages", Threshold.PageExcess, s.paged)(_.pages.pointExcess),
      worst("row groups", Threshold.RowGroupExcess, s.paged)(_.rowGroups.pointExcess),
      worst(
        "partitions of 16 files and more",
        Threshold.WorstExcess,
        folders.filter(_.files.units >= 16))(_.files.pointExcess),
      worst("10,000 files: point queries", Threshold.WorstExcess, s.many)(_.files.pointExcess),
      worst("10,000 files: largest by rows", Threshold.LargestFile, s.many)(
        _.sizes.largestByRows),
      moved.map(QualityVerdict("partitions with other rows than before", 0, _, "")).toSeq).flatten
  }

  def markdown(s: QualitySections): String = {
    val lines = of(s).map { v =>
      f"| ${v.threshold} | ${v.limit}%.2f | ${v.measured}%.3f | ${v.worst} | " +
        s"${if (v.reached) "yes" else "no"} |"
    }
    (Seq(
      "| threshold | limit | measured | worst case | reached |",
      "| --- | --- | --- | --- | --- |") ++
      lines).mkString("\n")
  }

  private def mean(uniform: Seq[Outcome]): Seq[QualityVerdict] =
    if (uniform.isEmpty) Nil
    else {
      val measured = QualityReport.geometricMean(uniform.map(_.files.pointExcess))
      Seq(
        QualityVerdict(
          "uniform: point queries, geometric mean",
          Threshold.MeanExcess,
          measured,
          ""))
    }

  /** None if no case was run. */
  private def worst(name: String, limit: Double, outcomes: Seq[Outcome])(
      number: Outcome => Double): Seq[QualityVerdict] =
    if (outcomes.isEmpty) Nil
    else {
      val (value, o) = outcomes.map(o => (number(o), o)).maxBy(_._1)
      Seq(QualityVerdict(name, limit, value, s"${o.name}, ${o.files.units} files"))
    }
}
