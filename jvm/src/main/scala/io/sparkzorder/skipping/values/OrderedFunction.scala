package io.sparkzorder.skipping.values

import java.time.{Instant, ZoneId}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, SECONDS_PER_DAY}

import io.sparkzorder.index.ByteValues

/**
 * A function that keeps the order of values, or reverses it. Then an interval of results comes from
 * one interval of values, whose ends are found by bisection. Spark computes the function, so the
 * result is Spark's in each mode and time zone.
 *
 * @param values the least and the greatest value for which the order holds and Spark raises no
 *   error. Other values count as mapped into every interval
 * @param all the least and the greatest value of the type
 * @param isReversed true if a greater value has a smaller result
 * @param disorder how far apart two values can be that break the order
 * @param hasNaN true if the value can be NaN, which is not among `values`
 */
private[sparkzorder] final class OrderedFunction(
    call: Long => LiteralPosition,
    values: (Long, Long),
    all: (Long, Long),
    isReversed: Boolean = false,
    disorder: Disorder = Disorder.None,
    hasNaN: Boolean = false)
    extends ColumnFunction {
  private val (least, greatest) = values

  override def valuesFor(results: Intervals, range: => Option[(Long, Long)]): Intervals =
    if (least > greatest) Intervals.between(all._1, all._2)
    else {
      val few = OrderedFunction.coarser(results)
      val inside = (0 until few.size).flatMap(i => valuesFor(new Ends(few, i)))
      Intervals.ofLongRanges(inside ++ outside ++ nan(results))
    }

  /** The values without a known order. */
  private def outside: Seq[(Long, Long)] =
    (if (all._1 < least) Seq((all._1, least - 1)) else Nil) ++
      (if (all._2 > greatest) Seq((greatest + 1, all._2)) else Nil)

  private def nan(results: Intervals): Seq[(Long, Long)] = {
    def mayMatch =
      try {
        val result = call(ComparisonDomain.NaN)
        (0 until results.size).map(new Ends(results, _))
          .exists(e => e.isFrom(result) && !e.isBeyond(result))
      } catch { case NonFatal(_) => true }
    if (hasNaN && mayMatch) Seq((ComparisonDomain.NaN, ComparisonDomain.NaN)) else Nil
  }

  /** The values whose results lie in one interval. */
  private def valuesFor(interval: Ends): Option[(Long, Long)] = {
    def isFrom(r: LiteralPosition) = interval.isFrom(r)
    def isBeyond(r: LiteralPosition) = interval.isBeyond(r)
    val start = if (isReversed) first(!isBeyond(_)) else first(isFrom)
    val beyond = if (isReversed) first(!isFrom(_)) else first(isBeyond)
    val low = start match {
      case Some(value) => Some(saturated(value, -disorder.around(value)))
      // the last values may reach the interval although the greatest does not
      case None => isolated(greatest).map(saturated(greatest, _))
    }
    val high = beyond match {
      case None => Some(greatest)
      case Some(`least`) => isolated(least).map(by => saturated(least, -by))
      case Some(value) => Some(saturated(value - 1, disorder.around(value)))
    }
    for (l <- low; h <- high) yield (math.max(least, l), math.min(greatest, h))
  }

  /** The distance, negative, at which values near an end may break the order. */
  private def isolated(end: Long): Option[Long] = Some(-disorder.around(end)).filter(_ != 0)

  private def saturated(value: Long, by: Long): Long = {
    val sum = value + by
    if (by < 0 && sum > value) Long.MinValue else if (by > 0 && sum < value) Long.MaxValue else sum
  }

  /** The first value whose result has a property that all greater values have, too. */
  private def first(has: LiteralPosition => Boolean): Option[Long] =
    if (has(call(least))) Some(least)
    else if (!has(call(greatest))) None
    else {
      // the property begins above `low` and not above `high`
      var (low, high) = (least, greatest)
      while (high - low != 1) {
        val middle = (low & high) + ((low ^ high) >> 1)
        if (has(call(middle))) high = middle else low = middle
      }
      Some(high)
    }

  override def rangeOf(range: (Long, Long)): Option[(Long, Long)] =
    if (range._1 < least || range._2 > greatest || range._1 > range._2) None
    else {
      def far(v: Long, by: Long) = math.max(least, math.min(greatest, saturated(v, by)))
      val ends = Seq(
        call(far(range._1, -disorder.around(range._1))),
        call(far(range._2, disorder.around(range._2))))
      val longs = ends.collect { case LongPosition(low, high) => (low, high) }
      if (longs.size < 2) None else Some((longs.map(_._1).min, longs.map(_._2).max))
    }
}

