package io.sparkzorder.quality.ideal

/**
 * The closed range of ranks that a unit may hold. Bounds that both lie between two neighbouring values
 * have `low` one above `high`: no point is in them, but a range of both neighbours covers them.
 */
final case class RankRange(low: Int, high: Int) {
  def isEmpty: Boolean = this == RankRange.Empty

  def intersect(other: RankRange): RankRange =
    RankRange(math.max(low, other.low), math.min(high, other.high))
}

object RankRange {

  /** Of a unit that holds only NULLs: no value is looked for in it. */
  val Empty: RankRange = RankRange(Int.MaxValue, -1)
}
