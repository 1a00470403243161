package io.sparkzorder.bits

/**
 * Z-values: the range ids of n columns, interleaved bit by bit into one non-negative long.
 *
 * The first column gives the most significant bit. All columns have the same number of bits, and
 * the sign bit stays clear, so that a signed sort of the longs is the order of the curve.
 */
object ZValues {

  /** More columns than bits below the sign bit cannot each have one. */
  val MaxColumns = 63

  /** Sixteen bits tell 65,536 ranges apart, more than any sample of a column does. */
  val MaxBits = 16

  /**
   * The bits that each of `columns` columns gets: `min(16, floor(63 / columns))`.
   *
   * @param columns 1 to 63
   */
  def bitsPerColumn(columns: Int): Int = {
    require(
      columns >= 1 && columns <= MaxColumns,
      s"a Z-value takes 1 to $MaxColumns columns, not $columns")
    math.min(MaxBits, 63 / columns)
  }

  /**
   * The part of the Z-value that one column contributes; the Z-value is the OR of all parts.
   *
   * @param id the column's range id, 0 until `1 << bitsPerColumn(columns)`
   * @param column the column's index, 0 until `columns`
   */
  def part(id: Int, column: Int, columns: Int): Long = {
    val spread =
      if (columns <= BitSpread.MaxStride) {
        // an id has at most two bytes
        val table = BitSpread.table(columns)
        table(id & 0xff) | (table(id >>> 8) << (8 * columns))
      } else BitSpread.spread(id, bitsPerColumn(columns), columns)
    spread << (columns - 1 - column)
  }

  /** The Z-value of one range id a column. */
  def interleave(ids: Array[Int]): Long = {
    var z = 0L
    var c = 0
    while (c < ids.length) {
      z |= part(ids(c), c, ids.length)
      c += 1
    }
    z
  }
}
