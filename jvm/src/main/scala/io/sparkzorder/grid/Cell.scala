package io.sparkzorder.grid

/**
 * All rows of a folder whose Z-values lie from `from` up to the next cell's `from`.
 *
 * @param from least Z-value
 * @param rows estimated number of rows
 * @param files number of files that hold it: 1, or more for a single Z-value that is heavier than a
 *   file, whose rows are told apart by a hash
 */
final case class Cell(from: Long, rows: Double, files: Int)
