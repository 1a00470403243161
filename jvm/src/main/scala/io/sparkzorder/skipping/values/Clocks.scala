// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.time.{Instant, LocalDate, ZoneId}
import java.time.zone.ZoneOffsetTransition

import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, MICROS_PER_SECOND}

/**
 * The changes of the clocks of a time zone. A clock shows the local time. Between two changes, the local time grows
 * with the instant. Instants and local times are microseconds of the years 1 to 9999.
 */
private[values] final class Clocks(zone: ZoneId) {
  import Clocks._
  private val rules = zone.getRules

  /** The local time at an instant. */
  def local(instant: Long): Long =
    instant + rules.getOffset(at(instant)).getTotalSeconds * MICROS_PER_SECOND

  /**
   * Instants of an interval, among them those with the least and the greatest local time: the ends of the
   * interval, and the changes near the ends. A change further from an end than two days cannot lead to a local
   * time beyond that of the end.
   */
  def ends(low: Long, high: Long): Seq[Long] =
    if (rules.isFixedOffset || low == high) Seq(low, high)
    else {
      val near = changes(low, math.min(high, low + Far)) ++ changes(math.max(low, high - Far), high)
      low +: near.distinct.flatMap(c => Seq(micros(c) - 1, micros(c))) :+ high
    }

  /** The pieces of an interval between changes; None if there are `MaxPieces` changes or more. */
  def pieces(low: Long, high: Long): Option[Seq[(Long, Long)]] =
    if (rules.isFixedOffset) Some(Seq((low, high)))
    else {
      val cuts = changes(low, high).take(MaxPieces).map(micros)
      if (cuts.size == MaxPieces) None else Some((low +: cuts).zip(cuts.map(_ - 1) :+ high))
    }

  /**
   * The instants of all local times of an interval. They need not lie between the instants of its two ends. A clock
   * that is set forward leaves out some local times, and Spark reads such a time as an instant after the change. So a
   * later local time can be an earlier instant.
   *
   * @param low the instant of the least local time
   * @param high the instant of the greatest local time
   * @return an interval that holds all these instants
   */
  def aroundGaps(low: Long, high: Long): (Long, Long) =
    if (rules.isFixedOffset) (low, high)
    else {
      val least = changes(low - Far, low).filter(c => c.isGap && after(c) >= low).map(micros)
      val most = changes(high - Far, high).filter(c => c.isGap && after(c) >= high).map(after)
      ((low +: least).min, (high +: most).max)
    }

  /** True if no clock is set between two instants. */
  def isSteady(low: Long, high: Long): Boolean =
    rules.isFixedOffset || changes(low, high).isEmpty

  private def changes(after: Long, until: Long): Seq[ZoneOffsetTransition] = {
    val found = Seq.newBuilder[ZoneOffsetTransition]
    var next = rules.nextTransition(at(after))
    var count = 0
    while (next != null && micros(next) <= until && count < MaxPieces) {
      if (micros(next) > after) found += next
      count += 1
      next = rules.nextTransition(next.getInstant)
    }
    found.result()
  }

  private def micros(c: ZoneOffsetTransition): Long =
    c.getInstant.getEpochSecond * MICROS_PER_SECOND

  private def after(c: ZoneOffsetTransition): Long =
    micros(c) + c.getDuration.getSeconds * MICROS_PER_SECOND
}

private[values] object Clocks {

  /** A change that is further away than this does not matter: clocks were never set by more than 24 hours. */
  private val Far = 2 * MICROS_PER_DAY
  private val MaxPieces = 16

  private def at(micros: Long): Instant =
    Instant.ofEpochSecond(Math.floorDiv(micros, MICROS_PER_SECOND))

  /** Days of the years 1 to 9999, without those that another time zone moves out of these years. */
  val Days: (Long, Long) =
    (LocalDate.of(1, 1, 5).toEpochDay, LocalDate.of(9999, 12, 25).toEpochDay)

  /** Microseconds of [[Days]]. */
  val Micros: (Long, Long) = (Days._1 * MICROS_PER_DAY, Days._2 * MICROS_PER_DAY)
}
