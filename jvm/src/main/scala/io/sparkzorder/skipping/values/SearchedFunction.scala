// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.time.LocalDate

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.skipping.values.Extent.{Anything, Between, OnlyNull}

/**
 * A search did not find out which values have the wanted results. The message names the part of the expression
 * that is the reason.
 */
private[sparkzorder] final class NotSearched(reason: String) extends Exception(reason)

/**
 * An expression with one variable whose values are ordered longs. The values with wanted results are found
 * by search: an interval of values is excluded if none of its results is wanted, is included if all of them
 * are, and is cut in two otherwise. [[ExtentTree]] computes bounds for the results of an interval.
 */
private[sparkzorder] final class SearchedFunction(e: Expression, variable: Expression)
    extends ColumnFunction {
  import SearchedFunction._

  private val tree = ExtentTree.of(e, variable)
  private val ofLong = OrderedValue.ofLong(variable.dataType)
  private val domain = ComparisonDomain.of(e.dataType).orNull
  private val hasNaN = ComparisonDomain.of(variable.dataType).contains(Reals)
  private val cuts = Cuts.of(e, variable)

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals =
    if (results.isEmpty && !ofNulls) Intervals.none
    else {
      val all = OrderedValue.range(variable.dataType).get
      val known = range.filterNot(_.isEmpty)
      val (least, greatest) =
        known.map(r => (r.least, r.greatest)).getOrElse(usual(variable.dataType))
      val judge = new Judge(results.coarser, ofNulls, domain)
      // A file may hold values outside of the searched range. The values below it are tested as one interval, and
      // the values above it as another.
      val isBeyond = !known.exists(_.isOfAllFiles)
      val below = if (isBeyond && least > all._1) Seq((all._1, least - 1)) else Nil
      val above = if (isBeyond && greatest < all._2) Seq((greatest + 1, all._2)) else Nil
      val beyond = (below ++ above).flatMap(inCalendar(variable.dataType)).filter {
        case (low, high) =>
          judge(tree(between(low, high))) != Out
      }
      val found = search(judge, least, greatest) ++ beyond
      val nan = if (hasNaN && judge(tree(Extent.point(ofLong(ComparisonDomain.NaN)))) != Out) {
        Seq((ComparisonDomain.NaN, ComparisonDomain.NaN))
      } else Nil
      Intervals.ofLongRanges(found ++ nan)
    }

  private def search(judge: Judge, least: Long, greatest: Long): Seq[(Long, Long)] = {
    val included = Seq.newBuilder[(Long, Long)]
    val triesAll = cuts.mayReachAll(least, greatest)
    val maxWithoutGain = if (triesAll) MaxSteps else MaxStepsWithoutGain
    val open = mutable.Queue((least, greatest))
    // Intervals with unknown results, such as days after the year 9999. Intervals near zero are cut first.
    val vague = mutable.PriorityQueue.empty[(Long, Long)](Ordering.by(r => -distanceFromZero(r)))
    var (steps, guesses, isOut) = (0, 0, false)
    while ((open.nonEmpty || vague.nonEmpty && guesses < MaxGuesses) && steps < MaxSteps &&
      (isOut || steps < maxWithoutGain)) {
      if (open.isEmpty) guesses += 1
      val (low, high) = if (open.nonEmpty) open.dequeue() else vague.dequeue()
      steps += 1
      val results = tree(between(low, high))
      judge(results) match {
        case Out => isOut = true
        case In => included += ((low, high))
        case _ if low == high => included += ((low, high))
        case _ =>
          val cut = cuts(low, high)
          val halves = Seq((low, cut - 1), (cut, high))
          if (results == Anything && tree.unknown.isEmpty && !triesAll) vague ++= halves
          else open ++= halves
      }
    }
    open ++= vague
    if (!isOut && (open.nonEmpty || tree.unknown.isDefined)) {
      val part = tree.unknown.getOrElse(e)
      val reason =
        if (tree.unknown.isDefined) ""
        else ", for which the search excluded no values (its results may repeat)"
      throw new NotSearched(s"the expression ${textOf(part)}$reason")
    }
    included.result() ++ open
  }

  private def distanceFromZero(range: (Long, Long)): Long =
    if (range._1 <= 0 && range._2 >= 0) 0L
    else if (range._1 > 0) range._1
    else -(range._2 + 1)

  private def between(low: Long, high: Long): Extent =
    Extent.ofLongs(variable.dataType, low, high, mayBeNull = false)
}

