// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  ImperativeAggregate,
  TypedImperativeAggregate
}
import org.apache.spark.sql.types.{BinaryType, DataType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.ordering.{ColumnRanks, OrderedStrings}

/**
 * The aggregate of the sampling subquery: draws a sample of the columns and returns their
 * [[SampledRanks]].
 *
 * One pass and one sample serve any number of columns. The sample holds only the first
 * [[SampleAggregate.MaxValueBytes]] bytes of a string or binary, so large values do not make the sample
 * large.
 *
 * @param children columns of orderable atomic types
 */
private[sparkzorder] case class SampleAggregate(
    children: Seq[Expression],
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[ReservoirSample] {

  override def nullable: Boolean = false
  override def dataType: DataType = BinaryType
  override def prettyName: String = "zorder_sample"

  @transient private lazy val toUnsafe = UnsafeProjection.create(children.map(_.dataType).toArray)

  // a retried task has the same partition id, so it draws the same rows
  override def createAggregationBuffer(): ReservoirSample =
    new ReservoirSample(children.length, SampleAggregate.Seed + TaskContext.getPartitionId())

  override def update(buffer: ReservoirSample, input: InternalRow): ReservoirSample = {
    if (buffer.wantsNext()) {
      val values = children.map(c => SampleAggregate.shortened(c.eval(input))).toArray
      buffer.put(toUnsafe(new GenericInternalRow(values)).copy())
    }
    buffer
  }

  override def merge(buffer: ReservoirSample, other: ReservoirSample): ReservoirSample = {
    buffer.join(other)
    buffer
  }

  override def eval(buffer: ReservoirSample): Any =
    SampledRanks.encode(children.indices.map(i => ranks(buffer, i, children(i).dataType)))

  private def ranks(sample: ReservoirSample, column: Int, dataType: DataType): ColumnRanks = {
    val values = Array.newBuilder[Any]
    val weights = Array.newBuilder[Double]
    var nullWeight = 0.0
    sample.foreach { (row, weight) =>
      if (row.isNullAt(column)) nullWeight += weight
      else {
        values += row.get(column, dataType)
        weights += weight
      }
    }
    ColumnRanks.fromSample(
      dataType,
      values.result(),
      weights.result(),
      nullWeight,
      SampleAggregate.MaxBounds)
  }

  override def serialize(buffer: ReservoirSample): Array[Byte] = buffer.toBytes

  override def deserialize(bytes: Array[Byte]): ReservoirSample =
    ReservoirSample.fromBytes(children.length, SampleAggregate.Seed, bytes)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate =
    copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate =
    copy(inputAggBufferOffset = offset)

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): SampleAggregate = copy(children = newChildren)
}

private[sampling] object SampleAggregate {

  /**
   * Greatest number of bounds of a column. The number is enough for range ids of 16 bits, and the
   * bounds are few enough to be sent to every task.
   */
  val MaxBounds = 4096

  /**
   * Greatest number of bytes of a string or binary that the sample keeps: enough for paths and
   * addresses.
   */
  val MaxValueBytes = 256

  private val Seed = 0x5a6f72646572L

  /** Cuts a long value. Values are copied later, when the row becomes an UnsafeRow. */
  private def shortened(value: Any): Any = value match {
    case s: UTF8String if s.numBytes > MaxValueBytes =>
      UTF8String.fromBytes(OrderedStrings.padded(s, MaxValueBytes))
    case b: Array[Byte] if b.length > MaxValueBytes => b.take(MaxValueBytes)
    case other => other
  }
}
