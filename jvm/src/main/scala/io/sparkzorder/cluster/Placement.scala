// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.catalyst.expressions.Murmur3HashFunction
import org.apache.spark.sql.types.LongType

import io.sparkzorder.bits.{HilbertCurve, ZValues}
import io.sparkzorder.ordering.{BoundsIndex, LongBounds}
import io.sparkzorder.util.OncePerJvm

/**
 * Places rows by a grid: the place of a row is one BIGINT that says which file holds it and where in
 * that file it stands. From the most significant bit:
 *
 *  - the number of its ''part'': the parts of a cell are the files that hold it, in the order of cells;
 *  - its position on the Hilbert curve through its cell, as far as bits are left.
 *
 * Within a cell the ids of the columns are computed anew, from the sides of the cell. The ids of
 * the widest side use the whole range of the bits, and the ids of the other sides a half, a quarter,
 * an eighth, ... of it, whichever is nearest in proportion. So the halves, quarters and eighths of the
 * curve through the cell are halves, quarters and eighths of its rows, and pages of such sizes are
 * boxes that are about as long in every column. Above nine columns the curve is the Z-curve.
 *
 * Immutable and safe for threads.
 *
 * @param pages number of equal pages of a file of each folder, a power of two; the pieces of the
 *   curve that become pages are swept ([[PageSweep]]). Empty if nothing is known of pages
 */
private[sparkzorder] final class Placement(grid: Grid, pages: IndexedSeq[Int] = IndexedSeq.empty)
    extends OncePerJvm {

  /** Number of the first part of each folder, and at last the number of parts. */
  private[sparkzorder] val firstParts: IndexedSeq[Int] = grid.folders.scanLeft(0)((n, f) =>
    n + f.map(_.cells.map(_.files).sum).getOrElse(0))

  private val parts = firstParts.last

  /** The bits of a place below the number of the part. */
  private[sparkzorder] val keyBits: Int = 63 - (32 - Integer.numberOfLeadingZeros(parts))

  /** What hash partitioning needs to send the rows of a part to their file's partition. */
  private val preimages: Array[Long] = {
    val ofFile = PartitionKeys(math.max(1, grid.files))
    for {
      folder <- grid.folders.flatten
      cell <- folder.cells
      part <- 0 until cell.files
    } yield ofFile(cell.file + part)
  }.toArray

  private val folders: Array[PlacedFolder] = grid.folders.indices.map { i =>
    val ofFile = if (pages.isEmpty) 1 else pages(i)
    grid.folders(i).map(new PlacedFolder(_, firstParts(i), keyBits, ofFile)).orNull
  }.toArray

  /** @param folder position of a folder that has rows */
  def folder(folder: Int): PlacedFolder = folders(folder)

  /** The shuffle key of a row, from its place. */
  def preimage(place: Long): Long = preimages((place >>> keyBits).toInt)
}

