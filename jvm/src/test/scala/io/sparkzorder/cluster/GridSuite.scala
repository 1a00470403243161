// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs

class GridSuite extends AnyFunSuite with RandomInputs {
  private val two = Seq("a" -> IntegerType, "b" -> StringType)

  private def sample(values: (Any, Any)*): FolderSample =
    FolderSample(IndexedSeq(
      KeyColumns.of(IntegerType, values.map(_._1)),
      KeyColumns.of(StringType, values.map(_._2))))

  private def text(s: Any) = UTF8String.fromString(s.toString)

  test("files are numbered across folders; folders without rows get none") {
    withRandom { random =>
      def folder(n: Int) = sample(Seq.fill(n)(
        (random.nextInt(): Any, text(random.nextInt(100)): Any)): _*)
      val rows = IndexedSeq(1000L, 0L, 1L, 3000L)
      val grid = Grid.build(
        two,
        rows,
        IndexedSeq(100.0, 100.0, 100.0, 100.0),
        IndexedSeq(folder(500), folder(0), folder(1), folder(800)))
      assert(grid.columns === Seq("a", "b"))
      assert(grid.folders.map(_.isDefined) === Seq(true, false, true, true))
      assert(grid.folders.flatten.map(_.cells.head.file) ===
        grid.folders.flatten.map(_.files).scanLeft(0)(_ + _).init)
      assert(grid.folders.map(_.map(_.files)) === Seq(Some(10), None, Some(1), Some(30)))
      assert(grid.files === grid.folders.flatten.map(_.files).sum)
      assert(grid.folderOfFile.size === grid.files)
      assert(grid.folderOfFile.distinct === Seq(0, 2, 3))
      assert(grid.folderOfFile.count(_ == 2) === 1)
      for ((Some(f), r) <- grid.folders.zip(rows)) {
        assert(math.abs(f.cells.map(_.rows).sum - r) < 1e-6 * r)
      }
    }
  }

  private def files(grid: Grid) = grid.folders.head.get.cells.map(c => (c.rows, c.file, c.files))

  test("an empty sample makes one file of its folder") {
    val grid = Grid.build(two, IndexedSeq(50L), IndexedSeq(10.0), IndexedSeq(sample()))
    assert(files(grid) === IndexedSeq((50.0, 0, 1)))
    assert(grid.files === 1 && grid.rowsOfFiles === Seq(50.0))
    assert(Grid.build(two, IndexedSeq(), IndexedSeq(), IndexedSeq()).files === 0)
    assert(Grid.build(two, IndexedSeq(0L), IndexedSeq(1.0), IndexedSeq(sample())).files === 0)
  }

  test("NULLs and constants: everything has its place") {
    val nulls = Seq.fill(100)((null: Any, null: Any))
    val grid = Grid.build(two, IndexedSeq(1000L), IndexedSeq(100.0), IndexedSeq(sample(nulls: _*)))
    assert(files(grid) === IndexedSeq((1000.0, 0, 10)))
    val half = (0 until 200).map(i => ((if (i % 2 == 0) null else i): Any, text("x"): Any))
    val g = Grid.build(two, IndexedSeq(1000L), IndexedSeq(100.0), IndexedSeq(sample(half: _*)))
    assert(files(g).head === ((500.0, 0, 5)))
    assert(files(g).tail.map(_._3) === Seq.fill(5)(1))
    // NULL is told from every value, also from one below all that were sampled
    val f = g.folders.head.get
    val x = f.columns(1).bounds.slotOf(text("x"))
    assert(f.tree.cellOf(Array(-1, x)) === 0)
    assert(f.tree.cellOf(Array(f.columns(0).bounds.slotOf(-5), x)) === 1)
  }

  test("a crumb beside a heavy value shares a file") {
    val values = Seq.fill(990)((1: Any, text("a"): Any)) ++ Seq.fill(10)((2: Any, text("b"): Any))
    val grid = Grid.build(two, IndexedSeq(1000L), IndexedSeq(100.0), IndexedSeq(sample(values: _*)))
    assert(grid.folders.head.get.cells.map(_.files) === Seq(9, 1))
    assert(grid.files === 9)
    assert(grid.rowsOfFiles.map(math.round) === Seq.fill(8)(110L) :+ 120L)
  }

  test("mid-ranks use the full width, whatever the number of values") {
    val narrow = (0 until 700).map(i => ((i % 7): Any, text(i): Any))
    val grid = Grid.build(two, IndexedSeq(700L), IndexedSeq(10.0), IndexedSeq(sample(narrow: _*)))
    val column = grid.folders.head.get.columns(0)
    (0 until 7).foreach { v =>
      val rank = column.midRanks(column.bounds.slotOf(v) + 1)
      assert(math.abs(rank - (v + 0.5) / 7 * (1 << 30)) <= 2)
    }
  }

  test("one column is cut at equal counts") {
    val grid = Grid.build(
      Seq("a" -> IntegerType),
      IndexedSeq(1000L),
      IndexedSeq(100.0),
      IndexedSeq(FolderSample(IndexedSeq(KeyColumns.of(IntegerType, 0 until 1000)))))
    assert(grid.rowsOfFiles === Seq.fill(10)(100.0))
  }

  test("a row of the sample lies in the sides of its cell") {
    withRandom { random =>
      for (_ <- 0 until 20) {
        val rows = Seq.fill(400)((
          if (random.nextInt(5) == 0) null else random.nextInt(50): Any,
          if (random.nextInt(9) == 0) null else text(random.nextInt(1000)): Any))
        val grid =
          Grid.build(two, IndexedSeq(400L), IndexedSeq(20.0), IndexedSeq(sample(rows: _*)))
        val f = grid.folders.head.get
        rows.foreach { case (a, b) =>
          val slots = Seq(a, b).zip(f.columns).map { case (v, c) =>
            if (v == null) -1 else c.bounds.slotOf(v)
          }
          val cell = f.tree.cellOf(slots.toArray)
          slots.indices.foreach { c =>
            val rank = f.columns(c).midRanks(slots(c) + 1)
            val side = f.sides(cell)(c)
            assert(side.from <= rank && rank <= side.until)
          }
        }
      }
    }
  }
}
