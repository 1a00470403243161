// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.LongType

import io.sparkzorder.RandomInputs
import io.sparkzorder.bits.{HilbertCurve, ZValues}

class PageSweepSuite extends AnyFunSuite with RandomInputs {

  private def randomIds(random: Random, d: Int): Array[Int] =
    Array.fill(d)(random.nextInt(1 << ZValues.bitsPerColumn(d)))

  private def index(d: Int, ids: Array[Int]): Long =
    HilbertCurve.of(d).index(ZValues.interleave(ids))

  test("a row stays in its piece of the curve, however many columns and pieces") {
    withRandom { random =>
      for (d <- 2 to HilbertCurve.MaxColumns; pieceBits <- Seq(1, 2, 3, 5, 8, 12)) {
        val low = d * ZValues.bitsPerColumn(d) - pieceBits
        val sweep = PageSweep.of(d, pieceBits)
        for (_ <- 0 until 200) {
          val ids = randomIds(random, d)
          val position = sweep.position(index(d, ids), ids)
          assert(position >>> low === index(d, ids) >>> low)
        }
      }
    }
  }

  test("the rows at either end of a piece lie beside the neighbouring piece") {
    withRandom { random =>
      for (d <- Seq(2, 3); pieceBits <- Seq(4, 5, 6)) {
        val low = d * ZValues.bitsPerColumn(d) - pieceBits
        val sweep = PageSweep.of(d, pieceBits)
        val pieces = Seq.fill(40000)(randomIds(random, d))
          .groupBy(ids => (index(d, ids) >>> low).toInt)
          .map { case (p, own) => p -> own.sortBy(ids => sweep.position(index(d, ids), ids)) }
        def extents(rows: Seq[Array[Int]]) =
          (0 until d).map(c => rows.map(_(c)).max - rows.map(_(c)).min)
        // how much longer the sides of a piece become by a twentieth of the next one
        val grown = pieces.keys.toSeq.filter(_ + 1 < (1 << pieceBits)).map { p =>
          val next = pieces(p + 1).take(pieces(p + 1).size / 20)
          val before = extents(pieces(p))
          val side = extents(pieces(p + 1))
          (0 until d).map { c =>
            val beyond = math.max(0, extents(pieces(p) ++ next)(c) - before(c))
            if (side(c) == 0) 0.0 else beyond.toDouble / side(c)
          }.sum
        }
        assert(grown.sum / grown.size <= 0.35, s"$d columns, $pieceBits bits")
      }
    }
  }

  test("rows with the same values stay side by side") {
    withRandom { random =>
      for (d <- 2 to 4) {
        val sweep = PageSweep.of(d, 2)
        // a sample tells 1,000 values of a column apart
        val step = (1 << ZValues.bitsPerColumn(d)) / 1000
        val points =
          Seq.fill(40000)(Seq.fill(d)(random.nextInt(1000) * step)).distinct.map(_.toArray)
        // no other row lies among the rows of a point that has a position of its own
        val positions = points.map(ids => sweep.position(index(d, ids), ids)).distinct
        assert(positions.size >= 0.8 * points.size, s"$d columns")
      }
    }
  }

  test("pages of equal rows are near the ideal grid, by a sample of a tenth") {
    withRandom { random =>
      for (d <- 2 to 3) {
        val (n, files, pages) = (64000, 8, 16)
        val columns = IndexedSeq.fill(d)(IndexedSeq.fill(n)(random.nextLong()))
        val sampled = (0 until n).filter(_ => random.nextInt(10) == 0)
        val grid = Grid.build(
          (0 until d).map(c => (s"c$c", LongType)),
          IndexedSeq(n.toLong),
          IndexedSeq(n.toDouble / files),
          IndexedSeq(FolderSample(columns.map(c => KeyColumns.of(LongType, sampled.map(c(_)))))))
        val ranks = columns.map { c =>
          val rank = new Array[Int](n)
          (0 until n).sortBy(c(_)).zipWithIndex.foreach { case (row, r) => rank(row) = r }
          rank
        }
        def excess(placement: Placement): Double = {
          val at = placement.folder(0)
          val places = (0 until n).map(i =>
            at.place(Array.tabulate(d)(c => at.slotOf(c, columns(c)(i))), 0L))
          val units = (0 until n).groupBy(i => places(i) >>> placement.keyBits).values.toSeq
            .flatMap { file =>
              file.sortBy(places(_)).grouped((file.size + pages - 1) / pages)
            }
          val sides =
            for (u <- units; r <- ranks) yield (u.map(r(_)).max - u.map(r(_)).min).toDouble
          sides.sum / n / d / math.pow(units.size.toDouble, 1 - 1.0 / d)
        }
        val plain = excess(new Placement(grid))
        val swept = excess(new Placement(grid, IndexedSeq(pages)))
        assert(swept <= 1.2 && swept < plain, s"$d columns: $swept, along the curve alone $plain")
      }
    }
  }
}
