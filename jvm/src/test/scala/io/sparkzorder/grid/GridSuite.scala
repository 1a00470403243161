package io.sparkzorder.grid

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs

class GridSuite extends AnyFunSuite with RandomInputs {
  private val two = Seq("a" -> IntegerType, "b" -> StringType)

  private def sample(values: (Any, Any)*): FolderSample =
    FolderSample(IndexedSeq(values.map(_._1).toArray, values.map(_._2).toArray))

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
      assert(grid.folders.flatten.map(_.firstFile) ===
        grid.folders.flatten.map(_.files).scanLeft(0)(_ + _).init)
      assert(grid.files === grid.folders.flatten.map(_.files).sum)
      assert(grid.folderOfFile.size === grid.files)
      assert(grid.folderOfFile.distinct === Seq(0, 2, 3))
      assert(grid.folderOfFile.count(_ == 2) === 1)
      for ((Some(f), r) <- grid.folders.zip(rows)) {
        assert(math.abs(f.cells.map(_.rows).sum - r) < 1e-6 * r)
      }
    }
  }

  test("an empty sample makes one file of its folder") {
    val grid = Grid.build(two, IndexedSeq(50L), IndexedSeq(10.0), IndexedSeq(sample()))
    assert(grid.folders.head.get.cells === IndexedSeq(Cell(0L, 50.0, 1)))
    assert(grid.files === 1)
    assert(Grid.build(two, IndexedSeq(), IndexedSeq(), IndexedSeq()).files === 0)
    assert(Grid.build(two, IndexedSeq(0L), IndexedSeq(1.0), IndexedSeq(sample())).files === 0)
  }

  test("NULLs and constants: everything has its place") {
    val nulls = Seq.fill(100)((null: Any, null: Any))
    val grid = Grid.build(two, IndexedSeq(1000L), IndexedSeq(100.0), IndexedSeq(sample(nulls: _*)))
    assert(grid.folders.head.get.cells === IndexedSeq(Cell(0L, 1000.0, 10)))
    val half = (0 until 200).map(i => ((if (i % 2 == 0) null else i): Any, text("x"): Any))
    val g = Grid.build(two, IndexedSeq(1000L), IndexedSeq(100.0), IndexedSeq(sample(half: _*)))
    val zs = Grid.zValues(g.folders.head.get.ids, sample(half: _*))
    assert(half.indices.filter(_ % 2 == 0).map(zs(_)).distinct.size === 1)
    assert(g.folders.head.get.cells.filter(_.files > 1).map(_.rows) === Seq(500.0))
  }

  test("ids use the full width, whatever the number of values") {
    val narrow = (0 until 700).map(i => ((i % 7): Any, text(i): Any))
    val grid = Grid.build(two, IndexedSeq(700L), IndexedSeq(10.0), IndexedSeq(sample(narrow: _*)))
    val ids = grid.folders.head.get.ids(0)
    val seven = (0 until 7).map(v => ids.idOf(v))
    assert(seven === seven.sorted && seven.distinct.size === 7)
    seven.zipWithIndex.foreach { case (id, i) =>
      assert(math.abs(id - (i + 0.5) / 7 * 65536) <= 2)
    }
  }

  test("one column is cut at equal counts") {
    val values = (0 until 1000).map(i => i: Any).toArray
    val grid = Grid.build(
      Seq("a" -> IntegerType),
      IndexedSeq(1000L),
      IndexedSeq(100.0),
      IndexedSeq(FolderSample(IndexedSeq(values))))
    assert(grid.folders.head.get.cells.map(_.rows) === Seq.fill(10)(100.0))
  }
}
