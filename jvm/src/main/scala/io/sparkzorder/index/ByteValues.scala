// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.util.Arrays

/**
 * Many byte strings in one array.
 *
 * @param data the byte strings, concatenated
 * @param ends where each ends in `data`
 */
private[sparkzorder] final class ByteValues(val data: Array[Byte], val ends: Array[Int])
    extends Serializable {
  def size: Int = ends.length
  def start(i: Int): Int = if (i == 0) 0 else ends(i - 1)
  def apply(i: Int): Array[Byte] = Arrays.copyOfRange(data, start(i), ends(i))

  /** Compares value `i` with some bytes, unsigned. */
  def compare(i: Int, other: Array[Byte]): Int = {
    val from = start(i)
    ByteValues.compare(data, from, ends(i) - from, other)
  }

  /** Compares value `i` with value `j` of `other`, unsigned. */
  def compare(i: Int, other: ByteValues, j: Int): Int = {
    val (from, to) = (start(i), other.start(j))
    val (a, b) = (ends(i) - from, other.ends(j) - to)
    val n = math.min(a, b)
    var k = 0
    while (k < n && data(from + k) == other.data(to + k)) k += 1
    if (k < n) (data(from + k) & 0xff) - (other.data(to + k) & 0xff) else a - b
  }

  def bytes: Long = data.length + 4L * ends.length
}

private[sparkzorder] object ByteValues {

  /** Unsigned order of `a` from `from` on, `length` bytes, and all of `b`. */
  def compare(a: Array[Byte], from: Int, length: Int, b: Array[Byte]): Int = {
    val n = math.min(length, b.length)
    var i = 0
    while (i < n && a(from + i) == b(i)) i += 1
    if (i < n) (a(from + i) & 0xff) - (b(i) & 0xff) else length - b.length
  }

  /** Collects byte strings. */
  final class Builder(expected: Int) {
    private var data = new Array[Byte](math.max(16, math.min(expected, 1 << 20) * 16))
    private val ends = Array.newBuilder[Int]
    private var length = 0
    ends.sizeHint(expected)

    def add(from: Array[Byte], offset: Int, count: Int): Unit = {
      val end = length.toLong + count
      if (end > Int.MaxValue - 16) {
        throw new IllegalStateException(
          "more than 2 GB of paths or bounds in one column of the index")
      }
      if (end > data.length) {
        val grown = math.max(end, math.min(data.length * 2L, Int.MaxValue - 16L))
        data = Arrays.copyOf(data, grown.toInt)
      }
      System.arraycopy(from, offset, data, length, count)
      length = end.toInt
      ends += length
    }

    def add(value: Array[Byte]): Unit = add(value, 0, value.length)

    def result(): ByteValues = new ByteValues(Arrays.copyOf(data, length), ends.result())
  }
}
