package io.sparkzorder.bits

/**
 * How a Hilbert curve passes through the 2^n cells of one level: from C. Hamilton, "Compact Hilbert
 * Indices", 2006, chapter 2, where our `turns` is `d + 1`.
 *
 * A cell is n bits, one an axis, the first column's bit most significant. With no rotation and from
 * the corner 0 the cells are visited in the order of the Gray code; everywhere else this pattern is
 * rotated, and mirrored at the corner where the curve enters.
 *
 * @param axes the number of columns, 1 to 16
 */
private[bits] final class HilbertCells(axes: Int) {

  private val all = (1 << axes) - 1

  def rotateRight(cell: Int, by: Int): Int = ((cell >>> by) | (cell << (axes - by))) & all

  def rotateLeft(cell: Int, by: Int): Int = ((cell << by) | (cell >>> (axes - by))) & all

  /** The digit of a cell in the plain pattern: bit k is the parity of the bits from k up. */
  def digit(cell: Int): Int = {
    var d = cell
    var by = 1
    while (by < axes) {
      d ^= d >>> by
      by <<= 1
    }
    d
  }

  /** The corner at which the curve enters the cell of a digit. */
  def entryCorner(digit: Int): Int = if (digit == 0) 0 else grayCode((digit - 1) & ~1)

  /** By how much the axes turn in the cell of a digit, so that the curve leaves it beside the next. */
  def turns(digit: Int): Int =
    if (digit == 0) 1
    else {
      val odd = if ((digit & 1) == 1) digit else digit - 1
      Integer.numberOfTrailingZeros(~odd) % axes + 1
    }

  private def grayCode(digit: Int): Int = digit ^ (digit >>> 1)
}
