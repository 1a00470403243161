// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

/**
 * Limits that a good layout must keep. Excess is the units read divided by the ideal, so 1 is
 * ideal.
 */
object Threshold {

  /**
   * Excess of point queries on uniform columns: the geometric mean of all cases, and the worst
   * case.
   */
  val MeanExcess = 1.05
  val WorstExcess = 1.12

  /** Excess of ranges and boxes on uniform columns. */
  val RangeExcess = 1.12

  /** Files that point queries on a column read, divided by those of a kd-tree over all rows. */
  val AgainstOracle = 1.15

  /** Size of the largest file, divided by the mean. */
  val LargestFile = 1.5

  /** Number of files below half the target size: the last file of a folder may be smaller. */
  val SmallFiles = 1

  /** Pages read, divided by those of the ideal grid of all pages. */
  val PageExcess = 1.15

  /** The same for row groups. */
  val RowGroupExcess = 1.4

  /** Excess of any single column. It allows for a cut that only one of the columns can get. */
  def columnExcess(columns: Int): Double = math.pow(2, 1 - 1.0 / columns)
}
