// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.sparkzorder.RandomInputs
import io.sparkzorder.index.{ByteStats, ByteValues, LongStats, NoStats}
import io.sparkzorder.skipping.values.{
  ByteEnd,
  ByteIntervals,
  ComparisonDomain,
  Intervals,
  LongIntervals
}

/**
 * Tests of whole bitmaps against a look at each file alone, for numbers of files around the edges of
 * words and blocks, and blocks of several sizes.
 */
class BlockTestsSuite extends AnyFunSuite with RandomInputs {

  /** What a file says of a column: bits of [[ColumnDomains]], min and max. */
  private case class Said(info: Int, min: Array[Byte], max: Array[Byte], low: Long, high: Long)

  private case class Column(files: IndexedSeq[Said], domains: ColumnDomains, isLong: Boolean)

  private def order(a: Array[Byte], b: Array[Byte]): Int = ByteValues.compare(a, 0, a.length, b)

  /** Values run through the files, jump about, or are all the same. */
  private def column(random: Random, count: Int, blockWords: Int): Column = {
    val kind = random.nextInt(3)
    val plain = random.nextInt(3) > 0
    val files = IndexedSeq.tabulate(count) { i =>
      val base = kind match {
        case 0 => i / 10
        case 1 => random.nextInt(100)
        case _ => 7
      }
      val low = if (random.nextInt(200) == 0) Long.MinValue else base.toLong
      val high = if (random.nextInt(200) == 0) Long.MaxValue else base + random.nextInt(4).toLong
      val info = if (plain && random.nextInt(50) > 0) 11 else random.nextInt(16)
      val Seq(min, max) =
        Seq(base, base + random.nextInt(3)).map(n => f"p$n%04d".getBytes)
      Said(info, min, max, low, high)
    }
    val isLong = random.nextBoolean()
    def bytes(of: Said => Array[Byte]): ByteStats = {
      val builder = new ByteValues.Builder(count)
      files.foreach(f => builder.add(of(f)))
      ByteStats(builder.result())
    }
    val (min, max) =
      if (isLong) (LongStats(files.map(_.low).toArray), LongStats(files.map(_.high).toArray))
      else (bytes(_.min), bytes(_.max))
    val info = files.map(_.info.toByte).toArray
    Column(files, ColumnDomains.of(info, min, max, blockWords), isLong)
  }

  /** A test, and whether it keeps a file. */
  private type Both = (FileTest, Int => Boolean)

  private def has(info: Int, bit: Int): Boolean = (info & bit) != 0

  private def intervals(random: Random, c: Column): Both = {
    val (hasNaN, ofNulls) = (c.isLong && random.nextBoolean(), random.nextBoolean())
    val n = if (random.nextInt(3) == 0) 1 + random.nextInt(20) else 1
    val points = Seq.fill(n)(random.nextInt(130))
    val set: Intervals =
      if (c.isLong) {
        Intervals.ofLongRanges(points.map(p =>
          random.nextInt(4) match {
            case 0 => (Long.MinValue, p.toLong)
            case 1 => (p.toLong, Long.MaxValue)
            case _ => (p.toLong, p + random.nextInt(3).toLong)
          }))
      } else {
        Intervals.ofByteRanges(points.map { p =>
          val Seq(a, b) = Seq(p, p + random.nextInt(2)).map(n => f"p$n%04d".getBytes)
          (
            if (random.nextInt(5) == 0) ByteEnd.Endless else ByteEnd(a, random.nextBoolean()),
            if (random.nextInt(5) == 0) ByteEnd.Endless else ByteEnd(b, random.nextBoolean()))
        })
      }
    def inRange(f: Said): Boolean = set match {
      case s: LongIntervals =>
        s.lows.indices.exists(k => s.lows(k) <= f.high && f.low <= s.highs(k))
      case s: ByteIntervals =>
        s.lows.indices.exists { k =>
          (s.lows(k).isEndless || s.lows(k).isReachedBy(order(f.max, s.lows(k).value))) &&
          (s.highs(k).isEndless || s.highs(k).isReachedBy(order(s.highs(k).value, f.min)))
        }
    }
    def ofNaN = set match {
      case s: LongIntervals => hasNaN && s.contains(ComparisonDomain.NaN)
      case _ => false
    }
    val keeps = (i: Int) => {
      val f = c.files(i)
      (ofNulls && !has(f.info, ColumnDomains.NoNulls)) ||
      (!set.isEmpty && !has(f.info, ColumnDomains.NoValues) &&
        (!has(f.info, ColumnDomains.Bounded) || (ofNaN && !has(f.info, ColumnDomains.NoNaN)) ||
          inRange(f)))
    }
    (IntervalTest(c.domains, set, hasNaN, ofNulls), keeps)
  }