private[sparkzorder] object SearchedFunction {

  /** The search ends after this many intervals, and includes the rest. */
  private[values] val MaxSteps = 16384

  /** At most so many intervals with unknown results are cut, if every function is known. */
  private val MaxGuesses = 1024

  /** The search ends after this many intervals if none was excluded, unless the results of all days can be tried. */
  private val MaxStepsWithoutGain = 2048

  /** The values that are searched where the range of the files is not known. */
  private def usual(t: DataType): (Long, Long) = {
    val days = (LocalDate.of(1900, 1, 1).toEpochDay, LocalDate.of(2100, 1, 1).toEpochDay)
    t match {
      case DateType => days
      case TimestampType | TimestampNTZType => (days._1 * MICROS_PER_DAY, days._2 * MICROS_PER_DAY)
      case other => OrderedValue.range(other).get
    }
  }

  /** A range, cut where the years 1 to 9999 begin and end. [[PiecesOfTime]] knows results only for these years. */
  private def inCalendar(t: DataType)(range: (Long, Long)): Seq[(Long, Long)] = {
    val starts = (t match {
      case DateType => Seq(Clocks.Days._1, Clocks.Days._2 + 1)
      case TimestampType | TimestampNTZType => Seq(Clocks.Micros._1, Clocks.Micros._2 + 1)
      case _ => Nil
    }).filter(start => start > range._1 && start <= range._2)
    (range._1 +: starts).zip(starts.map(_ - 1) :+ range._2)
  }

  private[values] val Out = 0
  private[values] val In = 1
  private val Unsure = 2

  /** The SQL of a part of an expression, shortened for a message. */
  def textOf(e: Expression): String =
    Try(e.sql).getOrElse(e.toString) match {
      case long if long.length > 200 => long.take(200) + ".."
      case text => text
    }

  /** Decides, by the extent of the results of an interval, whether none, all or some of its values are wanted. */
  private[values] final class Judge(wanted: Intervals, ofNulls: Boolean, domain: ComparisonDomain) {
    private val others = wanted.complement

    def apply(results: Extent): Int = results match {
      case Anything => Unsure
      case OnlyNull => if (ofNulls) In else Out
      case b: Between =>
        val isIn = (LiteralPosition.of(b.low, domain), LiteralPosition.of(b.high, domain)) match {
          case (Some(low), Some(high)) =>
            if (!overlap(wanted, low, high)) Out
            else if (overlap(others, low, high)) Unsure
            else In
          case _ => Unsure
        }
        if (b.mayBeNull && ofNulls && isIn == Out) Unsure else isIn
    }

    private def overlap(set: Intervals, low: LiteralPosition, high: LiteralPosition): Boolean =
      (set, low, high) match {
        case (none, _, _) if none.isEmpty => false
        case (longs: LongIntervals, l: LongPosition, h: LongPosition) =>
          longs.overlaps(l.low, h.high)
        case (bytes: ByteIntervals, l: BytesPosition, h: BytesPosition) =>
          bytes.overlaps(l.low, h.high)
        case _ => true
      }
  }
}

/**
 * Chooses the value at which an interval is cut: near the middle, and where results of functions are likely to
 * change, such as the beginning of a day.
 *
 * @param units lengths, descending. The cut is a multiple of the greatest unit that has a multiple in the interval
 * @param clocks of the zone in which days begin; null if the values are no times
 * @param micros the number of microseconds in one unit of the values
 * @param areOfDays true if all values of one day have the same result, and the results do not have the order of the
 *   days
 */
private final class Cuts(
    units: Seq[Long],
    clocks: Clocks,
    micros: Long,
    areOfDays: Boolean = false) {

  /** True if an interval has so few days that the search can evaluate each day. */
  def mayReachAll(low: Long, high: Long): Boolean = areOfDays && high - low >= 0 &&
    (high - low) / (MICROS_PER_DAY / micros) < SearchedFunction.MaxSteps / 2

  /** The first value of the upper part. */
  def apply(low: Long, high: Long): Long = {
    // the middle is rounded up, so that it is above `low`
    val middle = low + ((high - low) >>> 1) + ((high - low) & 1)
    if (units.isEmpty || high - low < 0) middle
    else {
      val shift = offset(middle)
      val cut = units.iterator.map { unit =>
        val floor = Math.floorDiv(middle + shift, unit) * unit - shift
        if (floor > low) floor else floor + unit
      }.find(c => c > low && c <= high)
      cut.getOrElse(middle)
    }
  }

  private def offset(value: Long): Long =
    if (clocks == null || value < Clocks.Micros._1 / micros || value > Clocks.Micros._2 / micros) 0L
    else (clocks.local(value * micros) - value * micros) / micros
}

private object Cuts {

