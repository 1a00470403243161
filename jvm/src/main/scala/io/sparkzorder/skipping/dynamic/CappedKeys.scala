// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.nio.ByteBuffer
import java.util.Arrays

import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  ImperativeAggregate,
  TypedImperativeAggregate
}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Generate, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types.{ArrayType, DataType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.unsafe.hash.Murmur3_x86_32

import io.sparkzorder.plans.FreeOfOrder

/**
 * The different keys of a side of a join that runs once more, as a plan. Spark collects its rows in the driver. How
 * many keys a side has is not known before it runs: Spark estimates rows from the bytes of compressed files, and a
 * filter does not change this estimate. So an aggregate counts the keys and their bytes. Above the limits, the plan
 * has one row with NULL in place of the keys. (NULL itself is never a key, because it has no partner.)
 */
private[dynamic] object CappedKeys {

  /** The greatest number of keys and of their bytes that a second run may give. */
  final case class Limits(keys: Int, bytes: Int)

  val MaxKeys = 1000000
  val MaxBytes: Int = 64 << 20

  /** Spark fails a query whose results in the driver are greater than this; 0 means no limit. */
  private val OfDriver = "spark.driver.maxResultSize"

  /** @param maxResultSize as Spark's setting: bytes, or 0 for no limit */
  def limits(maxResultSize: Long): Limits =
    // a quarter, because the tasks of a job also send their metrics
    Limits(MaxKeys, if (maxResultSize <= 0) MaxBytes else (maxResultSize / 4).min(MaxBytes).toInt)

  private def limits: Limits =
    limits(Option(SparkEnv.get).fold(0L)(_.conf.getSizeAsBytes(OfDriver, "1g")))

  /** A plan with the different values of an expression over a side, and its single column. */
  def of(side: LogicalPlan, key: Expression): (LogicalPlan, Attribute) = {
    val all = Alias(KeysAggregate(key, limits).toAggregateExpression(), "keys")()
    val one = AttributeReference("key", key.dataType)()
    val rows = Generate(
      Explode(all.toAttribute),
      unrequiredChildIndex = Seq(0),
      outer = false,
      qualifier = None,
      generatorOutput = Seq(one),
      child = Aggregate(Nil, Seq(all), side))
    (rows, one)
  }

  /** The plan that Spark makes of the plan [[of]] for a dynamic filter. For equal plans, Spark runs one subquery. */
  def query(side: LogicalPlan, key: Expression): LogicalPlan = {
    val (capped, column) = of(side, key)
    val one = Alias(column, column.toString)()
    Aggregate(Seq(one), Seq(one), capped)
  }

  /** True for a node that [[of]] has made. */
  def isIn(rows: Generate): Boolean = rows.child match {
    case a: Aggregate => a.aggregateExpressions.exists(_.exists(_.isInstanceOf[KeysAggregate]))
    case _ => false
  }
}

/** The different values of its child without NULL, as an array; an array with a single NULL above the limits. */
private[dynamic] final case class KeysAggregate(
    child: Expression,
    limits: CappedKeys.Limits,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[KeySet]
    with UnaryLike[Expression]
    with FreeOfOrder {

  override def nullable: Boolean = false
  override def dataType: DataType = ArrayType(child.dataType)
  override def prettyName: String = "zorder_keys"

  @transient private lazy val toUnsafe = UnsafeProjection.create(Array(child.dataType))

  override def createAggregationBuffer(): KeySet = new KeySet(limits)

  override def update(keys: KeySet, input: InternalRow): KeySet = {
    if (!keys.isAbove) {
      val key = child.eval(input)
      if (key != null) keys.add(toUnsafe(InternalRow(key)))
    }
    keys
  }

  override def merge(keys: KeySet, other: KeySet): KeySet = {
    keys.addAll(other)
    keys
  }

  override def eval(keys: KeySet): Any =
    new GenericArrayData(if (keys.isAbove) Array[Any](null) else keys.values(child.dataType))

  override def serialize(keys: KeySet): Array[Byte] = keys.toBytes
  override def deserialize(bytes: Array[Byte]): KeySet = KeySet.of(bytes, limits)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate =
    copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate =
    copy(inputAggBufferOffset = offset)

  override protected def withNewChildInternal(newChild: Expression): KeysAggregate =
    copy(child = newChild)
}

/**
 * A set of rows with one column, which are compared by their bytes. All rows stand in one array, because a million
 * objects would need a multiple of the memory. Above the limits the set forgets its rows. Whether a set is above the
 * limits does not depend on the order in which rows and other sets were added.
 */
private[dynamic] final class KeySet(limits: CappedKeys.Limits) {
  private var rows = new Array[Byte](256)
  // the ends of the rows in `rows`; row i begins where row i - 1 ends
  private var ends = new Array[Int](16)
  private var size = 0
  // an open hash table: the numbers of the rows plus one, or 0
  private var slots = new Array[Int](64)
  private var above = false

  def isAbove: Boolean = above

  private def begin(i: Int): Int = if (i == 0) 0 else ends(i - 1)

  def add(row: UnsafeRow): Unit = add(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)

  private def add(base: AnyRef, offset: Long, length: Int): Unit = if (!above) {
    val mask = slots.length - 1
    var slot = Murmur3_x86_32.hashUnsafeBytes(base, offset, length, 42) & mask
    while (slots(slot) != 0 && !isRow(slots(slot) - 1, base, offset, length))
      slot = (slot + 1) & mask
    if (slots(slot) == 0) append(slot, base, offset, length)
  }

  private def isRow(i: Int, base: AnyRef, offset: Long, length: Int): Boolean =
    ends(i) - begin(i) == length &&
      ByteArrayMethods.arrayEquals(rows, address(begin(i)), base, offset, length)

  private def address(position: Int): Long = Platform.BYTE_ARRAY_OFFSET.toLong + position

  private def append(slot: Int, base: AnyRef, offset: Long, length: Int): Unit = {
    val start = begin(size)
    val end = start.toLong + length
    if (size == limits.keys || end > limits.bytes) forget()
    else {
      if (end > rows.length) {
        rows = Arrays.copyOf(rows, math.max(end, math.min(rows.length * 2L, limits.bytes)).toInt)
      }
      if (size == ends.length) ends = Arrays.copyOf(ends, size * 2)
      Platform.copyMemory(base, offset, rows, address(start), length)
      ends(size) = end.toInt
      size += 1
      slots(slot) = size
      if (size * 2 > slots.length) rehash()
    }
  }

  private def rehash(): Unit = {
    slots = new Array[Int](slots.length * 2)
    val mask = slots.length - 1
    var i = 0
    while (i < size) {
      val length = ends(i) - begin(i)
      var slot = Murmur3_x86_32.hashUnsafeBytes(rows, address(begin(i)), length, 42) & mask
      while (slots(slot) != 0) slot = (slot + 1) & mask
      i += 1
      slots(slot) = i
    }
  }

  private def forget(): Unit = {
    above = true
    size = 0
    rows = Array.emptyByteArray
    ends = Array.emptyIntArray
    slots = Array.emptyIntArray
  }

  def addAll(other: KeySet): Unit =
    if (other.above) forget()
    else {
      var i = 0
      while (i < other.size && !above) {
        val start = other.begin(i)
        add(other.rows, other.address(start), other.ends(i) - start)
        i += 1
      }
    }

  /** The values of the rows. They point into this set. */
  def values(dataType: DataType): Array[Any] = {
    val row = new UnsafeRow(1)
    Array.tabulate[Any](size) { i =>
      row.pointTo(rows, address(begin(i)), ends(i) - begin(i))
      row.get(0, dataType)
    }
  }

  /** The rows with their number and ends; no bytes for a set above the limits. */
  def toBytes: Array[Byte] =
    if (above) Array.emptyByteArray
    else {
      val end = begin(size)
      val bytes = ByteBuffer.allocate(4 + size * 4 + end)
      bytes.putInt(size)
      (0 until size).foreach(i => bytes.putInt(ends(i)))
      bytes.put(rows, 0, end).array
    }
}

private[dynamic] object KeySet {
  def of(bytes: Array[Byte], limits: CappedKeys.Limits): KeySet = {
    val set = new KeySet(limits)
    if (bytes.isEmpty) set.forget()
    else {
      val in = ByteBuffer.wrap(bytes)
      val size = in.getInt
      val first = Platform.BYTE_ARRAY_OFFSET.toLong + 4 + size * 4
      var start = 0
      (0 until size).foreach { _ =>
        val end = in.getInt
        set.add(bytes, first + start, end - start)
        start = end
      }
    }
    set
  }
}
