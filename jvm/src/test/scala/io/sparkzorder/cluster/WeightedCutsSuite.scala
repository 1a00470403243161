// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.LongType

import io.sparkzorder.RandomInputs

/** Cuts for point queries that are not equally many on all columns, and for recorded queries. */
class WeightedCutsSuite extends AnyFunSuite with RandomInputs {

  private def uniform(random: Random, d: Int, n: Int): IndexedSeq[RankedColumn] =
    IndexedSeq.fill(d)(KeyColumns.of(LongType, Seq.fill(n)(random.nextLong())).ranked)

  private def cutsOf(columns: IndexedSeq[RankedColumn], files: Int, goal: CutGoal) =
    new KdCuts(columns, RowSizes.even.of(columns), files, goal).build()

  private def plain(cuts: KdCuts.Cuts) =
    (
      cuts.nodes.map(n => s"Node(${n.column},${n.rank},${n.left},${n.right})"),
      cuts.leaves.map(l => (l.rows, l.size, l.files, l.box.lowest.mkString(","))))

  /** The mean number of files that a point query on each column reads. */
  private def files(columns: IndexedSeq[RankedColumn], cuts: KdCuts.Cuts): IndexedSeq[Double] =
    columns.indices.map(c =>
      cuts.leaves.map(l => columns(c).share(l.box.lowest(c), l.box.highest(c))).sum)

  private def read(box: QueryBox, columns: IndexedSeq[RankedColumn], cuts: KdCuts.Cuts): Int = {
    val ranked = box.ranked(columns)
    cuts.leaves.count(l =>
      columns.indices.forall(c =>
        !ranked.restricts(c) || ranked.meets(c, l.box.lowest(c), l.box.highest(c))))
  }

  test("equal weights and no recorded queries give the cuts of a layout without weights") {
    withRandom { random =>
      for (d <- 1 to 5; n <- Seq(10, 500, 3000); wanted <- Seq(1, 3, 64, 100)) {
        val columns = IndexedSeq.tabulate(d)(c =>
          KeyColumns.of(
            LongType,
            Seq.fill(n)(if (random.nextInt(9) == 0) null else random.nextLong() >> (c * 13)))
            .ranked)
        val before = plain(cutsOf(columns, wanted, CutGoal.even))
        for (w <- Seq(1.0, 0.3, 7.0)) {
          assert(plain(cutsOf(columns, wanted, CutGoal(IndexedSeq.fill(d)(w)))) === before)
        }
      }
    }
  }

  test("the cuts of equal weights change on purpose only: last with the balance of columns") {
    val random = new Random(17)
    val seen = for (d <- 1 to 4; wanted <- Seq(7, 64, 100)) yield {
      val columns = IndexedSeq.tabulate(d)(c =>
        KeyColumns.of(
          LongType,
          Seq.fill(4000)(if (random.nextInt(20) == 0) null else random.nextLong() >> (c * 17)))
          .ranked)
      plain(cutsOf(columns, wanted, CutGoal.even)).toString.hashCode
    }
    assert(seen.mkString(",").hashCode === WeightedCutsSuite.HashOfCuts)
  }

  test("weights: files per point query come near the weighted ideal") {
    withRandom { random =>
      for {
        (weights, wanted) <- Seq(
          IndexedSeq(4.0, 1.0) -> 64,
          IndexedSeq(16.0, 1.0) -> 256,
          IndexedSeq(4.0, 2.0, 1.0) -> 512,
          IndexedSeq(1000.0, 1.0) -> 64)
      } {
        val columns = uniform(random, weights.size, 100 * wanted)
        val cuts = cutsOf(columns, wanted, CutGoal(weights))
        def mean(f: IndexedSeq[Double]) = weights.zip(f).map { case (w, x) => w * x }.sum
        val got = mean(files(columns, cuts))
        val ideal = IdealSides.meanFiles(wanted, weights) * weights.sum
        val equal = mean(files(columns, cutsOf(columns, wanted, CutGoal.even)))
        assert(got <= 1.15 * ideal && got >= 0.95 * ideal, s"$weights: $got, ideal $ideal")
        assert(got < equal, s"$weights: $got, equal weights $equal")
      }
    }
  }

