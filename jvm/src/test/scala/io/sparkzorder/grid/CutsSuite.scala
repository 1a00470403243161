package io.sparkzorder.grid

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs
import io.sparkzorder.bits.ZValues

class CutsSuite extends AnyFunSuite with RandomInputs {

  private def sorted(values: Seq[Long]): Array[Long] = values.toArray.sorted

  private def cellOf(cells: IndexedSeq[Cell], z: Long): Int =
    cells.lastIndexWhere(c => c.from <= z)

  /** What must hold of every list of cells. */
  private def check(cells: IndexedSeq[Cell], sample: Array[Long], rows: Long, target: Double)
      : Unit = {
    assert(cells.head.from === 0L)
    assert(cells.map(_.from) === cells.map(_.from).distinct.sorted)
    assert(math.abs(cells.map(_.rows).sum - rows) < 1e-6 * rows + 1e-6)
    assert(cells.forall(c => c.files >= 1 && c.rows > 0))
    val weight = rows.toDouble / sample.length
    val held = sample.groupBy(cellOf(cells, _))
    cells.zipWithIndex.foreach { case (c, i) =>
      val zs = held.getOrElse(i, Array.empty[Long])
      assert(math.abs(zs.length * weight - c.rows) < 1e-6 * rows + 1e-6, "rows of a cell")
      // neighbours that are much too small are put together up to one and a half files
      if (zs.distinct.length > 1) {
        assert(c.files === 1)
        assert(c.rows <= 1.5 * target + 1e-9, s"$c for $target")
      } else assert(c.rows / c.files <= 1.5 * target + 1e-9, s"$c for $target")
    }
  }

  private def randomSample(random: Random): Array[Long] = {
    val n = 1 + random.nextInt(2000)
    val spread = random.nextInt(5)
    sorted(Seq.fill(n)(spread match {
      case 0 => random.nextLong() & Long.MaxValue
      case 1 => random.nextInt(4).toLong
      case 2 => if (random.nextBoolean()) 12345L else random.nextInt(1 << 20).toLong
      case 3 => Long.MaxValue - random.nextInt(1000)
      case _ => 1L << random.nextInt(63)
    }))
  }

  test("cells cover every Z-value, hold the rows, and none is too large") {
    withRandom { random =>
      for (_ <- 0 until 500) {
        val sample = randomSample(random)
        val rows = sample.length.toLong * (1 + random.nextInt(50))
        val target = math.max(1.0, rows / (1.0 + random.nextInt(100)))
        check(Cuts.onCellEdges(sample, rows, target), sample, rows, target)
      }
    }
  }

  test("before small neighbours are put together, no cell exceeds 1.41 files") {
    withRandom { random =>
      for (_ <- 0 until 50) {
        val sample = sorted(Seq.fill(4096)(random.nextLong() & Long.MaxValue))
        val cells = Cuts.onCellEdges(sample, 4096L, 4096.0 / 64)
        assert(cells.forall(_.rows <= math.sqrt(2) * 64 + 1e-9))
        assert(cells.size >= 45 && cells.size <= 91)
      }
    }
  }

  test("cuts lie on cell edges: a cell is one prefix of bits, or neighbours put together") {
    val sample = sorted(0L until 1024L)
    val cells = Cuts.onCellEdges(sample, 1024L, 16.0)
    assert(cells.map(_.from) === (0L until 1024L by 16))
    val uneven = Cuts.onCellEdges(sorted((0L until 64L) ++ (512L until 1024L)), 576L, 64.0)
    assert(uneven.map(_.from).tail.forall(_ % 64 == 0))
  }

  test("much too small cells join a lighter neighbour") {
    // quarters of 100, 1, 1 and 100 rows
    val sample = sorted(
      (0L until 100L) ++ Seq(1L << 61, 1L << 62) ++ (0L until 100L).map((3L << 61) + _))
    val cells = Cuts.onCellEdges(sample, 202L, 100.0)
    assert(cells.map(_.rows) === Seq(101.0, 101.0))
  }

