package io.sparkzorder.bits

import java.util.concurrent.atomic.AtomicReferenceArray

/**
 * The Hilbert curve over the grid of Z-values: turns a Z-value into the Hilbert index of its point.
 *
 * The curve visits every point of the grid, and from one point to the next a single coordinate
 * changes by 1. It is self-similar: a cell of the Z-curve is an unbroken run of Hilbert indices, so
 * `index(z) >>> (columns * k)` depends on `z >>> (columns * k)` alone.
 *
 * This is the curve of A. R. Butz, "Alternative algorithm for Hilbert's space-filling curve", IEEE
 * Transactions on Computers, 1971, found by the walk down the levels of C. Hamilton, "Compact Hilbert
 * Indices", 2006. J. Skilling's curve of 2004 is the same for two columns; for more it is another one,
 * which permutes the axes in all n! ways where this one only rotates them in n.
 *
 * Immutable and safe for threads; small when serialised, since the table is not.
 *
 * @param columns 1 to [[HilbertCurve.MaxColumns]]
 */
final class HilbertCurve private (val columns: Int) extends Serializable {

  private val levels = ZValues.bitsPerColumn(columns)

  // as few steps as the largest table allows, and then no larger a table than they need
  private val steps = HilbertCurve.divideUp(levels, HilbertCurve.MaxChunkBits / columns)
  private val levelsPerStep = HilbertCurve.divideUp(levels, steps)
  private val chunkBits = columns * levelsPerStep
  private val chunkMask = (1 << chunkBits) - 1
  private val highestShift = (steps - 1) * chunkBits

  /**
   * The first chunk may begin with levels above the grid's. Their cells and digits are 0, and each
   * turns the axes once, which is undone here.
   */
  private val start = Math.floorMod(levels - steps * levelsPerStep, columns) << chunkBits

  /**
   * By state and chunk. The state is the rotation of the axes, above the corner of entry once a level
   * of the chunk. To mirror is to flip bits, so `state ^ chunk` leads to the entry for the corner 0,
   * and the table has `columns * 2^chunkBits` entries.
   *
   * An entry is the digits of the chunk, and above them the bits that flip the state into the next.
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
   * The Hilbert index of the point whose Z-value is `z`; allocates nothing.
   *
   * Example: of two columns, the points (0, 0), (0, 1), (1, 1), (1, 0) have the Z-values 0, 1, 3, 2
   * and the indices 0, 1, 2, 3, were there one bit a column.
   *
   * @param z `columns` ids of [[ZValues.bitsPerColumn]] bits, interleaved by [[ZValues]]
   * @return of as many bits as `z`, so never negative
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

  /** Walks down the levels of one chunk, from a rotation and the corner 0. */
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

object HilbertCurve {

  /** The table for nine columns has 18 KB; for ten it would not fit a first-level cache of 32 KB. */
  val MaxColumns = 9

  /** The largest table is that of five columns, two levels a step: 20 KB, so it fits too. */
  private val MaxChunkBits = 10

  private val curves = new AtomicReferenceArray[HilbertCurve](MaxColumns + 1)

  /**
   * The curve over so many columns, built when it is first asked for.
   *
   * @param columns 1 to [[MaxColumns]], else an IllegalArgumentException
   */
  def of(columns: Int): HilbertCurve = {
    require(
      columns >= 1 && columns <= MaxColumns,
      s"a Hilbert index takes 1 to $MaxColumns columns, not $columns")
    // two threads may both build it, and both get the one that was there first
    if (curves.get(columns) == null) curves.compareAndSet(columns, null, new HilbertCurve(columns))
    curves.get(columns)
  }

  private def divideUp(a: Int, b: Int): Int = (a + b - 1) / b
}
