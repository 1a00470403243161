// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions.Murmur3HashFunction
import org.apache.spark.sql.types.LongType

import io.sparkzorder.bits.{HilbertCurve, ZValues}
import io.sparkzorder.ordering.{BoundsIndex, LongBounds}
import io.sparkzorder.util.OncePerJvm

/**
 * Places rows by a grid: the place of a row is one BIGINT that says which file holds it and where in
 * that file it stands. From the most significant bit:
 *
 *  - the number of its ''part''. A cell has a part for each file that holds its rows, and parts are numbered
 *    in the order of the cells;
 *  - its position on the Hilbert curve through its cell, as far as bits are left.
 *
 * Within a cell the range ids of the columns are computed anew, from the sides of the cell. The ids of the
 * widest side use all numbers that the bits can hold. If another side is about 2^h times shorter, its ids use a
 * 2^h-th of these numbers. So a half, a quarter or an eighth of the curve through the cell holds a half, a quarter or
 * an eighth of the rows of the cell. A page that has such a share of the rows is a box that is about as long in every
 * column. Above nine columns the curve is the Z-curve.
 *
 * Immutable and thread-safe.
 *
 * @param pages for each folder, the number of equal pages of a file, a power of two. [[PageSweep]] orders the
 *   rows of each page. Empty if the numbers of pages are not known
 */
private[sparkzorder] final class Placement(grid: Grid, pages: IndexedSeq[Int] = IndexedSeq.empty)
    extends OncePerJvm {

  /** The number of the first part of each folder. The last element is the number of all parts. */
  val firstParts: IndexedSeq[Int] = grid.folders.scanLeft(0)((n, f) =>
    n + f.map(_.cells.map(_.files).sum).getOrElse(0))

  private val parts = firstParts.last

  /** The bits of a place below the number of the part. */
  val keyBits: Int = 63 - (32 - Integer.numberOfLeadingZeros(parts))

  /** For each part, the shuffle key that hash partitioning sends to the partition of the part's file. */
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

  // of the expressions that hold it
  override def toString: String = "placement"
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

  // for each cell and side: h, if the widest side is about 2^h times as long
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
      // the cell fills 2^(-by.sum) of the curve, so one of its pages is one of 2^bits pieces of the curve
      val bits = ofPages + by.sum
      if (d == 1 || curve.isEmpty || ofPages == 0 || bits > PageSweep.MaxBits) null
      else PageSweep.of(d, bits)
    }
  }

  /** Slot of a non-null Catalyst value of column `c`; NULL has the slot -1. */
  def slotOf(c: Int, value: Any): Int = bounds(c).slotOf(value)

  /** Like [[slotOf]], for a value of fixed width that is given as an ordered long. */
  def slotOfOrdered(c: Int, ordered: Long): Int = bounds(c).asInstanceOf[LongBounds].slot(ordered)

  /**
   * The place of a row.
   *
   * @param slots the slot of the value of each column
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
 * Before 4.1 (repartitionById), Spark does not let a caller choose the partition of a row. `repartition(n, id)`
 * hashes the numbers of the files, so some partitions would get the rows of two files, and others none.
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

/**
 * The order of rows inside the pieces of a Hilbert curve that become pages.
 *
 * Pages have equally many rows, but the pieces do not, because the ranks of a sample are not exact. So a page
 * may get some rows of the piece before or after its own. Along the curve, the rows at an end of a piece lie in a
 * corner, where a tenth of the piece's rows spans a third of the piece's side, and the range of the page would
 * grow by this third. So the rows of a piece do not follow the curve. The rows that are nearer to the face at which the
 * curve enters come first, by rising distance from this face. The other rows follow, by falling distance from the face
 * at which the curve leaves. A tenth of the rows then spans about a tenth of the side. Rows at the same distance from a
 * face keep the order of the curve. So rows with the same values stay side by side, where they take fewer bytes.
 *
 * Immutable and thread-safe. The tables are not serialised, so instances are small on the wire.
 *
 * @param pieceBits the curve has `2^pieceBits` pieces
 */
