package io.sparkzorder.quality

/** What a good layout must reach, in the words of the vocabulary: excess is 1 when it is ideal. */
object Threshold {

  /** Excess of point queries on uniform columns: geometric mean of all cases, and the worst one. */
  val MeanExcess = 1.05
  val WorstExcess = 1.12

  /** Of ranges and boxes on uniform columns. */
  val RangeExcess = 1.12

  /** Files read by point queries on a column, beside those of a kd-tree over all rows. */
  val AgainstOracle = 1.15

  /** Largest file, in mean files. */
  val LargestFile = 1.5

  /** Files below half the target: the last one of a folder may be. */
  val SmallFiles = 1

  /** Pages read beside those of the ideal grid of all pages. */
  val PageExcess = 1.4

  /** Of any single column: one spare bit. */
  def columnExcess(columns: Int): Double = math.pow(2, 1 - 1.0 / columns)
}
