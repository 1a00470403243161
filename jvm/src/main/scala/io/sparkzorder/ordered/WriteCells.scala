// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, Partitioning}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.cluster.{Grid, PartitionKeys, Placement}
import io.sparkzorder.ordered.grid.StoredGrid
import io.sparkzorder.util.OncePerJvm

/**
 * Maps the rows of a write to the partitions of its shuffle. The rows of a folder go to a ''bucket'', a
 * series of neighbouring partitions, and neighbouring cells of the folder go to neighbouring partitions. If
 * there are more folders than buckets, folders share buckets. AQE and [[CoalesceWriteCells]] merge
 * neighbouring partitions until a task has enough rows for a file.
 *
 * Immutable and thread-safe.
 *
 * @param buckets the number of buckets
 * @param units the number of partitions of a bucket, a power of two
 * @param targetBytes the bytes of shuffle data that make one file
 */
private[sparkzorder] sealed abstract class WriteCells(
    buckets: Int,
    units: Int,
    val targetBytes: Long)
    extends OncePerJvm {

  private val preimages = PartitionKeys(partitions)

  def partitions: Int = buckets * units

  /** The shuffle key of a row: a BIGINT that hash partitioning maps to the partition of its cell. */
  def key(place: Long, path: UTF8String): Long =
    preimages(partition(place, path))

  /** The partition of the shuffle to which a row goes. */
  protected def partition(place: Long, path: UTF8String): Int

  protected final def inBucket(bucket: Int, unit: Int): Int =
    Math.floorMod(bucket, buckets) * units + unit
}

private[ordered] object WriteCells {

  /** The cells by which a shuffle partitions its rows; None if it partitions by anything else. */
  def of(shuffle: Partitioning): Option[WriteCells] = shuffle match {
    case HashPartitioning(Seq(CellOfPlace(_, _, cells)), _) => Some(cells)
    case _ => None
  }
}

/** The cells of the grid that the last OPTIMIZE has stored. */
private[sparkzorder] final class CellsOfGrid(
    grid: StoredGrid,
    buckets: Int,
    units: Int,
    targetBytes: Long)
    extends WriteCells(buckets, units, targetBytes) {

  private val paths = grid.folders.keys.toArray.sorted
  private val numbers = new java.util.HashMap[UTF8String, Integer]
  paths.indices.foreach(i => numbers.put(UTF8String.fromString(paths(i)), Integer.valueOf(i)))
  private val pooled = paths.length

  /** Places rows by the grids of the stored folders. The last grid is for all other folders. */
  val placement: Placement =
    new Placement(
      Grid(grid.columns, paths.map(p => Option(grid.folders(p))).toIndexedSeq :+ Some(grid.pooled)))

  private val first: Array[Int] = placement.firstParts.toArray
  private val keyBits = placement.keyBits

  /** The number of a folder in `placement`. */
  def folder(path: UTF8String): Int = {
    val number = numbers.get(path)
    if (number == null) pooled else number.intValue
  }

  override protected def partition(place: Long, path: UTF8String): Int = {
    val own = folder(path)
    inBucket(if (own == pooled) path.hashCode else own, unit(place, own))
  }

  /**
   * The partition inside of the bucket. The cells of a folder are divided equally among the partitions; if
   * there are more partitions than cells, a cell is cut along its curve.
   */
  private def unit(place: Long, own: Int): Int = {
    val cells = first(own + 1) - first(own)
    val cell = (place >>> keyBits) - first(own)
    val within =
      (place & ((1L << keyBits) - 1)) >>> math.max(0, keyBits - CellsOfGrid.Fraction)
    val position = (cell << CellsOfGrid.Fraction) + within
    math.min(units - 1L, position * units / (cells.toLong << CellsOfGrid.Fraction)).toInt
  }
}

private object CellsOfGrid {
  // how many of the upper bits of the position inside of a cell are used
  val Fraction = 20
}

/**
 * Equal parts of a curve through the ranks of the ordering columns.
 *
 * @param bits the number of bits of a position on the curve
 */
private[sparkzorder] final class CellsOfCurve(
    bits: Int,
    buckets: Int,
    units: Int,
    targetBytes: Long)
    extends WriteCells(buckets, units, targetBytes) {

  private val shift = bits - Integer.numberOfTrailingZeros(units)

  override protected def partition(place: Long, path: UTF8String): Int =
    inBucket(path.hashCode, (place >>> shift).toInt)
}
