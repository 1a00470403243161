// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}
import java.util.SplittableRandom

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  GenericInternalRow,
  UnsafeProjection,
  UnsafeRow
}
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
    new ReservoirSample(
      children.length,
      SampleAggregate.Seed + TaskContext.getPartitionId(),
      Option(TaskContext.get()).fold(ReservoirSample.TaskRows)(t =>
        ReservoirSample.rowsOf(t.numPartitions())))

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
   * Greatest number of bounds of a column. 4,096 bounds have 8,193 slots, one for each bound and one for each gap. The
   * ranks of so many slots are small enough to be sent to every task.
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

/**
 * A weighted sample of key rows. A row of weight w represents w rows of the input.
 *
 * Each task draws a sample by reservoir sampling (Li's Algorithm L, in which a skipped row costs one comparison).
 * Each row of this sample has the weight `seen / size`. One task joins the samples of all tasks, and thins them by
 * systematic sampling over the weights if they have too many rows. The seed is fixed, so a task that reads rows
 * draws the same sample if Spark runs it again.
 *
 * @param fields the number of columns of a key row
 * @param seed the seed of the random numbers
 * @param most the greatest number of rows that this task keeps
 */
private[sampling] final class ReservoirSample(
    fields: Int,
    seed: Long,
    most: Int = ReservoirSample.TaskRows) {
  import ReservoirSample._

  private val random = new SplittableRandom(seed)
  private val reservoir = new ArrayBuffer[UnsafeRow]
  private var seen = 0L
  private var next = 0L
  private var spread = 1.0

  private var joinedRows = new ArrayBuffer[UnsafeRow]
  private var joinedWeights = new ArrayBuffer[Double]

  /** Counts one row of the input; true if the caller must pass that row to [[put]]. */
  def wantsNext(): Boolean = {
    seen += 1
    seen <= most || seen == next
  }

  /** Adds a row for which [[wantsNext]] was true. The caller must not change the row afterwards. */
  def put(row: UnsafeRow): Unit = {
    if (reservoir.length < most) reservoir += row
    else reservoir(random.nextInt(most)) = row
    if (seen >= most) skip()
  }

  private def skip(): Unit = {
    spread *= math.exp(math.log(positive()) / most)
    next = seen + 1 + math.floor(math.log(positive()) / math.log1p(-spread)).toLong
  }

  private def positive(): Double = 1.0 - random.nextDouble()

  /** All rows and their weights. */
  def foreach(f: (UnsafeRow, Double) => Unit): Unit = {
    val weight = seen.toDouble / reservoir.length
    reservoir.foreach(f(_, weight))
    joinedRows.indices.foreach(i => f(joinedRows(i), joinedWeights(i)))
  }

  def size: Int = reservoir.length + joinedRows.length

  /** Adds the rows of another task's sample. */
  def join(other: ReservoirSample): Unit = {
    other.foreach { (row, weight) =>
      joinedRows += row
      joinedWeights += weight
    }
    if (joinedRows.length > 2 * MergedRows) thin()
  }

  /** Takes one row for each `step` of weight, so the weight of every row that stays is a multiple of `step`. */
  private def thin(): Unit = {
    val step = joinedWeights.sum / MergedRows
    val rows = new ArrayBuffer[UnsafeRow](MergedRows)
    val weights = new ArrayBuffer[Double](MergedRows)
    var position = random.nextDouble() * step
    joinedRows.indices.foreach { i =>
      position += joinedWeights(i)
      val times = math.floor(position / step)
      if (times > 0) {
        rows += joinedRows(i)
        weights += times * step
        position -= times * step
      }
    }
    joinedRows = rows
    joinedWeights = weights
  }

  def toBytes: Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    out.writeInt(size)
    foreach { (row, weight) =>
      out.writeDouble(weight)
      out.writeInt(row.getSizeInBytes)
      out.write(row.getBytes)
    }
    bytes.toByteArray
  }

  private def read(bytes: Array[Byte]): ReservoirSample = {
    val in = new DataInputStream(new ByteArrayInputStream(bytes))
    (0 until in.readInt()).foreach { _ =>
      joinedWeights += in.readDouble()
      val data = new Array[Byte](in.readInt())
      in.readFully(data)
      val row = new UnsafeRow(fields)
      row.pointTo(data, data.length)
      joinedRows += row
    }
    this
  }
}

private[sampling] object ReservoirSample {

  /** Rows that one task keeps at most. All tasks send their rows to the task that joins them. */
  val TaskRows = 10000

  /** The least limit for one task, however many tasks there are. A task with fewer rows keeps all of its rows. */
  private val LeastTaskRows = 1000

  /**
   * The greatest number of rows that each of `tasks` tasks keeps. Up to 200 tasks send at most four times as many rows
   * as are left after thinning. Each further task sends up to 1,000 rows more.
   */
  def rowsOf(tasks: Int): Int =
    math.max(LeastTaskRows, math.min(TaskRows, 4 * MergedRows / math.max(1, tasks)))

  /** Rows that are left of all tasks together after thinning. */
  val MergedRows = 50000

  def fromBytes(fields: Int, seed: Long, bytes: Array[Byte]): ReservoirSample =
    new ReservoirSample(fields, seed).read(bytes)
}
