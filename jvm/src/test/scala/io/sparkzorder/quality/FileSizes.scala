package io.sparkzorder.quality

/**
 * How evenly rows are dealt to files.
 *
 * @param largestByRows rows of the largest file that holds more than one key, in mean files
 * @param largestByBytes likewise bytes
 * @param small files of less than half the wanted rows
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
