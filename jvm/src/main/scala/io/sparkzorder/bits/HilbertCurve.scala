// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

import java.util.concurrent.atomic.AtomicReferenceArray

/**
 * The Hilbert curve over the grid of Z-values: turns a Z-value into the Hilbert index of its point.
 *
 * The curve visits every point of the grid. From one point to the next, one coordinate changes by
 * 1. The curve is self-similar: the points of a cell of the Z-curve have consecutive Hilbert
 * indices, so `index(z) >>> (columns * k)` depends only on `z >>> (columns * k)`.
 *
 * This is the curve of A. R. Butz, "Alternative algorithm for Hilbert's space-filling curve", IEEE
 * Transactions on Computers, 1971, computed level by level as in C. Hamilton, "Compact Hilbert
 * Indices", 2006. J. Skilling's curve of 2004 is the same for two columns. For more columns it
 * differs: it permutes the axes in all n! ways, while this curve only rotates them, in n ways.
 *
 * Immutable and safe for threads. The table is not serialised, so instances are small on the wire.
 *
 * @param columns 1 to [[HilbertCurve.MaxColumns]]
 */
private[sparkzorder] final class HilbertCurve private (val columns: Int) extends Serializable {

  private val levels = ZValues.bitsPerColumn(columns)

  // as few steps as the largest table allows, then the smallest table for that number of steps
  private val steps = HilbertCurve.divideUp(levels, HilbertCurve.MaxChunkBits / columns)
  private val levelsPerStep = HilbertCurve.divideUp(levels, steps)
  private val chunkBits = columns * levelsPerStep
  private val chunkMask = (1 << chunkBits) - 1
  private val highestShift = (steps - 1) * chunkBits

  /**
   * The state at the first chunk. All chunks have equally many levels. So the first chunk may begin with levels that
   * the grid does not have, whose cells and digits are 0. Each such level turns the axes once. So this state has the
   * axes turned back once for each such level.
   */
  private val start = Math.floorMod(levels - steps * levelsPerStep, columns) << chunkBits

  /**
   * Maps a state and a chunk to an entry. The state consists of the rotation of the axes and, in the lower
   * bits, the corner at which the curve enters, repeated for each level of the chunk. Another corner mirrors
   * the curve, which only flips bits of the chunk. So the table has entries for the corner 0 alone, `columns *
   * 2^chunkBits` of them, and `state ^ chunk` is the index of the entry.
   *
   * The lower bits of an entry are the digits of the chunk. The XOR of the state and the upper bits is the next
   * state.
   */
  @transient private val table: Array[Int] = {
    val cells = new HilbertCells(columns)
    val entries = new Array[Int](columns << chunkBits)
    for (rotation <- 0 until columns; chunk <- 0 to chunkMask) {
      entries((rotation << chunkBits) | chunk) = entry(cells, rotation, chunk)
    }
    entries
  }

  /**
   * The Hilbert index of the point whose Z-value is `z`. Allocates nothing.
   *
   * Example with two columns of one bit each: the points (0, 0), (0, 1), (1, 1), (1, 0) have the
   * Z-values 0, 1, 3, 2 and the indices 0, 1, 2, 3.
   *
   * @param z `columns` ids of [[ZValues.bitsPerColumn]] bits, interleaved by [[ZValues]]
   * @return as many bits as `z` has, so never negative
   */
  def index(z: Long): Long = {
    var state = start
    var index = 0L
    var shift = highestShift
    while (shift >= 0) {
      val entry = table(state ^ ((z >>> shift).toInt & chunkMask))
      state ^= entry >>> chunkBits
      index = (index << chunkBits) | (entry & chunkMask)
      shift -= chunkBits
    }
    index
  }

  /** Computes an entry level by level, from a rotation and the corner 0. */
  private def entry(cells: HilbertCells, rotation: Int, chunk: Int): Int = {
    var r = rotation
    var corner = 0
    var digits = 0
    var level = levelsPerStep - 1
    while (level >= 0) {
      val cell = (chunk >>> (level * columns)) & ((1 << columns) - 1)
      val digit = cells.digit(cells.rotateRight(cell ^ corner, r))
      digits = (digits << columns) | digit
      corner ^= cells.rotateLeft(cells.entryCorner(digit), r)
      r = (r + cells.turns(digit)) % columns
      level -= 1
    }
    val corners = (0 until levelsPerStep).map(level => corner << (level * columns)).reduce(_ | _)
    ((((rotation ^ r) << chunkBits) | corners) << chunkBits) | digits
  }

  private def readResolve(): Object = HilbertCurve.of(columns)
}

private[sparkzorder] object HilbertCurve {

  /**
   * The table for nine columns has 18 KB. For ten it would not fit into a first-level cache of 32
   * KB.
   */
  val MaxColumns = 9

  /** The largest table, of five columns and two levels a step, has 20 KB. */
  private val MaxChunkBits = 10

  private val curves = new AtomicReferenceArray[HilbertCurve](MaxColumns + 1)

  /**
   * The curve over `columns` columns. It is built when it is first asked for.
   *
   * @param columns 1 to [[MaxColumns]], else an IllegalArgumentException
   */
  def of(columns: Int): HilbertCurve = {
    require(
      columns >= 1 && columns <= MaxColumns,
      s"a Hilbert index takes 1 to $MaxColumns columns, not $columns")
    // two threads may both build a curve; both then use the first one
    if (curves.get(columns) == null) curves.compareAndSet(columns, null, new HilbertCurve(columns))
    curves.get(columns)
  }

  private def divideUp(a: Int, b: Int): Int = (a + b - 1) / b
}

/**
 * How a Hilbert curve passes through the 2^n cells of one level, after C. Hamilton, "Compact
 * Hilbert Indices", 2006, chapter 2. Our `turns` is the paper's `d + 1`.
 *
 * A cell is an n-bit number with one bit for each axis; the bit of the first column is the most
 * significant. Without rotation and from the corner 0, the curve visits the cells in the order of
 * the Gray code. Elsewhere this pattern is rotated, and mirrored at the corner where the curve
 * enters.
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

  /**
   * By how much the axes turn in the cell of a digit, so that the curve leaves this cell at the side of the
   * next cell.
   */
  def turns(digit: Int): Int =
    if (digit == 0) 1
    else {
      val odd = if ((digit & 1) == 1) digit else digit - 1
      Integer.numberOfTrailingZeros(~odd) % axes + 1
    }

  private def grayCode(digit: Int): Int = digit ^ (digit >>> 1)
}
