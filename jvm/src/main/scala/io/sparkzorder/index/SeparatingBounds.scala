// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

/**
 * Shortens the bounds of strings and binaries. A bound keeps the bytes that distinguish it from its
 * neighbours among all bounds of the column. So an index of long texts stays small, and the bounds of texts
 * with a long common prefix still tell the files apart.
 */
private[index] object SeparatingBounds {

  /** The number of bytes that are kept in any case. */
  val Least = 64

  /** The number of bytes that are kept behind the prefix that a bound shares with a neighbour. */
  private val More = 16

  /**
   * @param more the number of bytes to keep behind the shared prefix; larger than usual if later files will
   *   have bounds between these
   */
  def of(content: IndexContent, more: Int = More): IndexContent =
    content.copy(columns = content.columns.map { case (column, values) =>
      (values.min, values.max, column.leafType) match {
        case (ByteStats(min), ByteStats(max), t @ (StringLeaf | BinaryLeaf))
            if isLong(min) || isLong(max) =>
          column -> cut(values, min, max, t, more)
        case _ => column -> values
      }
    })

  private def isLong(values: ByteValues): Boolean =
    (0 until values.size).exists(i => values.ends(i) - values.start(i) > Least)

  private def cut(
      values: ColumnValues,
      min: ByteValues,
      max: ByteValues,
      t: LeafType,
      more: Int): ColumnValues = {
    val n = min.size
    def isBounded(i: Int) = (values.flags(i) & ColumnValues.Bounded) != 0
    // bounds are numbered: the minima from 0 to n - 1, and then the maxima from n on
    def value(i: Int) = if (i < n) min(i) else max(i - n)
    def compare(a: Int, b: Int) = {
      val (left, right) = (if (a < n) min else max, if (b < n) min else max)
      left.compare(a % n, right, b % n)
    }
    val sorted = (0 until 2 * n).filter(i => isBounded(i % n)).toArray
      .sortWith((a, b) => compare(a, b) < 0)
    val shared = new Array[Int](2 * n)
    // equal bounds are treated together, because they have the same neighbours
    var from = 0
    var before = 0
    while (from < sorted.length) {
      var until = from + 1
      while (until < sorted.length && compare(sorted(from), sorted(until)) == 0) until += 1
      val after =
        if (until == sorted.length) 0 else common(value(sorted(from)), value(sorted(until)))
      (from until until).foreach(k => shared(sorted(k)) = math.max(before, after))
      before = after
      from = until
    }
    def shortened(i: Int) = {
      val length = math.max(Least, shared(i) + more)
      val whole = value(i)
      if (whole.length <= length) whole
      else IndexValue.shortened(whole, t, isMax = i >= n, length)
    }
    val (low, high) = (new ByteValues.Builder(n), new ByteValues.Builder(n))
    (0 until n).foreach { i =>
      low.add(shortened(i))
      high.add(shortened(n + i))
    }
    values.copy(min = ByteStats(low.result()), max = ByteStats(high.result()))
  }

  /** The length of the common prefix of two values. */
  private def common(a: Array[Byte], b: Array[Byte]): Int = {
    val n = math.min(a.length, b.length)
    var i = 0
    while (i < n && a(i) == b(i)) i += 1
    i
  }
}