  def of(e: Expression, variable: Expression): Cuts = {
    val zone =
      e.collectFirst { case t: TimeZoneAwareExpression => t.timeZoneId }.flatten.getOrElse("UTC")
    def times(micros: Long, zone: String) = new Cuts(
      Seq(MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, 1000L)
        .map(_ / micros).filter(_ > 1),
      new Clocks(DateTimeUtils.getZoneId(zone)),
      micros,
      isOfDays)
    def isOfDays = e.exists {
      case d: DateFormatClass => TextsOfTime.isOfDays(d.right)
      case f: FromUnixTime => TextsOfTime.isOfDays(f.format)
      case _ => false
    }
    def isOfSeconds = e.exists {
      case c: Cast => c.dataType == TimestampType && PiecesOfNumbers.isIntegral(c.child.dataType)
      case _: SecondsToTimestamp | _: FromUnixTime => true
      case _ => false
    }
    variable.dataType match {
      case DateType => new Cuts(Nil, null, MICROS_PER_DAY, isOfDays)
      case TimestampType => times(1, zone)
      case TimestampNTZType => times(1, "UTC")
      case LongType if e.exists(_.isInstanceOf[MillisToTimestamp]) => times(1000, zone)
      case LongType if e.exists(_.isInstanceOf[MicrosToTimestamp]) => times(1, zone)
      case LongType | IntegerType if isOfSeconds => times(MICROS_PER_SECOND, zone)
      case LongType | IntegerType | ShortType | _: DecimalType =>
        new Cuts((18 to 1 by -1).map(n => math.pow(10, n.toDouble).toLong), null, 1)
      case _ => new Cuts(Nil, null, 1)
    }
  }
}

/**
 * A function of a column of texts. The texts with wanted results are found by search, as in [[SearchedFunction]].
 * The search asks for the results of all texts with one beginning. The texts are excluded if none of the results is
 * wanted, and included if all are. Otherwise they are divided by their next character.
 *
 * @param known another function that finds all texts with wanted results, and perhaps other texts
 */
private[skipping] final class SearchedTexts private (
    e: Expression,
    tree: ExtentTree,
    known: Option[ColumnFunction])
    extends SearchedBeginnings {
  import BeginningsInFiles.{range, withoutPlainNext}
  import SearchedFunction.{In, Judge, Out}

  private val domain = ComparisonDomain.of(e.dataType).orNull

  /** True if no other function is known that finds the texts with wanted results. */
  def isAlone: Boolean = known.isEmpty

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      inFiles: BeginningsInFiles): Intervals =
    if (results.isEmpty && !ofNulls) Intervals.none
    else {
      val some = Try(known.map(_.valuesFor(results, ofNulls, None))).toOption.flatten
      some match {
        case None => search(results, ofNulls, inFiles)
        // each of the two sets has all texts with a wanted result, so their intersection has these texts, too
        case Some(texts) =>
          try texts.intersect(search(results, ofNulls, inFiles))
          catch { case _: NotSearched => texts }
      }
    }

  private def search(
      results: Intervals,
      ofNulls: Boolean,
      inFiles: BeginningsInFiles): Intervals = {
    val judge = new Judge(results.coarser, ofNulls, domain)
    val included = Seq.newBuilder[(ByteEnd, ByteEnd)]
    val open = mutable.Queue(inFiles.first)
    var (steps, isOut) = (0, false)
    while (open.nonEmpty && steps < SearchedTexts.MaxSteps &&
      (isOut || steps < SearchedTexts.MaxStepsWithoutGain)) {
      val text = open.dequeue()
      steps += 1
      judge(if (text.isEmpty) Anything else tree(TextStart.from(text))) match {
        case Out => isOut = true
        case In => included += range(text)
        case _ =>
          val whole = range(text)._1
          if (judge(tree(Extent.point(UTF8String.fromString(text)))) != Out)
            included += ((whole, whole))
          included ++= withoutPlainNext(text)
          open ++= (1 until 127).map(c => text + c.toChar).filter(inFiles.has)
      }
    }
    if (!isOut) throw new NotSearched(
      s"the expression ${SearchedFunction.textOf(tree.unknown.getOrElse(e))}")
    inFiles.withUnsearched(Intervals.ofByteRanges(included.result() ++ open.map(range)))
  }
}

private[skipping] object SearchedTexts {

  /**
   * None if nothing is known of some part of the expression.
   *
   * @param known another function that finds all texts with wanted results, and perhaps others
   */
  def of(
      e: Expression,
      variable: Expression,
      known: Option[ColumnFunction] = None): Option[SearchedTexts] = {
    val tree = ExtentTree.of(e, variable)
    if (Piece.isText(variable.dataType) && tree.unknown.isEmpty) {
      Some(new SearchedTexts(e, tree, known))
    } else None
  }

  /** True for a call whose results are known by the beginning of the text. */
  def isCall(call: Expression, text: Expression): Boolean =
    TextBeginnings.of(call).exists { case (parts, _) => parts.exists(_.semanticEquals(text)) }

  /** The search ends after this many beginnings, and includes the rest. */
  private val MaxSteps = 4096

  /** If this many beginnings excluded nothing, the search ends. */
  private val MaxStepsWithoutGain = 256
}
