package io.sparkzorder.cluster

/**
 * All rows of a folder that the cuts leave together: a box of the ordering columns. Cells are
 * numbered as a depth-first walk of the cuts meets them.
 *
 * @param rows estimated number of rows
 * @param file number of its first file
 * @param files number of files that hold it: 1, or more for a single key that is heavier than a file,
 *   whose rows are told apart by a hash
 * @param box of its sampled rows
 */
final case class Cell(rows: Double, file: Int, files: Int, box: Box)

/**
 * The ranks ([[RankedColumn]]) of some sampled rows, one number a column.
 *
 * @param lowest least rank, 0 with NULLs
 * @param leastValue least rank of a value, 0 without any
 * @param highest greatest rank
 */
final case class Box(lowest: Array[Int], leastValue: Array[Int], highest: Array[Int])

object Box {

  /** Of no rows. */
  def empty(columns: Int): Box =
    Box(new Array[Int](columns), new Array[Int](columns), new Array[Int](columns))
}
