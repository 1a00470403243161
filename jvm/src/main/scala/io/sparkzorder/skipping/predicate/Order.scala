package io.sparkzorder.skipping.predicate

import io.sparkzorder.index.ByteValues

/** Unsigned order of bytes. */
private[sparkzorder] object ByteOrder {
  def compare(a: Array[Byte], b: Array[Byte]): Int = ByteValues.compare(a, 0, a.length, b)
}

/** Comparisons of a column, on the left, with a literal. */
private[sparkzorder] sealed abstract class Order {
  def negated: Order
}

private[sparkzorder] object Order {
  import ByteTests.ByteEnd

  case object Less extends Order { override def negated: Order = AtLeast }
  case object AtMost extends Order { override def negated: Order = Greater }
  case object Greater extends Order { override def negated: Order = AtMost }
  case object AtLeast extends Order { override def negated: Order = Less }

  def test(order: Order, literal: Point, view: ColumnView, axis: Axis): FileTest = literal match {
    case LongPoint(low, high) => longs(order, low, high, view, axis == Reals)
    case BytesPoint(low, high, _) =>
      order match {
        case Less => new ByteTests.Range(view, None, Some(ByteEnd(high, inclusive = false)))
        case AtMost => new ByteTests.Range(view, None, Some(ByteEnd(low, inclusive = true)))
        case Greater => new ByteTests.Range(view, Some(ByteEnd(low, inclusive = false)), None)
        case AtLeast => new ByteTests.Range(view, Some(ByteEnd(high, inclusive = true)), None)
      }
  }

  private def longs(
      order: Order,
      low: Long,
      high: Long,
      view: ColumnView,
      isReal: Boolean): FileTest = {
    def range(from: Long, to: Long) = new LongTests.Range(view, from, to, isReal)
    order match {
      case Less => if (high == Long.MinValue) Never else range(Long.MinValue, high - 1)
      case AtMost => range(Long.MinValue, low)
      case Greater => if (low == Long.MaxValue) Never else range(low + 1, Long.MaxValue)
      case AtLeast => range(high, Long.MaxValue)
    }
  }
}