  private def tests(random: Random, columns: Seq[Column], depth: Int): Both = {
    val c = columns(random.nextInt(columns.size))
    random.nextInt(if (depth == 0) 5 else 8) match {
      case 0 =>
        val isNull = random.nextBoolean()
        val bit = if (isNull) ColumnDomains.NoNulls else ColumnDomains.NoValues
        (new NullTest(c.domains, isNull), i => !has(c.files(i).info, bit))
      case n if n < 5 => intervals(random, c)
      case n =>
        val inner = Seq.fill(2 + random.nextInt(4))(tests(random, columns, depth - 1))
        if (n == 5) (AllOf(inner.map(_._1)), i => inner.forall(_._2(i)))
        else (AnyOf(inner.map(_._1)), i => inner.exists(_._2(i)))
    }
  }

  private val counts = Seq(0, 1, 63, 64, 65, 511, 512, 513, 1024, 1500, 4097)

  for ((rounds, tags) <- Seq(3 -> Nil, 12 -> Seq(Slow)))
    test(s"a bitmap has the files that each file's statistics let pass, $rounds rounds", tags: _*) {
      withRandom { random =>
        for (count <- counts; blockWords <- Seq(1, 2, 3, 8); round <- 1 to rounds) {
          val columns = Seq.fill(2)(column(random, count, blockWords))
          val (test, keeps) = tests(random, columns, 2)
          val kept = test.files(count)
          (0 until count).foreach { i =>
            // an assertion would make its text for each file
            if (kept.get(i) != keeps(i))
              fail(s"$count files, blocks of $blockWords, $round: file $i")
          }
          assert(kept.length <= count)
          // a window gives the same as the whole
          val n = (count + 63) / 64
          if (n > 1) {
            val from = random.nextInt(n)
            val until = from + 1 + random.nextInt(n - from)
            val window = FileTest.window(count, from, until)
            test.restrict(window, from)
            val whole = FileTest.all(count)
            test.restrict(whole, 0)
            assert(window.toSeq === whole.slice(from, until).toSeq)
          }
        }
      }
    }

  for ((rounds, tags) <- Seq(3 -> Nil, 10 -> Seq(Slow)))
    test(
      s"groups of tests keep together what each of them keeps, and name who prunes a file, $rounds rounds",
      tags: _*) {
      withRandom { random =>
        for (count <- counts; _ <- 1 to rounds) {
          val columns = Seq.fill(3)(column(random, count, 8))
          val groups = Seq("a", "b", "c").map(_ -> tests(random, columns, 1))
          val byName = groups.toMap
          val kept = KeptFiles.by(groups.map { case (name, (test, _)) => name -> test }, count)
          (0 until count).foreach { i =>
            val pruning = kept.prunedBy.filterNot(name => byName(name)._2(i))
            val decided = kept.decide(i)
            assert(if (decided < 0) pruning.isEmpty else kept.prunedBy(decided) == pruning.head)
          }
        }
      }
    }

  test("a column without bounds") {
    val info = Array[Byte](0, ColumnDomains.NoNulls.toByte, ColumnDomains.NoValues.toByte)
    val column = ColumnDomains.of(info, NoStats, NoStats)
    assert(new NullTest(column, isNull = true).files(3).toString === "{0, 2}")
    assert(IntervalTest(column, Intervals.ofLongs(Seq(1)), hasNaN = false, ofNulls = false)
      .files(3).toString === "{0, 1}")
    assert(column.range === None)
  }
}
