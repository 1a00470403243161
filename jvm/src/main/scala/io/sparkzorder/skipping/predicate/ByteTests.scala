package io.sparkzorder.skipping.predicate

import io.sparkzorder.index.{BoundValues, ByteBounds, ByteValues}

/** Predicates on a column whose bounds are bytes in unsigned order. */
private[sparkzorder] object ByteTests {

  /** A test that looks at the bounds of one file after the other. */
  abstract class ByteTest(view: ColumnView, ofNulls: Boolean)
      extends ColumnTest(view, ofNulls, ofValues = true, ofNaN = false) {
    protected val (min, max) = (bytes(view.min), bytes(view.max))

    protected def mayMatch(i: Int): Boolean

    override protected def mayMatch(from: Int, until: Int): Long = {
      var bits = 0L
      var i = from
      while (i < until) {
        if (mayMatch(i)) bits |= 1L << i
        i += 1
      }
      bits
    }
  }

  /** The column lies in a range. */
  final class Range(view: ColumnView, from: Option[ByteEnd], to: Option[ByteEnd])
      extends ByteTest(view, false) {
    private val (low, high) = (from.orNull, to.orNull)
    override protected def mayMatch(i: Int): Boolean =
      (low == null || low.isReachedBy(max.compare(i, low.value))) &&
        (high == null || high.isReachedBy(-min.compare(i, high.value)))
  }

  /** One end of a range. */
  final case class ByteEnd(value: Array[Byte], inclusive: Boolean) {

    /** @param beyond how far a bound lies on the range's side of this end */
    def isReachedBy(beyond: Int): Boolean = beyond > 0 || (beyond == 0 && inclusive)
  }

  /** The column is one of some values. */
  final class In(view: ColumnView, sorted: Array[Array[Byte]]) extends ByteTest(view, false) {
    override protected def mayMatch(i: Int): Boolean = {
      val next = firstFrom(sorted, min, i)
      next < sorted.length && max.compare(i, sorted(next)) >= 0
    }
  }

  /** The column is none of some values. */
  final class NotIn(view: ColumnView, sorted: Array[Array[Byte]], ofNulls: Boolean)
      extends ByteTest(view, ofNulls) {
    override protected def mayMatch(i: Int): Boolean = {
      val next = firstFrom(sorted, min, i)
      // bounds that were cut are equal only where all values are
      next >= sorted.length || min.compare(i, sorted(next)) != 0 ||
      max.compare(i, sorted(next)) != 0
    }
  }

  /** The column begins with some bytes. */
  final class Prefix(view: ColumnView, prefix: Array[Byte])
      extends ByteTest(view, false) {
    override protected def mayMatch(i: Int): Boolean =
      max.compare(i, prefix) >= 0 && min.comparePrefix(i, prefix) <= 0
  }

  /** The column does not begin with some bytes. */
  final class NotPrefix(view: ColumnView, prefix: Array[Byte])
      extends ByteTest(view, false) {
    override protected def mayMatch(i: Int): Boolean =
      min.comparePrefix(i, prefix) != 0 || max.comparePrefix(i, prefix) != 0
  }

  /** Position of the first of the sorted values that is not below the bound of file `i`. */
  private def firstFrom(sorted: Array[Array[Byte]], bounds: ByteValues, i: Int): Int = {
    var (low, high) = (0, sorted.length)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (bounds.compare(i, sorted(middle)) > 0) low = middle + 1 else high = middle
    }
    low
  }

  private def bytes(values: BoundValues): ByteValues = values match {
    case ByteBounds(b) => b
    case _ => new ByteValues(Array.emptyByteArray, Array.emptyIntArray)
  }
}
