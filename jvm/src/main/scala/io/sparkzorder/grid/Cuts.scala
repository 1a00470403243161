package io.sparkzorder.grid

import scala.collection.mutable.ArrayBuffer

/**
 * Where one file ends and the next begins, from the sorted Z-values of a sample.
 *
 * A file is a whole cell of the curve: the sample is split at the highest bit in which its Z-values
 * differ, like a kd-tree over the ids, while a part holds too much. Cuts at equal counts would spill
 * rows over cell edges, and a file with a corner of a far cell has bounds that span both.
 */
object Cuts {

  /**
   * A part is split while it holds more than this many files' rows. Halving then leaves parts from
   * 0.71 to 1.41 of a file, balanced on a logarithmic scale around 1.
   */
  val Stretch: Double = math.sqrt(2)

  private val TooSmall = 0.5
  private val MergeUpTo = 1.5

  /**
   * Cuts on cell edges, for two and more columns.
   *
   * @param sample sorted Z-values of the folder's sampled rows, at least one
   * @param rows number of rows of the folder
   * @param target rows of a file
   * @return cells in Z order; the first one begins at Z-value 0
   */
  def onCellEdges(sample: Array[Long], rows: Long, target: Double): IndexedSeq[Cell] = {
    val weight = rows.toDouble / sample.length
    val parts = ArrayBuffer.empty[Cell]
    def split(lo: Int, hi: Int, from: Long): Unit = {
      val held = (hi - lo) * weight
      val differing = sample(lo) ^ sample(hi - 1)
      if (held <= Stretch * target) parts += Cell(from, held, 1)
      else if (differing == 0) parts += Cell(from, held, filesOf(held, target))
      else {
        val bit = java.lang.Long.highestOneBit(differing)
        // the least Z-value of the upper half: the prefix that all share, then the bit
        val edge = (sample(hi - 1) & ~(bit - 1)) | bit
        val middle = lowerBound(sample, edge, lo, hi)
        split(lo, middle, from)
        split(middle, hi, edge)
      }
    }
    split(0, sample.length, 0L)
    merged(parts.toIndexedSeq, target)
  }

  /**
   * Cuts at equal counts, for one column, where every slice is as good as another. A value is never
   * split between files unless it is heavier than one.
   */
  def atEqualCounts(sample: Array[Long], rows: Long, target: Double): IndexedSeq[Cell] = {
    val weight = rows.toDouble / sample.length
    val cells = ArrayBuffer.empty[Cell]
    var lo = 0
    while (lo < sample.length) {
      // of the rows that are left, since ties make cells larger and smaller than wanted
      val left = filesOf((sample.length - lo) * weight, target)
      val wanted = lo + math.max(1, (sample.length - lo) / left)
      // to the end of the ties of the last wanted row
      val last = sample(math.min(wanted, sample.length) - 1)
      val hi = upperBound(sample, last, lo)
      val tiesFrom = lowerBound(sample, last, lo, hi)
      val ties = (hi - tiesFrom) * weight
      if (ties > Stretch * target && tiesFrom > lo) {
        cells += Cell(sample(lo), (tiesFrom - lo) * weight, 1)
        lo = tiesFrom
      } else {
        val held = (hi - lo) * weight
        val n = if (tiesFrom == lo && held > Stretch * target) filesOf(held, target) else 1
        cells += Cell(sample(lo), held, n)
        lo = hi
      }
    }
    fromZero(merged(cells.toIndexedSeq, target))
  }

  private def filesOf(rows: Double, target: Double): Int =
    math.max(1, math.round(rows / target)).toInt

  /** Joins a cell that is much too small to its lighter neighbour, when both together fit a file. */
  private def merged(cells: IndexedSeq[Cell], target: Double): IndexedSeq[Cell] = {
    val out = ArrayBuffer(cells: _*)
    var i = 0
    while (i < out.length) {
      val c = out(i)
      val neighbours = Seq(i - 1, i + 1).filter(j => j >= 0 && j < out.length)
        .filter(j => out(j).files == 1 && out(j).rows + c.rows <= MergeUpTo * target)
      if (c.files == 1 && c.rows < TooSmall * target && neighbours.nonEmpty) {
        val j = neighbours.minBy(out(_).rows)
        val first = math.min(i, j)
        out(first) = Cell(out(first).from, out(i).rows + out(j).rows, 1)
        out.remove(first + 1)
        i = math.max(0, first - 1)
      } else i += 1
    }
    out.toIndexedSeq
  }

  private def fromZero(cells: IndexedSeq[Cell]): IndexedSeq[Cell] =
    cells.head.copy(from = 0L) +: cells.tail

  private def lowerBound(a: Array[Long], x: Long, from: Int, to: Int): Int = {
    var lo = from
    var hi = to
    while (lo < hi) {
      val mid = (lo + hi) >>> 1
      if (a(mid) < x) lo = mid + 1 else hi = mid
    }
    lo
  }

  private def upperBound(a: Array[Long], x: Long, from: Int): Int =
    if (x == Long.MaxValue) a.length else lowerBound(a, x + 1, from, a.length)
}