private[sparkzorder] object OrderedFunction {

  /** More intervals than these are joined to fewer, because each takes two bisections. */
  val MaxIntervals = 256

  /** At most [[MaxIntervals]] intervals that hold all values of the given ones. */
  def coarser(values: Intervals): Intervals =
    if (values.size <= MaxIntervals) values
    else {
      val group = (values.size + MaxIntervals - 1) / MaxIntervals
      values match {
        case longs: LongIntervals => Intervals.ofLongRanges(
            longs.lows.zip(longs.highs).grouped(group).map(g => (g.head._1, g.last._2)).toSeq)
        case bytes: ByteIntervals => Intervals.ofByteRanges(
            bytes.lows.zip(bytes.highs).grouped(group).map(g => (g.head._1, g.last._2)).toSeq)
      }
    }
}

/** One interval of several, compared with results. */
private final class Ends(intervals: Intervals, i: Int) {

  /** Whether a result is not below the interval. */
  def isFrom(result: LiteralPosition): Boolean = (intervals, result) match {
    case (longs: LongIntervals, p: LongPosition) => p.high >= longs.lows(i)
    case (bytes: ByteIntervals, p: BytesPosition) =>
      val low = bytes.lows(i)
      low.isEndless || low.isReachedBy(compare(p.high, low.value))
    case _ => throw new IllegalArgumentException("a result of another domain")
  }

  /** Whether a result is above the interval. */
  def isBeyond(result: LiteralPosition): Boolean = (intervals, result) match {
    case (longs: LongIntervals, p: LongPosition) => p.low > longs.highs(i)
    case (bytes: ByteIntervals, p: BytesPosition) =>
      val high = bytes.highs(i)
      !high.isEndless && !high.isReachedBy(-compare(p.low, high.value))
    case _ => throw new IllegalArgumentException("a result of another domain")
  }

  private def compare(a: Array[Byte], b: Array[Byte]): Int =
    ByteValues.compare(a, 0, a.length, b)
}

/**
 * How far apart two values can be if the greater has the smaller result, though the function keeps
 * the order otherwise. Clocks that are set back are the reason.
 */
private[sparkzorder] sealed trait Disorder {

  /** A distance that covers all such pairs around a value; 0 if there is none. */
  def around(value: Long): Long
}

private[sparkzorder] object Disorder {
  case object None extends Disorder {
    override def around(value: Long): Long = 0
  }

  /** The same distance everywhere. */
  final case class Everywhere(distance: Long) extends Disorder {
    override def around(value: Long): Long = distance
  }

  /**
   * Two days near each change of a zone's clocks. Clocks were never set by more than 24 hours.
   * Values are microseconds of instants or of local times.
   */
  final case class ClockChanges(zone: ZoneId) extends Disorder {
    private val rules = zone.getRules

    override def around(value: Long): Long =
      if (rules.isFixedOffset) 0
      else {
        val second = Math.floorDiv(value, 1000000L)
        val next = rules.nextTransition(Instant.ofEpochSecond(second - 4 * SECONDS_PER_DAY))
        if (next == null || next.getInstant.getEpochSecond > second + 4 * SECONDS_PER_DAY) 0
        else 2 * MICROS_PER_DAY
      }
  }
}
