// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.sparkzorder.RandomInputs

/** Sets of intervals against sets of the single values of a small domain. */
class IntervalsSuite extends AnyFunSuite with RandomInputs {
  private val random = new Random(randomSeed)

  private def rounds(count: Int)(body: => Unit): Unit =
    withClue(s"[sparkzorder.test.seed=$randomSeed] ")((1 to count).foreach(_ => body))

  // longs at both ends of the domain and in its middle
  private val longs: IndexedSeq[Long] =
    (Long.MinValue to Long.MinValue + 3) ++ (-3L to 3L) ++ (Long.MaxValue - 3 to Long.MaxValue)

  private def longSet(): (LongIntervals, Set[Long]) = {
    val ranges = Seq.fill(random.nextInt(5)) {
      val low = longs(random.nextInt(longs.size))
      (low, if (random.nextBoolean()) low else longs(random.nextInt(longs.size)))
    }
    (
      Intervals.ofLongRanges(ranges),
      longs.filter(v => ranges.exists(r => r._1 <= v && v <= r._2)).toSet)
  }

  private def assertLongs(set: Intervals, values: Set[Long]): Unit = set match {
    case s: LongIntervals =>
      assert(longs.filter(s.contains).toSet === values, s.toString)
      // sorted, and a value apart from each other
      (1 until s.size).foreach(i => assert(s.highs(i - 1) < s.lows(i) - 1, s.toString))
    case other => fail(other.toString)
  }

  test("intervals of longs are the set of their values") {
    rounds(2000) {
      val ((a, inA), (b, inB)) = (longSet(), longSet())
      assertLongs(a, inA)
      assertLongs(a.complement, longs.toSet -- inA)
      assertLongs(a.union(b), inA ++ inB)
      assertLongs(a.intersect(b), inA.intersect(inB))
      val Seq(min, max) = Seq.fill(2)(longs(random.nextInt(longs.size))).sorted
      val between = (a.intersect(Intervals.between(min, max)), a.overlaps(min, max))
      assert(between._1.isEmpty === !between._2, s"$a and [$min, $max]")
    }
  }

  // all strings of up to three bytes of a small alphabet: between two of them there are none, except
  // behind the longest ones
  private val letters = Seq[Byte](0, 127, -128, -1)
  private val strings: IndexedSeq[Array[Byte]] = {
    def of(n: Int): Seq[Seq[Byte]] =
      if (n == 0) Seq(Nil) else of(n - 1).flatMap(s => letters.map(s :+ _))
    (0 to 3).flatMap(of).map(_.toArray)
  }
  private def text(s: Array[Byte]): String = s.map(b => f"$b%02x").mkString
  private def order(a: Array[Byte], b: Array[Byte]): Int =
    io.sparkzorder.index.ByteValues.compare(a, 0, a.length, b)

  private def holds(low: ByteEnd, high: ByteEnd)(v: Array[Byte]): Boolean =
    (low.isEndless || low.isReachedBy(order(v, low.value))) &&
      (high.isEndless || high.isReachedBy(order(high.value, v)))

  private def byteSet(): (Intervals, Set[String]) = {
    def end() = ByteEnd(
      if (random.nextInt(8) == 0) null else strings(random.nextInt(strings.size)),
      random.nextBoolean())
    val ranges = Seq.fill(random.nextInt(5)) {
      if (random.nextInt(3) > 0) (end(), end())
      else {
        val e = ByteEnd(strings(random.nextInt(strings.size)), inclusive = true)
        (e, e)
      }
    }
    (
      Intervals.ofByteRanges(ranges),
      strings.filter(v => ranges.exists(r => holds(r._1, r._2)(v))).map(text).toSet)
  }

  private def assertBytes(set: Intervals, values: Set[String]): Unit = {
    val there = set match {
      case s: ByteIntervals => strings.filter(v => s.overlaps(v, v))
      case s: LongIntervals =>
        assert(s.isEmpty)
        Nil
    }
    assert(there.map(text).toSet === values, set.toString)
  }

  for ((count, tags) <- Seq(300 -> Nil, 4000 -> Seq(Slow))) test(
    s"intervals of byte strings are the set of their values, $count rounds",
    tags: _*) {
    val all = strings.map(text).toSet
    rounds(count) {
      val ((a, inA), (b, inB)) = (byteSet(), byteSet())
      assertBytes(a, inA)
      assertBytes(a.complement, all -- inA)
      assertBytes(a.union(b), inA ++ inB)
      assertBytes(a.intersect(b), inA.intersect(inB))
      val Seq(min, max) =
        Seq.fill(2)(strings(random.nextInt(strings.size))).sortWith(order(_, _) < 0)
      // a value between two that is not among `strings` may be in the set
      if (strings.exists(v => inA(text(v)) && order(min, v) <= 0 && order(v, max) <= 0)) a match {
        case s: ByteIntervals => assert(s.overlaps(min, max), s"$s, ${text(min)}, ${text(max)}")
        case s => fail(s.toString)
      }
    }
  }

  test("a prefix is the interval of all strings that begin with it") {
    strings.foreach { prefix =>
      val set = Intervals.ofPrefix(prefix)
      strings.foreach(v => assert(set.overlaps(v, v) === v.startsWith(prefix), text(v)))
    }
  }

  test("a set of all byte strings and another") {
    val all = ByteIntervals.of(Intervals.Endless, Intervals.Endless)
    val one = Intervals.ofBytes(Seq(Array[Byte](1)))
    assertBytes(all.intersect(all), strings.map(text).toSet)
    assert(all.intersect(one).size === 1 && one.intersect(all).size === 1)
    assert(all.intersect(Intervals.none).isEmpty)
  }

  test("no value and points") {
    assert(Intervals.none.isEmpty && Intervals.union(Nil).isEmpty)
    assert(Intervals.ofLongs(Seq(3, 1, 2, 2, 9)) === Intervals.ofLongRanges(Seq((1, 3), (9, 9))))
    assert(Intervals.ofBytes(Seq("b", "a", "b").map(_.getBytes)).size === 2)
    intercept[IllegalArgumentException] {
      Intervals.ofLongs(Seq(1)).union(Intervals.ofBytes(Seq(Array[Byte](1))))
    }
  }
}
