package io.sparkzorder.expressions.sampling

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}
import java.util.SplittableRandom

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * A sample of key rows, each standing for `weight` rows of the input.
 *
 * A task draws its own by reservoir sampling (Li's Algorithm L: a skipped row costs one comparison),
 * each row standing for `seen / size` rows. Samples of several tasks are joined, and thinned by
 * systematic sampling over their weights while they are too many. All draws are from a fixed seed, so
 * that a task that runs again gives the same sample.
 *
 * @param fields the number of columns of a key row
 * @param seed of the draws
 */
private[sparkzorder] final class KeySample(fields: Int, seed: Long) {
  import KeySample._

  private val random = new SplittableRandom(seed)
  private val reservoir = new ArrayBuffer[UnsafeRow]
  private var seen = 0L
  private var next = 0L
  private var spread = 1.0

  private var joinedRows = new ArrayBuffer[UnsafeRow]
  private var joinedWeights = new ArrayBuffer[Double]

  /** Counts one row of the input; true if it must be given to [[put]]. */
  def wantsNext(): Boolean = {
    seen += 1
    seen <= TaskRows || seen == next
  }

  /** Keeps the row that [[wantsNext]] wanted; it must not be changed any more. */
  def put(row: UnsafeRow): Unit = {
    if (reservoir.length < TaskRows) reservoir += row
    else reservoir(random.nextInt(TaskRows)) = row
    if (seen >= TaskRows) skip()
  }

  private def skip(): Unit = {
    spread *= math.exp(math.log(positive()) / TaskRows)
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
  def join(other: KeySample): Unit = {
    other.foreach { (row, weight) =>
      joinedRows += row
      joinedWeights += weight
    }
    if (joinedRows.length > 2 * MergedRows) thin()
  }

  /** Takes a row for every `step` of weight, so that every row stands for a multiple of `step`. */
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

  private def read(bytes: Array[Byte]): KeySample = {
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

private[sparkzorder] object KeySample {

  /** Rows that one task keeps: they travel to one reader. */
  val TaskRows = 10000

  /** Rows that the reader keeps of all tasks. */
  val MergedRows = 50000

  def fromBytes(fields: Int, seed: Long, bytes: Array[Byte]): KeySample =
    new KeySample(fields, seed).read(bytes)
}
