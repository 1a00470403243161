// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

/**
 * Cuts the bounds of strings and binaries. A bound keeps the bytes that tell it from its neighbours
 * among all bounds of the column. So an index of long texts stays small, and texts with a long common
 * beginning still tell the files apart.
 */
private[index] object SeparatingBounds {

  /** So many bytes are kept in any case. */
  val Least = 64

  /** So many bytes are kept behind those that a bound shares with a neighbour. */
  private val More = 16

  /** @param more bytes behind the shared ones; more than usual if further bounds will be between */
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
    // numbers from n on stand for maxima
    def value(i: Int) = if (i < n) min(i) else max(i - n)
    def compare(a: Int, b: Int) = {
      val (left, right) = (if (a < n) min else max, if (b < n) min else max)
      left.compare(a % n, right, b % n)
    }
    val sorted = (0 until 2 * n).filter(i => isBounded(i % n)).toArray
      .sortWith((a, b) => compare(a, b) < 0)
    val shared = new Array[Int](2 * n)
    // equal bounds have the same neighbours
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

  /** The number of bytes that two values begin with. */
  private def common(a: Array[Byte], b: Array[Byte]): Int = {
    val n = math.min(a.length, b.length)
    var i = 0
    while (i < n && a(i) == b(i)) i += 1
    i
  }
}
