// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.IntegerType
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.cluster.{FolderGridBuilder, FolderSample, KeyColumn, PartitionKeys}
import io.sparkzorder.ordered.grid.StoredGrid

class CellsOfGridSuite extends AnyFunSuite {
  private val units = 32

  // positions of one to three columns have fewer bits than there are below the number of the cell
  for (d <- 1 to 9) test(s"a single cell of $d columns is divided among all partitions") {
    val random = new Random(d)
    val rows = Seq.fill(4000)(Seq.fill(d)(random.nextInt()))
    val types = Seq.fill(d)(IntegerType)
    val columns = (0 until d).map { c =>
      val builder = KeyColumn.newBuilder(IntegerType)
      rows.foreach(r => builder.add(r(c)))
      builder.result()
    }
    val folder = new FolderGridBuilder(types, FolderSample(columns), rows.size.toLong, 1, 0).build()
    assert(folder.cells.size === 1)
    val grid =
      StoredGrid((0 until d).map("c" + _), types.map(_.json), Map("" -> folder), folder, 1.0)
    val cells = new CellsOfGrid(grid, 1, units, 1L)
    val at = cells.placement.folder(0)
    val root = UTF8String.fromString("")
    val partitions = rows.map { r =>
      val place = at.place(r.indices.map(c => at.slotOf(c, r(c))).toArray, 0L)
      PartitionKeys.partitionOf(cells.key(place, root), units)
    }
    val sizes = partitions.groupBy(identity).map(_._2.size)
    assert(sizes.size === units)
    assert(sizes.max < 2 * rows.size / units, sizes)
  }
}
