// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.{DataType, DecimalType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs
import io.sparkzorder.ordering.{BoundsIndex, FixedOrder, OrderedType}

/** Cells that are cut further by another sample, as the first of two passes does. */
class RegionsSuite extends AnyFunSuite with RandomInputs {

  private val kinds: Seq[(DataType, Random => Any)] = Seq(
    (LongType, r => r.nextInt(1000).toLong),
    (LongType, r => if (r.nextInt(3) == 0) null else math.pow(r.nextDouble(), -0.8).toLong),
    (LongType, r => r.nextInt(3).toLong),
    (StringType, r => UTF8String.fromString(r.alphanumeric.take(r.nextInt(3)).mkString)),
    (
      DecimalType(38, 2),
      r => org.apache.spark.sql.types.Decimal(BigDecimal(r.nextInt(500)) / 4, 38, 2)))

  private def builder(
      types: Seq[DataType],
      rows: Seq[Seq[Any]],
      files: Int,
      stop: Int,
      regions: Option[FolderGrid]) = {
    val columns = types.indices.map(c => KeyColumns.of(types(c), rows.map(_(c))))
    new FolderGridBuilder(
      types,
      FolderSample(columns),
      1000L * rows.size,
      files,
      0,
      stop = stop,
      regions = regions)
  }

  private def slot(dataType: DataType, bounds: BoundsIndex, value: Any): Int =
    if (value == null) -1
    else {
      OrderedType.require(dataType) match {
        case _: FixedOrder => bounds.slotOf(value)
        case _ => bounds.slotOf(value)
      }
    }

  private def cellOf(types: Seq[DataType], grid: FolderGrid, row: Seq[Any]): Cell =
    grid.cells(grid.tree.cellOf(
      types.indices.map(c => slot(types(c), grid.columns(c).bounds, row(c))).toArray))

  test("any row, also one that no sample has, goes to a file of its region alone") {
    withRandom { random =>
      for (_ <- 0 until 60) {
        val some = Seq.fill(1 + random.nextInt(3))(kinds(random.nextInt(kinds.size)))
        val types = some.map(_._1)
        def rows(n: Int) = Seq.fill(n)(some.map(_._2(random)))
        val files = 8 + random.nextInt(60)
        val stop = 1 + random.nextInt(files / 2)
        val regions = builder(types, rows(20 + random.nextInt(500)), files, stop, None).build()
        // another part of the table, perhaps of few regions
        val near = rows(300)
        val own = if (random.nextBoolean()) near.take(1 + random.nextInt(30)) else near
        val grid =
          builder(types, own, 1 + random.nextInt(40), 1, Some(regions)).build()
        val regionOf = Grid(types.map(_.sql), IndexedSeq(Some(grid))).regionOfFile
        for (row <- own ++ rows(300)) {
          val wanted = regions.cells.indexOf(cellOf(types, regions, row))
          val cell = cellOf(types, grid, row)
          assert(cell.region === wanted, row)
          (0 until cell.files).foreach(i => assert(regionOf(cell.file + i) === wanted))
        }
        assert(regionOf.toSet === regions.cells.indices.toSet)
      }
    }
  }

  test("regions are the first cells of the tree of one shuffle; one key alone may be larger") {
    withRandom { random =>
      val rows = Seq.fill(4000)(
        if (random.nextInt(5) < 2) Seq(7L, 7L)
        else Seq(random.nextInt(100000).toLong, random.nextInt(100000).toLong))
      val types = Seq(LongType, LongType)
      val regions = builder(types, rows, 64, 8, None).build()
      val (heavy, others) = regions.cells.partition(_.files > 8)
      assert(heavy.size === 1 && heavy.head.rows >= 0.39 * 4000000 && others.size >= 5)
      val whole = builder(types, rows, 64, 1, None).build()
      rows.groupBy(r => cellOf(types, whole, r).file).values.foreach { file =>
        val own = file.map(cellOf(types, regions, _)).distinct
        // small cells share a file with their neighbours
        assert(own.size <= 3)
      }
    }
  }

  test("values that a sample does not have, before, between and after its own") {
    val column = KeyColumns.of(LongType, Seq(5L, null, 9L, 5L)).ranked
    val more = column.withValues(Seq(1L, 9L, 7L, 8L, 7L, 20L).map(java.lang.Long.valueOf))
    assert((0 until more.distinct.length).map(more.distinct.key(_).toString) ===
      Seq("1", "5", "7", "8", "9", "20"))
    assert(more.ranks.toSeq === Seq(2, 0, 5, 2))
    assert(more.below.toSeq === Seq(0, 1, 1, 3, 3, 3, 4, 4))
    assert(column.withValues(Nil) eq column)
  }
}
