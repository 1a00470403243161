// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import io.sparkzorder.quality.ideal.{KdTree, RankedColumn}

/**
 * The layout that OPTIMIZE made of a case, measured by footers and column indexes.
 *
 * @param wanted number of files by the target size
 */
final class Outcome(
    val name: String,
    val wanted: Int,
    data: IndexedSeq[RankedColumn],
    quality: LayoutQuality) {

  val columns: Seq[String] = data.map(_.column.name)
  val files = new LevelQuality(data, quality.byFile)
  val rowGroups = new LevelQuality(data, quality.byRowGroup)
  lazy val pages = new LevelQuality(data, quality.byPage)
  val sizes: FileSizes = FileSizes.of(quality, data.head.ranks.length.toDouble / wanted)
  val rows: Long = quality.fileRows.sum

  /**
   * Mean number of files that a point query reads in a kd-tree of the same number of files, for
   * each column.
   */
  lazy val oraclePoints: IndexedSeq[Double] = {
    val tree = new KdTree(data, files.units)
    data.indices.map(c => UnitsRead.point(data(c), tree.ranges(c)))
  }

  /** Files read divided by those of the kd-tree, for point queries on each column. */
  def againstOracle: IndexedSeq[Double] =
    data.indices.map(c => files.points(c) / oraclePoints(c))

  /** Excess of the kd-tree's point queries over the ideal. */
  def oracleExcess: Double =
    oraclePoints.sum / (files.points.sum / files.pointExcess)
}
