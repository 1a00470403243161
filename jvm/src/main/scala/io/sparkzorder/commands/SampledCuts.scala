// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import io.sparkzorder.cluster._
import io.sparkzorder.conf.Settings
import io.sparkzorder.table.OrderingColumn

/** Samples the ordering columns of some folders, and cuts each folder into files by its sample. */
private[sparkzorder] final class SampledCuts(
    columns: Seq[OrderingColumn],
    settings: Settings,
    phases: Phases) {

  /**
   * @param rows the number of rows of each folder
   * @param targets for each folder, the wanted number of rows of a new file
   * @param sizes returns the sizes of the rows of a folder, by the position of the folder
   * @param kept returns, for each ordering column, the files of a folder that stay as they are
   * @param regions returns the grid whose cells are cut further; None for a folder that has none
   * @param goal returns the queries for which the cuts should be good, by the samples of all folders
   */
  def of(
      input: InputRows,
      rows: IndexedSeq[Long],
      targets: IndexedSeq[Double],
      sizes: Int => RowSizes,
      kept: Int => IndexedSeq[KeptColumn],
      regions: Int => Option[FolderGrid] = _ => None)(
      goal: IndexedSeq[FolderSample] => CutGoal): (IndexedSeq[FolderSample], Grid) = {
    val expected = rows.zip(targets).map { case (r, t) => math.ceil(r / t).toLong }.sum
    val wanted = settings.get(Settings.SampleRows).getOrElse(Sampler.rowsFor(expected))
    val samples = phases("sample") {
      Sampler.sample(input, columns, rows, wanted).zipWithIndex
        .map { case (sample, i) => sample.copy(sizes = sizes(i)) }
    }
    val grid = phases("cuts") {
      val types = columns.map(c => (c.name, c.dataType))
      Grid.build(types, rows, targets, samples, goal(samples), kept, regions)
    }
    (samples, grid)
  }
}

private[sparkzorder] object SampledCuts {

  /** The number of rows in a file of the target size, if `rows` rows take `bytes` bytes. */
  def targetRows(settings: Settings, rows: Long, bytes: Long): Double =
    math.max(1.0, settings(Settings.TargetFileSize).toDouble * rows / math.max(1L, bytes))
}
