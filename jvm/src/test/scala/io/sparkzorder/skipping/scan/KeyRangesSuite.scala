// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class KeyRangesSuite extends AnyFunSuite {

  private def ranges(values: Long*)(atMost: Int): Seq[(Long, Long)] =
    KeyRanges.widestGaps(values.toArray, atMost, None)

  private def within(least: Long, greatest: Long)(values: Long*)(atMost: Int): Seq[(Long, Long)] =
    KeyRanges.widestGaps(values.toArray, atMost, Some((least, greatest)))

  test("ranges without a gap between them are one range") {
    assert(ranges(3, 1, 2, 2)(32) === Seq((1, 3)))
    assert(ranges(7)(32) === Seq((7, 7)))
  }

  test("the widest gaps stay, and of equal gaps the first") {
    assert(ranges(1, 5, 6, 20)(2) === Seq((1, 6), (20, 20)))
    assert(ranges(1, 11, 21, 31)(3) === Seq((1, 1), (11, 11), (21, 31)))
    assert(ranges(1, 11, 21, 31)(1) === Seq((1, 31)))
  }

  test("a gap counts by its part within the values of the files") {
    assert(within(0, 10)(-900, -1, 3, 8, 900)(3) === Seq((-900, -1), (3, 3), (8, 900)))
    assert(within(0, 10)(-900, -1, 3, 8, 900)(2) === Seq((-900, 3), (8, 900)))
    // nothing is between the values that matter
    assert(within(400, 500)(1, 100, 200, 300)(3) === Seq((1, 300)))
  }

  test("gaps wider than the greatest long") {
    val (least, greatest) = (Long.MinValue, Long.MaxValue)
    assert(ranges(least, greatest)(2) === Seq((least, least), (greatest, greatest)))
    assert(ranges(least, 0, 9, greatest)(3) === Seq((least, least), (0, 9), (greatest, greatest)))
  }

  test("random keys: as a sort of all gaps in whole numbers without limits chooses them") {
    val seed = System.nanoTime()
    val random = new Random(seed)
    for (round <- 1 to 500) withClue(s"seed $seed, round $round: ") {
      def value() = if (random.nextInt(4) == 0) random.nextLong() else random.nextInt(300) - 150L
      val values = Seq.fill(1 + random.nextInt(60))(value())
      val atMost = 1 + random.nextInt(12)
      val bounds = Seq(value(), value()).sorted
      val range = if (random.nextBoolean()) Some((bounds.head, bounds.last)) else None
      val found = KeyRanges.widestGaps(values.toArray, atMost, range)
      assert(found === slow(values, atMost, range))
      assert(values.forall(v => found.exists { case (a, b) => a <= v && v <= b }))
      assert(found.size <= atMost)
    }
  }

  private def slow(values: Seq[Long], atMost: Int, within: Option[(Long, Long)]) = {
    val sorted = values.distinct.sorted
    val gaps = sorted.zip(sorted.drop(1)).filter { case (a, b) => BigInt(b) - a > 1 }
    def width(gap: (Long, Long)) = {
      val (least, greatest) = within.getOrElse((Long.MinValue, Long.MaxValue))
      (BigInt(gap._2) - 1).min(greatest) - (BigInt(gap._1) + 1).max(least) + 1
    }
    val wanted =
      if (gaps.size < atMost) gaps
      else gaps.filter(width(_) > 0).sortBy(g => (-width(g), g._1)).take(atMost - 1).sorted
    (sorted.head +: wanted.map(_._2)).zip(wanted.map(_._1) :+ sorted.last)
  }
}