private[cluster] final class PageSweep private (curve: HilbertCurve, pieceBits: Int)
    extends Serializable {
  import PageSweep._

  private val d = curve.columns
  private val bits = ZValues.bitsPerColumn(d)
  private val lowBits = d * bits - pieceBits
  // the pieces consist of whole cells of this level
  private val level = (pieceBits + d - 1) / d
  private val cellBits = bits - level

  // for each piece and column: the least id in the piece, and the binary logarithm of the number of ids
  @transient private val lows = new Array[Int](d << pieceBits)
  @transient private val sizes = new Array[Int](d << pieceBits)
  // for each piece, the faces at which the curve enters and leaves it: 2 * column, plus 1 for the upper face;
  // -1 at the ends of the curve
  @transient private val entries = Array.fill(1 << pieceBits)(-1)
  @transient private val exits = Array.fill(1 << pieceBits)(-1)

  locally {
    // the cells in the order of the curve
    val cells = (0 until (1 << (d * level))).map(_.toLong << (d * cellBits))
      .sortBy(z => curve.index(z)).map(coordinates).toArray
    val ofPiece = cells.length >> pieceBits
    for (piece <- 0 until (1 << pieceBits)) {
      val own = cells.slice(piece * ofPiece, (piece + 1) * ofPiece)
      for (c <- 0 until d) {
        val low = own.map(_(c)).min
        lows(piece * d + c) = low << cellBits
        val length = own.map(_(c)).max - low + 1
        sizes(piece * d + c) = cellBits + Integer.numberOfTrailingZeros(length)
      }
      if (piece > 0) entries(piece) = face(own.head, cells(piece * ofPiece - 1))
      if (piece + 1 < (1 << pieceBits)) exits(piece) = face(own.last, cells((piece + 1) * ofPiece))
    }
  }

  /**
   * The position of a row, with as many bits as the Hilbert index.
   *
   * @param index the Hilbert index of the row
   * @param ids the range ids of the row
   */
  def position(index: Long, ids: Array[Int]): Long = {
    val piece = (index >>> lowBits).toInt
    val in = distance(piece, entries(piece), ids)
    val out = distance(piece, exits(piece), ids)
    val key = if (in <= out) in else 2 * Whole - 1 - out
    val along = index & ((1L << lowBits) - 1)
    (piece.toLong << lowBits) | (key << (lowBits - KeyBits)) | (along >>> KeyBits)
  }

  /**
   * The distance of a row from a face of its piece, as a share of the side, times `Whole`. It is `Whole` if the
   * piece has no such face, because the curve begins or ends in the piece.
   */
  private def distance(piece: Int, face: Int, ids: Array[Int]): Long =
    if (face < 0) Whole
    else {
      val at = piece * d + (face >> 1)
      val length = 1L << sizes(at)
      val own = math.max(0L, math.min(length - 1, ids(face >> 1).toLong - lows(at)))
      (if ((face & 1) == 0) own else length - 1 - own) * Whole >> sizes(at)
    }

  private def coordinates(z: Long): Array[Int] = Array.tabulate(d) { c =>
    var id = 0
    var bit = bits - 1
    while (bit >= cellBits) {
      id = (id << 1) | ((z >>> (bit * d + d - 1 - c)).toInt & 1)
      bit -= 1
    }
    id
  }

  /** The face that a cell shares with a neighbour on the curve. */
  private def face(cell: Array[Int], next: Array[Int]): Int = {
    val c = (0 until d).find(i => cell(i) != next(i)).get
    2 * c + (if (next(c) > cell(c)) 1 else 0)
  }

  private def readResolve(): Object = PageSweep.of(d, pieceBits)
}

private[cluster] object PageSweep {

  /**
   * With more pieces, the tables would be large. A cell needs more pieces than pages if one of its sides is narrow,
   * as around a value that many rows have, because the cell then fills only a part of the curve.
   */
  val MaxBits = 12

  // A distance is exact to a 4,096th of a side. The other bits of a piece, 7 at least, are left for
  // the order of the curve.
  private val KeyBits = 13
  private val Whole = 1L << (KeyBits - 1)

  private val sweeps = new ConcurrentHashMap[(Int, Int), PageSweep]

  /**
   * The sweep of a curve; built when it is first asked for.
   *
   * @param columns 2 to [[HilbertCurve.MaxColumns]]
   * @param pieceBits 1 to `MaxBits`
   */
  def of(columns: Int, pieceBits: Int): PageSweep =
    sweeps.computeIfAbsent(
      (columns, pieceBits),
      _ => new PageSweep(HilbertCurve.of(columns), pieceBits))
}
