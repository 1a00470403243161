// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import java.util.concurrent.ConcurrentHashMap

import io.sparkzorder.bits.{HilbertCurve, ZValues}

/**
 * The order of rows inside the pieces of a Hilbert curve that become pages.
 *
 * Pages have equally many rows, but the pieces have not: the ranks of a sample are not exact, so a
 * page may end a little before or after its piece. Along the curve, the rows at an end of a piece
 * lie in a corner, and a tenth of them spans a third of the piece's side. So the rows of a piece do
 * not follow the curve. The half next to the face at which the curve enters is swept from this face
 * on, the other half towards the face at which the curve leaves. A tenth of the rows then spans
 * about a tenth of the side. Rows at the same distance from a face keep the order of the curve. So rows
 * with the same values stay side by side, where they take fewer bytes.
 *
 * Immutable and safe for threads. The tables are not serialised, so instances are small on the wire.
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

  // of each piece and column: where the piece begins, and by how many bits it is long
  @transient private val lows = new Array[Int](d << pieceBits)
  @transient private val sizes = new Array[Int](d << pieceBits)
  // the faces at which the curve enters and leaves: 2 * column, plus 1 for the upper face; or -1
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
   * @param ids of the row
   */
  def position(index: Long, ids: Array[Int]): Long = {
    val piece = (index >>> lowBits).toInt
    val in = distance(piece, entries(piece), ids)
    val out = distance(piece, exits(piece), ids)
    val key = if (in <= out) in else 2 * Whole - 1 - out
    val along = index & ((1L << lowBits) - 1)
    (piece.toLong << lowBits) | (key << (lowBits - KeyBits)) | (along >>> KeyBits)
  }

  /** The distance of a row from a face of its piece, as a part of `Whole`; `Whole` without a face. */
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

  /** The face of a cell that it shares with the next one on the curve. */
  private def face(cell: Array[Int], next: Array[Int]): Int = {
    val c = (0 until d).find(i => cell(i) != next(i)).get
    2 * c + (if (next(c) > cell(c)) 1 else 0)
  }

  private def readResolve(): Object = PageSweep.of(d, pieceBits)
}

private[cluster] object PageSweep {

  /** More pieces would need large tables; a cell with more is one of a heavy value. */
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
