// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.index.{ByteStats, ByteValues, FileTable, LongStats}
import io.sparkzorder.skipping.predicate.ColumnDomains
import io.sparkzorder.skipping.values.{ByteEnd, Intervals}

/** The distribution of a column as the index of a table tells it. */
class RankCurveSuite extends AnyFunSuite {

  /** Files of the values 10 i until 10 i + 10, some of which the index no longer knows. */
  private def files(rows: Seq[Long], isGone: Int => Boolean): (FileTable, ColumnDomains) =
    files(rows, isGone, rows.indices.map(i => (i * 10L, i * 10L + 9)))

  private def files(
      rows: Seq[Long],
      isGone: Int => Boolean,
      bounds: Seq[(Long, Long)]): (FileTable, ColumnDomains) = {
    val n = rows.size
    val paths = new ByteValues.Builder(n)
    (0 until n).foreach(i => paths.add(s"part-$i".getBytes(UTF_8)))
    val lengths = Array.tabulate(n)(i => if (isGone(i)) FileTable.Gone else 100L + i)
    val table =
      FileTable(paths.result(), lengths, Array.fill(n)(1L), rows.toArray, Array.fill(n)(-1))
    val info = Array.fill(n)((ColumnDomains.Bounded | ColumnDomains.NoNulls).toByte)
    val column = ColumnDomains.of(
      info,
      LongStats(bounds.map(_._1).toArray),
      LongStats(bounds.map(_._2).toArray))
    (table, column)
  }

  private def shares(
      rows: Seq[Long],
      isGone: Int => Boolean,
      low: Long,
      high: Long): Option[(Double, Double)] = {
    val (table, column) = files(rows, isGone)
    RankCurve.of(column, table).map(sharesOf(_, Intervals.between(low, high)).head)
  }

  private def sharesOf(curve: RankCurve, values: Intervals): Seq[(Double, Double)] = {
    val found = Seq.newBuilder[(Double, Double)]
    curve.foreachShare(values)((a, b) => found += ((a, b)))
    found.result()
  }

  test("files count by their rows") {
    assert(shares(Seq(1, 1, 2), _ => false, 10, 19) === Some((0.25, 0.5)))
  }

  test("files with one value each, which is too large for fractions") {
    val large = 1700000000000000000L
    val values = Seq(5L, large, large + 1000000L, 2 * large)
    val (table, column) = files(Seq.fill(4)(1L), _ => false, values.map(v => (v, v)))
    val curve = RankCurve.of(column, table).get
    val around = values.map(v => Intervals.between(v - 3000L, v + 3000L))
    assert(around.flatMap(sharesOf(curve, _)) ===
      Seq((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)))
    val ends = Intervals.ofLongs(Seq(Long.MinValue, Long.MaxValue))
    assert(sharesOf(curve, ends) === Seq((0.0, 0.0), (1.0, 1.0)))
  }

  test("entries of files that are gone tell nothing") {
    // as if the first half of the table had been deleted
    val Some((low, high)) = shares(Seq.fill(8)(5L), _ < 4, 40, 49)
    assert(low === 0.0 && math.abs(high - 0.25) < 1e-9)
    assert(shares(Seq.fill(8)(5L), _ => true, 40, 49).isEmpty)
    val (table, _) = files(Seq.fill(8)(5L), _ < 4)
    val distributions = Distributions.of(new Object, table)
    assert(distributions.files === 4 && distributions.bytes === 104.0 + 105 + 106 + 107)
  }

  test("a sample of many entries holds live ones from everywhere") {
    val (table, _) = files(Seq.fill(10000)(1L), _ % 10 != 7)
    val some = table.sample(100)
    assert(some.size === 100 && some.forall(table.isLive))
    assert(some.head < 100 && some.last >= 9900)
    assert(files(Seq(1L, 1L, 1L), _ == 1)._1.sample(100) === Seq(0, 2))
  }

  test("a text that has not the prefix of all bounds is below or above all rows") {
    val (table, numbers) = files(Seq(1, 1, 1, 1, 1), _ => false)
    def bounds = {
      val values = new ByteValues.Builder(5)
      (1 to 5).foreach(i => values.add(s"abc$i".getBytes(UTF_8)))
      ByteStats(values.result())
    }
    val info = Array.tabulate(5)(numbers.info(_).toByte)
    val curve = RankCurve.of(ColumnDomains.of(info, bounds, bounds), table).get
    def from(text: String): (Double, Double) = {
      val low = ByteEnd(text.getBytes(UTF_8), inclusive = true)
      sharesOf(curve, Intervals.ofByteRanges(Seq((low, ByteEnd.Endless)))).head
    }
    for (below <- Seq("abb", "abbz", "ab", "", "aac9")) assert(from(below) === ((0.0, 1.0)), below)
    for (above <- Seq("abd", "abd0", "b", "é")) assert(from(above) === ((1.0, 1.0)), above)
    val (low, high) = from("abc3")
    assert(low > 0.2 && low < 0.8 && high === 1.0)
  }
}
