// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import java.nio.ByteBuffer

import org.apache.spark.sql.types.DataType

import io.sparkzorder.bits.ZValues
import io.sparkzorder.ordering.{
  BoundsIndex,
  ColumnRangeIds,
  ColumnRanks,
  LongBounds,
  OrderedType,
  ZCurve
}

/**
 * The ranks of several columns as one BINARY, the value of a sampling subquery.
 *
 * The format is big-endian. First comes the number of columns (INT). Then comes, for each column, the end of its
 * part, counted from the start of the first part (INT). Then come the parts. A part has the number of bounds (INT),
 * the mid-ranks of all slots (DOUBLE, see [[io.sparkzorder.ordering.ColumnRanks]]), and the bounds. A bound of a type
 * of fixed width is a BIGINT. A bound of any other type is the number of its bytes (INT), and these bytes.
 */
private[sparkzorder] object SampledRanks {

  def encode(columns: Seq[ColumnRanks]): Array[Byte] = {
    val parts = columns.map(encodeColumn)
    val out = ByteBuffer.allocate(4 + 4 * parts.length + parts.map(_.length).sum)
    out.putInt(parts.length)
    parts.scanLeft(0)(_ + _.length).tail.foreach(end => out.putInt(end))
    parts.foreach(part => out.put(part))
    out.array()
  }

  /** The ranks of the column at `position`, whose type is `dataType`. */
  def decode(bytes: Array[Byte], position: Int, dataType: DataType): ColumnRanks = {
    val in = ByteBuffer.wrap(bytes)
    val columns = in.getInt(0)
    val start = if (position == 0) 0 else in.getInt(4 * position)
    in.position(4 + 4 * columns + start)
    val n = in.getInt()
    val midRanks = Array.fill(2 * n + 1)(in.getDouble())
    def blob(): Array[Byte] = {
      val b = new Array[Byte](in.getInt())
      in.get(b)
      b
    }
    val bounds = BoundsIndex.read(OrderedType.require(dataType), n)(in.getLong(), blob())
    new ColumnRanks(dataType, bounds, midRanks)
  }

  private def encodeColumn(ranks: ColumnRanks): Array[Byte] = ranks.bounds match {
    case b: LongBounds =>
      val out = header(ranks, 8 * b.length)
      b.sorted.foreach(v => out.putLong(v))
      out.array()
    case b =>
      val blobs = (0 until b.length).map(i => OrderedType.bytesOf(b.key(i)))
      val out = header(ranks, blobs.map(4 + _.length).sum)
      blobs.foreach(blob => out.putInt(blob.length).put(blob))
      out.array()
  }

  private def header(ranks: ColumnRanks, boundBytes: Int): ByteBuffer = {
    val out = ByteBuffer.allocate(4 + 8 * ranks.midRanks.length + boundBytes)
    out.putInt(ranks.bounds.length)
    ranks.midRanks.foreach(r => out.putDouble(r))
    out
  }
}

/**
 * Reads the range ids of some columns from the BINARY of a sample. Generated code holds a reference
 * to a reader.
 *
 * @param types the columns' types
 * @param positions the columns' positions in the sample
 */
private[sparkzorder] final class SampleReader(types: Array[DataType], positions: Array[Int])
    extends Serializable {

  /** Range ids in 0 until `buckets` for each column. Without a sample (null) all ids are 0. */
  def rangeIds(sample: Array[Byte], buckets: Int): Array[ColumnRangeIds] =
    types.zip(positions).map { case (dataType, position) =>
      val ranks =
        if (sample == null) ColumnRanks.fromSample(dataType, Array.empty[Any], null, 0, 1)
        else SampledRanks.decode(sample, position, dataType)
      ranks.toRangeIds(buckets)
    }

  /** The range ids of the only column. */
  def rangeId(sample: Array[Byte], buckets: Int): ColumnRangeIds = rangeIds(sample, buckets).head

  /** The Z-curve over all columns. */
  def curve(sample: Array[Byte]): ZCurve =
    new ZCurve(rangeIds(sample, 1 << ZValues.bitsPerColumn(types.length)))
}
