// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

/**
 * How evenly rows are distributed over files.
 *
 * @param largestByRows rows of the largest file with more than one key, divided by the mean rows of
 *   a file
 * @param largestByBytes the same by bytes
 * @param small number of files with less than half the wanted rows
 */
final case class FileSizes(largestByRows: Double, largestByBytes: Double, small: Int)

object FileSizes {

  /** @param wantedRows rows of a file of the target size */
  def of(quality: LayoutQuality, wantedRows: Double): FileSizes = {
    def largest(sizes: IndexedSeq[Long]): Double = {
      val mean = sizes.sum.toDouble / sizes.size
      val several = sizes.indices.filterNot(holdsOneKey(quality, _)).map(sizes(_))
      if (several.isEmpty) 0.0 else several.max / mean
    }
    FileSizes(
      largest(quality.fileRows),
      largest(quality.fileBytes),
      quality.fileRows.count(_ < wantedRows / 2))
  }

  private def holdsOneKey(quality: LayoutQuality, file: Int): Boolean =
    quality.byFile.forall(ranges => ranges(file).low >= ranges(file).high)
}
