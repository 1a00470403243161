// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.LongType

import io.sparkzorder.RandomInputs
import io.sparkzorder.cluster.{CutGoal, FolderSample, Grid, KeyColumns}

class LayoutModelSuite extends AnyFunSuite with RandomInputs {

  private def randomQueries(random: Random, columns: Int): Seq[ModelQuery] =
    Seq.fill(1 + random.nextInt(40)) {
      val restricted = random.shuffle((0 until columns).toList).take(1 + random.nextInt(3))
      ModelQuery(
        math.pow(10, random.nextDouble() * 3),
        restricted.map { c =>
          c -> (random.nextInt(3) match {
            case 0 => Seq(0.0)
            case 1 => Seq.fill(1 + random.nextInt(8))(0.0)
            case _ => Seq(random.nextDouble() * random.nextDouble())
          })
        }.toMap)
    }

  /** Every way to give `total` bits to the columns, of which each gets at most `most`. */
  private def ways(total: Int, most: Seq[Int]): Seq[List[Int]] = most match {
    case Seq(last) => if (total <= last) Seq(List(total)) else Nil
    case head +: tail =>
      (0 to math.min(total, head)).flatMap(b => ways(total - b, tail).map(b :: _))
  }

  test("greedy bits cost at most 2 % more than the best of all ways, 6 columns and 12 bits") {
    withRandom { random =>
      val more = (0 until 20).map { _ =>
        val most = IndexedSeq.fill(6)(if (random.nextInt(4) == 0) random.nextInt(4) else 12)
        if (most.sum < 12) 0.0
        else {
          val model = new LayoutModel(randomQueries(random, 6), most)
          val greedy = model.greedy(12, 0 until 6)
          assert(greedy.sum === 12 && greedy.zip(most).forall { case (b, m) => b <= m })
          model.cost(greedy) / ways(12, most).map(w => model.cost(w.toIndexedSeq)).min - 1
        }
      }
      assert(more.max <= 0.02, s"$more")
    }
  }

  test("equally many point queries on each column give equal bits: the layout without a workload") {
    val queries = (0 until 4).map(c => ModelQuery(1.0, Map(c -> Seq(0.0))))
    val model = new LayoutModel(queries, IndexedSeq.fill(4)(20))
    assert(model.greedy(12, 0 until 4) === IndexedSeq(3, 3, 3, 3))
    val skewed =
      new LayoutModel(queries.updated(0, queries.head.copy(weight = 16)), IndexedSeq.fill(4)(20))
    assert(skewed.greedy(12, 0 until 4) === IndexedSeq(6, 2, 2, 2))
  }

  test("few values, constants and columns that must not be used get no more bits") {
    val queries = (0 until 3).map(c => ModelQuery(1.0, Map(c -> Seq(0.0))))
    val model = new LayoutModel(queries, IndexedSeq(0, 2, 20))
    assert(model.greedy(8, 0 until 3) === IndexedSeq(0, 2, 6))
    assert(model.greedy(8, Seq(0, 1)) === IndexedSeq(0, 2, 0))
    assert(Seq(0, 1, 2, 3, 4, 5, 8, 9).map(LayoutModel.bitsOf) === Seq(0, 0, 1, 2, 2, 3, 3, 4))
  }

  test("on independent columns the model is within 10 % of counted reads") {
    withRandom { random =>
      for (bits <- Seq(IndexedSeq(4, 4), IndexedSeq(6, 2), IndexedSeq(3, 3, 2), IndexedSeq(8, 0))) {
        val n = 40000
        val columns = bits.map(_ =>
          KeyColumns.of(LongType, Seq.fill(n)(random.nextLong(): Any)))
        val files = 1 << bits.sum
        val used = bits.indices.filter(bits(_) > 0)
        val grid = Grid.build(
          used.map(c => (s"c$c", LongType)),
          IndexedSeq(n.toLong),
          IndexedSeq(n.toDouble / files),
          IndexedSeq(FolderSample(used.map(columns(_)))),
          CutGoal(used.map(c => math.pow(2, bits(c)))))
        for (width <- Seq(0.0, 0.02, 0.1); restricted <- Seq(Seq(0), bits.indices)) {
          val model = new LayoutModel(
            Seq(ModelQuery(1.0, restricted.map(_ -> Seq(width)).toMap)),
            bits)
          val predicted = model.cost(bits)
          val ranked = used.map(columns(_).ranked)
          val counted = (0 until 400).map { _ =>
            val sides = used.map { c =>
              if (!restricted.contains(c)) None
              else {
                val from = random.nextDouble() * (1 - width)
                val r = ranked(used.indexOf(c))
                Some((r.rankAt(from), r.rankUntil(from, from + width)))
              }
            }
            grid.folders.head.get.cells.count(cell =>
              sides.indices.forall(i =>
                sides(i).forall { case (low, high) =>
                  low <= cell.box.highest(i) && high >= cell.box.lowest(i)
                })).toDouble / files
          }
          val mean = counted.sum / counted.size
          assert(
            math.abs(mean / predicted - 1) < 0.1,
            s"$bits, width $width of ${restricted.size}: model $predicted, counted $mean")
        }
      }
    }
  }
}
