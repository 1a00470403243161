// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.LongType

import io.sparkzorder.RandomInputs

class KdCutsSuite extends AnyFunSuite with RandomInputs {

  private def ranked(rows: Seq[Seq[Any]]): IndexedSeq[RankedColumn] =
    rows.transpose.map(KeyColumns.of(LongType, _).ranked).toIndexedSeq

  private def cutsOf(columns: IndexedSeq[RankedColumn], files: Int) =
    new KdCuts(columns, RowSizes.even.of(columns), files).build()

  private def leafOf(cuts: KdCuts.Cuts, ranks: Seq[Int]): Int =
    if (cuts.nodes.isEmpty) 0
    else {
      var node = 0
      while (node >= 0) {
        val n = cuts.nodes(node)
        node = if (ranks(n.column) >= n.rank) n.right else n.left
      }
      ~node
    }

  private def randomColumn(random: Random, n: Int): Seq[Any] = random.nextInt(6) match {
    case 0 => Seq.fill(n)(random.nextLong())
    case 1 => Seq.fill(n)(random.nextInt(3).toLong)
    case 2 => Seq.fill(n)(if (random.nextBoolean()) 7L else random.nextInt(1000).toLong)
    case 3 => Seq.fill(n)(if (random.nextInt(3) == 0) null else random.nextInt(50).toLong)
    case 4 => Seq.fill(n)(5L)
    case _ => Seq.fill(n)(math.pow(random.nextDouble(), -0.8).toLong)
  }

  test("leaves hold the rows that the cuts lead to them, as many files as wanted") {
    withRandom { random =>
      for (_ <- 0 until 300) {
        val n = 1 + random.nextInt(800)
        val d = 1 + random.nextInt(4)
        val rows = Seq.fill(d)(randomColumn(random, n)).transpose
        val columns = ranked(rows)
        val files = 1 + random.nextInt(60)
        val cuts = cutsOf(columns, files)
        assert(cuts.leaves.map(_.files).sum === files)
        val held = (0 until n).groupBy(r => leafOf(cuts, columns.map(_.ranks(r))))
        assert(held.keySet === cuts.leaves.indices.toSet)
        cuts.leaves.zipWithIndex.foreach { case (leaf, i) =>
          assert(leaf.rows === held(i).size)
          columns.indices.foreach { c =>
            assert(leaf.box.lowest(c) === held(i).map(columns(c).ranks(_)).min)
            assert(leaf.box.highest(c) === held(i).map(columns(c).ranks(_)).max)
          }
          // only rows of one key are left to a hash
          if (leaf.files > 1) assert(leaf.box.lowest.toSeq === leaf.box.highest.toSeq)
        }
      }
    }
  }

  test("uniform columns: sizes are even, and every column costs what the ideal grid does") {
    withRandom { random =>
      for (d <- 2 to 5; files <- Seq(64, 100, 256, 500)) {
        val n = 100 * files
        val columns = ranked(Seq.fill(d)(Seq.fill(n)(random.nextLong(): Any)).transpose)
        val leaves = cutsOf(columns, files).leaves
        assert(leaves.size === files)
        assert(leaves.map(_.rows).max <= 1.05 * 100 && leaves.map(_.rows).min >= 0.95 * 100)
        val excess = columns.indices.map { c =>
          leaves.map(l => columns(c).share(l.box.lowest(c), l.box.highest(c))).sum /
            math.pow(files, 1 - 1.0 / d)
        }
        assert(excess.sum / d <= 1.07, s"$d columns, $files files: $excess")
        assert(excess.max <= 1.2, s"$d columns, $files files: $excess")
      }
    }
  }

  test("rows of one key stay together; a heavy one gets its share of files") {
    val rows = Seq.fill(500)(Seq[Any](1L, 1L)) ++ (1 to 500).map(i => Seq[Any](1L + i, 1000L - i))
    val leaves = cutsOf(ranked(rows), 20).leaves
    assert(leaves.head.files === 10 && leaves.head.rows === 500)
    assert(leaves.tail.forall(l => l.files == 1 && l.rows == 50))
  }

  test("a column of a few heavy values leaves no file far above the others") {
    withRandom { random =>
      for (values <- 5 to 12; files <- Seq(64, 100)) {
        val rows = Seq.fill(200 * files)(Seq[Any](random.nextInt(values).toLong, random.nextLong()))
        val leaves = cutsOf(ranked(rows), files).leaves
        assert(leaves.map(_.rows).max <= 1.47 * 200, s"$values values, $files files")
      }
    }
  }

  test("a column of frequent values and a uniform one pay about alike") {
    withRandom { random =>
      val files = 100
      val off = (0 until 8).map { _ =>
        // Zipf values, scattered over the numbers
        val scattered = random.nextInt() | 1
        def frequent() = {
          val rank = math.pow(1 - random.nextDouble() * (1 - math.pow(10000, -0.1)), -10).toInt
          (rank * scattered).toLong
        }
        val rows = Seq.fill(200 * files)(Seq[Any](frequent(), random.nextLong()))
        val columns = ranked(rows)
        val read = columns.indices.map { c =>
          cutsOf(columns, files).leaves
            .map(l => l.files * columns(c).share(l.box.lowest(c), l.box.highest(c))).sum
        }
        read.max / read.min
      }
      assert(off.sum / off.size <= 1.15, s"$off")
    }
  }

  test("rows with NULLs are smaller, and count for less") {
    withRandom { random =>
      def column() = Seq.fill(8000)(if (random.nextInt(3) == 0) null else random.nextLong(): Any)
      val columns = ranked(Seq(column(), column()).transpose)
      val sizes = RowSizes(2.0, IndexedSeq(8.0, 8.0)).of(columns)
      assert(sizes.toSet === Set(9, 12, 16))
      val leaves = new KdCuts(columns, sizes, 40).build().leaves
      val mean = leaves.map(_.size).sum / 40
      assert(leaves.map(_.size).sum === sizes.sum.toDouble)
      // rows in which both are NULL are one key, of two files
      leaves.foreach(l => assert(l.size / l.files < 1.3 * mean && l.size / l.files > 0.7 * mean))
    }
  }
}