/** Places the rows of one folder. */
private[sparkzorder] final class PlacedFolder private[sparkzorder] (
    grid: FolderGrid,
    firstPart: Int,
    keyBits: Int,
    pages: Int)
    extends Serializable {

  private val d = grid.columns.length
  private val bounds: Array[BoundsIndex] = grid.columns.map(_.bounds).toArray
  private val ranks: Array[Array[Int]] = grid.columns.map(_.midRanks).toArray
  private val tree = grid.tree
  private val firstParts: Array[Int] = grid.cells.scanLeft(firstPart)(_ + _.files).toArray
  private val greatestId = (1 << ZValues.bitsPerColumn(d)) - 1

  // for each cell and side: the rank at which it begins
  private val from: Array[Array[Int]] = grid.sides.map(_.map(_.from).toArray).toArray

  // for each cell and side: the power of two by which the widest side is longer
  private val halvings: Array[Array[Int]] = grid.sides.indices.map { cell =>
    val widths = grid.widths match {
      case Some(all) => all(cell).map(w => math.max(1, RankScale(w)).toDouble)
      case None => grid.sides(cell).map(s => math.max(1, s.until - s.from).toDouble)
    }
    widths.map(w => math.round(math.log(widths.max / w) / math.log(2)).toInt).toArray
  }.toArray

  // for each cell and side: the factor that turns ranks into ids
  private val idsPerRank: Array[Array[Double]] = grid.sides.zip(halvings).map { case (sides, by) =>
    sides.zip(by).map { case (s, h) =>
      (greatestId + 1.0) / math.max(1, s.until - s.from) / math.pow(2, h.toDouble)
    }.toArray
  }.toArray

  private val shift = math.max(0, d * ZValues.bitsPerColumn(d) - keyBits)

  // without a Hilbert curve, rows follow the Z-curve
  private val curve: Option[HilbertCurve] =
    if (d <= HilbertCurve.MaxColumns) Some(HilbertCurve.of(d)) else None

  // for each cell the sweep of its pages; null where rows follow the curve alone
  private val sweeps: Array[PageSweep] = {
    val ofPages = Integer.numberOfTrailingZeros(pages)
    halvings.map { by =>
      // the cell has this share of the curve
      val bits = ofPages + by.sum
      if (d == 1 || curve.isEmpty || ofPages == 0 || bits > PageSweep.MaxBits) null
      else PageSweep.of(d, bits)
    }
  }

  /** Slot of a non-null Catalyst value of column `c`; NULL has the slot -1. */
  def slotOf(c: Int, value: Any): Int = bounds(c).slotOf(value)

  /** As [[slotOf]], by the ordered long of a value of fixed width. */
  def slotOfOrdered(c: Int, ordered: Long): Int = bounds(c).asInstanceOf[LongBounds].slot(ordered)

  /**
   * The place of a row.
   *
   * @param slots one per column
   * @param tie any number; tells rows apart that have the same values in all ordering columns
   */
  def place(slots: Array[Int], tie: Long): Long = {
    val cell = tree.cellOf(slots)
    var part = firstParts(cell)
    val parts = firstParts(cell + 1) - part
    if (parts > 1) part += java.lang.Math.floorMod(tie, parts.toLong).toInt
    (part.toLong << keyBits) | (position(cell, slots) >>> shift)
  }

  private def position(cell: Int, slots: Array[Int]): Long = {
    val begin = from(cell)
    val scale = idsPerRank(cell)
    val sweep = sweeps(cell)
    val ids = if (sweep == null) null else new Array[Int](d)
    var z = 0L
    var c = 0
    while (c < d) {
      // values that the sample did not show may lie outside of the sides
      val raw = ((ranks(c)(slots(c) + 1) - begin(c)) * scale(c)).toInt
      val id = math.max(0, math.min(greatestId, raw))
      z |= ZValues.part(id, c, d)
      if (ids != null) ids(c) = id
      c += 1
    }
    if (curve.isEmpty) z
    else if (sweep == null) curve.get.index(z)
    else sweep.position(curve.get.index(z), ids)
  }
}

/**
 * For each shuffle partition a BIGINT that Spark's hash partitioning sends to that partition.
 *
 * Only Spark 4.1 lets a caller choose the partition of a row (repartitionById), and
 * `repartition(n, id)` hashes the ids, so that some partitions get two files' rows and others none.
 */
private[sparkzorder] object PartitionKeys {
  // the seed of Spark's HashPartitioning
  private val seed = 42L

  def apply(partitions: Int): Array[Long] = {
    val preimages = new Array[Long](partitions)
    val found = new Array[Boolean](partitions)
    var missing = partitions
    var x = 0L
    while (missing > 0) {
      val p = partitionOf(x, partitions)
      if (!found(p)) {
        found(p) = true
        preimages(p) = x
        missing -= 1
      }
      x += 1
    }
    preimages
  }

  /** Where Spark sends a row whose only partitioning expression is `x`. */
  def partitionOf(x: Long, partitions: Int): Int =
    java.lang.Math.floorMod(Murmur3HashFunction.hash(x, LongType, seed).toInt, partitions)
}
