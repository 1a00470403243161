package io.sparkzorder.skipping.predicate

import java.util.Arrays

import io.sparkzorder.index.{BoundValues, LongBounds}

/** Predicates on a column whose bounds are ordered longs. */
private[sparkzorder] object LongTests {

  /** The column lies in a closed range. */
  final class Range(view: ColumnView, from: Long, to: Long, isReal: Boolean)
      extends ColumnTest(view, false, true, isReal && from <= Axis.NaN && Axis.NaN <= to) {
    private val (min, max) = (longs(view.min), longs(view.max))
    override protected def mayMatch(first: Int, until: Int): Long = {
      var bits = 0L
      var i = first
      while (i < until) {
        if (max(i) >= from && min(i) <= to) bits |= 1L << i
        i += 1
      }
      bits
    }
  }

  /** The column is one of some values; `sorted` has no duplicates. */
  final class In(view: ColumnView, sorted: Array[Long], isReal: Boolean)
      extends ColumnTest(view, false, true, isReal && contains(sorted, Axis.NaN)) {
    private val (min, max) = (longs(view.min), longs(view.max))
    override protected def mayMatch(first: Int, until: Int): Long = {
      var bits = 0L
      var i = first
      while (i < until) {
        val at = Arrays.binarySearch(sorted, min(i))
        val next = if (at >= 0) at else -at - 1
        if (next < sorted.length && sorted(next) <= max(i)) bits |= 1L << i
        i += 1
      }
      bits
    }
  }

  /** The column is none of some values. */
  final class NotIn(view: ColumnView, sorted: Array[Long], ofNulls: Boolean, isReal: Boolean)
      extends ColumnTest(view, ofNulls, true, isReal && !contains(sorted, Axis.NaN)) {
    private val (min, max) = (longs(view.min), longs(view.max))
    override protected def mayMatch(first: Int, until: Int): Long = {
      var bits = 0L
      var i = first
      while (i < until) {
        if (min(i) != max(i) || !contains(sorted, min(i))) bits |= 1L << i
        i += 1
      }
      bits
    }
  }

  private def contains(sorted: Array[Long], value: Long): Boolean =
    Arrays.binarySearch(sorted, value) >= 0

  private def longs(values: BoundValues): Array[Long] = values match {
    case LongBounds(l) => l
    // null counts alone: no file is bounded
    case _ => Array.emptyLongArray
  }
}
