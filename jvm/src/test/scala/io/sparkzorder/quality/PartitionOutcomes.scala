// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import java.io.File

import org.apache.hadoop.conf.Configuration

/**
 * The layout that one run made of a table with many partitions.
 *
 * @param rowsBefore rows of each folder of the source
 * @param rowsAfter rows of each folder of the result
 * @param judged the folders with the most rows, each measured by its own rows
 */
final case class PartitionOutcomes(
    rowsBefore: Map[String, Long],
    rowsAfter: Map[String, Long],
    judged: Seq[Outcome],
    files: Int)

object PartitionOutcomes {

  /** @param judged number of folders to measure */
  def of(
      lab: QualityLab,
      data: QualityData,
      files: Int,
      judged: Int,
      conf: Configuration): PartitionOutcomes = {
    val table = lab.write(data)
    val out = lab.optimize(table, files)
    val before = rows(table.directory, conf)
    val after = rows(out, conf)
    val targetRows = data.rows.toDouble / files
    val outcomes = before.toSeq.sortBy { case (p, n) => (-n, p) }.take(judged).map {
      case (p, n) =>
        val values = lab.ranked(data, new File(table.directory, p))
        val wanted = math.max(1, math.round(n / targetRows).toInt)
        lab.judge(p, wanted, new File(out, p), values)
    }
    val count = LayoutQuality.dataFiles(out).size
    Seq(table.directory, out).foreach(lab.delete)
    PartitionOutcomes(before, after, outcomes, count)
  }

  private def rows(directory: File, conf: Configuration): Map[String, Long] =
    LayoutQuality.dataFiles(directory).groupBy(_.getParentFile.getName).map { case (p, files) =>
      p -> LayoutQuality.columns(files, Nil, conf).map(_.rows).sum
    }
}