  test("the ideal with weights: sides multiply to a file, and none is larger than 1") {
    assert(IdealSides.of(64, IndexedSeq(1.0, 1.0)) === IndexedSeq(0.125, 0.125))
    val four = IdealSides.of(64, IndexedSeq(4.0, 1.0))
    assert(math.abs(four(0) - 1.0 / 16) < 1e-12 && math.abs(four(1) - 0.25) < 1e-12)
    val much = IdealSides.of(64, IndexedSeq(1e6, 1.0))
    assert(math.abs(much(0) - 1.0 / 64) < 1e-12 && much(1) === 1.0)
    assert(IdealSides.of(1, IndexedSeq(5.0, 1.0, 2.0)).forall(_ > 1 - 1e-9))
    withRandom { random =>
      for (_ <- 0 until 200) {
        val weights = IndexedSeq.fill(1 + random.nextInt(6))(math.pow(10, random.nextInt(7) - 3))
        val n = 1 + random.nextInt(2000).toDouble
        val sides = IdealSides.of(n, weights)
        assert(sides.forall(s => s > 0 && s <= 1 + 1e-9), s"$weights $n: $sides")
        assert(math.abs(sides.product * n - 1) < 1e-6, s"$weights $n: $sides")
      }
    }
  }

  test("recorded queries: they read fewer files than with any weights") {
    withRandom { random =>
      val columns = uniform(random, 2, 6400)
      // twenty reports, each on the same range of the first column and on one value of the other
      val boxes = IndexedSeq.fill(20) {
        val at = random.nextDouble()
        QueryBox(1.0, IndexedSeq(Some(Seq((0.35, 0.65))), Some(Seq((at, at)))))
      }
      def total(goal: CutGoal) = {
        val cuts = cutsOf(columns, 64, goal)
        assert(cuts.leaves.map(_.files).sum === 64)
        boxes.map(read(_, columns, cuts)).sum
      }
      val own = total(CutGoal(queries = boxes))
      val others = Seq(CutGoal.even, CutGoal(IndexedSeq(4.0, 1.0)), CutGoal(IndexedSeq(1.0, 4.0)))
        .map(total)
      assert(own < 0.7 * others.min, s"$own, by weights $others")
    }
  }

  test("recorded queries: a column without any is still cut, and files stay even") {
    withRandom { random =>
      val columns = uniform(random, 2, 12800)
      val boxes = IndexedSeq.fill(10)(
        QueryBox(1.0, IndexedSeq(Some(Seq((0.5, 0.5))), None)))
      val cuts = cutsOf(columns, 128, CutGoal(queries = boxes))
      val sizes = cuts.leaves.map(_.rows)
      assert(sizes.max <= 2 * 100 && sizes.min >= 50, s"$sizes")
      assert(files(columns, cuts)(1) < 100, "a point query on the other column reads nearly all")
    }
  }

  test("boxes of shares become ranks: NULLs, ends, points and heavy values") {
    val c = KeyColumns.of(LongType, Seq(null, null, 1L, 1L, 1L, 1L, 2L, 3L, 4L, 5L)).ranked
    def of(from: Double, until: Double) = {
      val box = QueryBox(1.0, IndexedSeq(Some(Seq((from, until))))).ranked(IndexedSeq(c))
      box.sides(0).head
    }
    assert(of(0, 1) === ((1, 5)))
    assert(of(0, 0) === ((1, 1)) && of(1, 1) === ((5, 5)))
    assert(of(0.1, 0.4) === ((1, 1)))
    assert(of(0.5, 0.75) === ((2, 3)))
    assert(of(0.6, 0.6) === ((2, 2)))
  }
}

object WeightedCutsSuite {
  private val HashOfCuts = -94137047
}
