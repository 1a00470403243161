package io.sparkzorder.util

/** Byte strings in unsigned order, a prefix before what it begins. */
object ByteStrings {

  /** Negative, zero or positive as `a` is below, equal to or above `b`. */
  def compare(a: Array[Byte], b: Array[Byte]): Int = {
    val n = math.min(a.length, b.length)
    var i = 0
    while (i < n) {
      if (a(i) != b(i)) return (a(i) & 0xff) - (b(i) & 0xff)
      i += 1
    }
    a.length - b.length
  }
}