  test("a Z-value heavier than a file fills several files alone") {
    val sample = sorted(Seq.fill(500)(42L) ++ (100L until 600L))
    val cells = Cuts.onCellEdges(sample, 1000L, 100.0)
    val heavy = cells.filter(_.files > 1)
    assert(heavy.map(c => (c.rows, c.files)) === Seq((500.0, 5)))
    assert(cellOf(cells, 42L) === cells.indexOf(heavy.head))
    val one = Cuts.onCellEdges(Array.fill(10)(7L), 1000L, 100.0)
    assert(one === IndexedSeq(Cell(0L, 1000.0, 10)))
    assert(Cuts.onCellEdges(Array(7L), 1L, 100.0) === IndexedSeq(Cell(0L, 1.0, 1)))
    assert(Cuts.onCellEdges(Array(0L, Long.MaxValue), 2L, 1.0).map(_.from) ===
      Seq(0L, 1L << 62))
  }

  test("one column: equal counts, and no value in two files unless it is heavier than one") {
    withRandom { random =>
      for (_ <- 0 until 500) {
        val sample = randomSample(random)
        val rows = sample.length.toLong * (1 + random.nextInt(50))
        val target = math.max(1.0, rows / (1.0 + random.nextInt(100)))
        val cells = Cuts.atEqualCounts(sample, rows, target)
        assert(cells.head.from === 0L)
        assert(cells.map(_.from) === cells.map(_.from).distinct.sorted)
        assert(math.abs(cells.map(_.rows).sum - rows) < 1e-6 * rows + 1e-6)
        val weight = rows.toDouble / sample.length
        sample.groupBy(cellOf(cells, _)).foreach { case (i, zs) =>
          val c = cells(i)
          assert(math.abs(zs.length * weight - c.rows) < 1e-6 * rows + 1e-6)
          if (c.files > 1) {
            assert(zs.distinct.length === 1)
            assert(c.rows > Cuts.Stretch * target)
            assert(c.rows / c.files <= 1.5 * target + 1e-9)
          } else {
            // an even share of the rest, which is below 1.25 files unless it is the last one,
            // and the ties of its last value
            assert(c.rows <= (1.25 + Cuts.Stretch) * target + 2 * weight + 1e-9, s"$c $target")
          }
        }
      }
    }
    val even = Cuts.atEqualCounts(sorted(0L until 1000L), 1000L, 100.0)
    assert(even.map(_.rows) === Seq.fill(10)(100.0))
    val heavy = Cuts.atEqualCounts(sorted(Seq.fill(500)(42L) ++ (100L until 600L)), 1000L, 100.0)
    assert(heavy.filter(_.files > 1).map(c => (c.rows, c.files)) === Seq((500.0, 5)))
    assert(heavy.filter(_.files == 1).forall(c => c.rows >= 50 && c.rows <= 150))
  }

  test("uniform data: a point query reads at most 1.12 of the ideal, 2 to 5 columns") {
    withRandom { random =>
      for (columns <- 2 to 5; files <- Seq(64, 256, 1024)) {
        val bits = ZValues.bitsPerColumn(columns)
        val rows = Array.fill(files * 100, columns)(random.nextInt(1 << bits))
        val zs = rows.map(ZValues.interleave)
        val cells = Cuts.onCellEdges(zs.sorted, rows.length.toLong, rows.length.toDouble / files)
        val froms = cells.map(_.from).toArray
        val low = Array.fill(cells.size, columns)(Int.MaxValue)
        val high = Array.fill(cells.size, columns)(-1)
        rows.indices.foreach { r =>
          val i = java.util.Arrays.binarySearch(froms, zs(r))
          val cell = if (i >= 0) i else -i - 2
          for (c <- 0 until columns) {
            low(cell)(c) = math.min(low(cell)(c), rows(r)(c))
            high(cell)(c) = math.max(high(cell)(c), rows(r)(c))
          }
        }
        // the share of a column's values that a file holds, summed: files of a point query
        val read = (0 until columns).map { c =>
          cells.indices.map(i => (high(i)(c) - low(i)(c) + 1).toDouble / (1 << bits)).sum
        }
        val n = cells.size.toDouble
        val mean = read.sum / columns
        assert(mean / math.pow(n, 1 - 1.0 / columns) <= 1.12, s"$columns columns, $files files")
      }
    }
  }
}
