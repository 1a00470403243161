// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import scala.collection.mutable

import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.functions.{col, element_at, lit, typedLit}
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.ordering.{FixedOrder, LongBounds, OrderedType, SortedSample}
import io.sparkzorder.table.OrderingColumn

/** Samples the ordering columns of every folder in one pass. A ''key row'' has the values of these columns. */
private[sparkzorder] object Sampler {

  /**
   * Hashes of rows are taken from 0 until this number. A row is sampled if its hash is below the threshold of its
   * folder.
   */
  private val HashRange = 1L << 30

  /** The least number of rows to sample in a folder. Without it, a small folder might get no sampled row. */
  private val FolderFloor = 200L

  /**
   * The number of key rows to sample when no setting decides it: 200 per file, and 100,000 at least. With 200,
   * file sizes vary by a fourteenth of the mean. For more than 5,000 files, the sample has a million rows or 64
   * per file, whichever is more.
   */
  def rowsFor(files: Long): Long =
    Seq(100000L, math.min(200 * files, 1000000L), 64 * files).max

  /**
   * The sample of each folder. A small folder gives about 200 key rows, even if its share of `wanted` is less.
   *
   * @param rows the number of rows of each folder
   * @param wanted the number of key rows to sample in all folders together. Each folder gets its share, and at
   *   least about 200 rows or all its rows, so the sum can be greater
   */
  def sample(
      input: InputRows,
      columns: Seq[OrderingColumn],
      rows: IndexedSeq[Long],
      wanted: Long): IndexedSeq[FolderSample] = {
    val share = wanted.toDouble / math.max(1L, rows.sum)
    val thresholds = rows.map { r =>
      val floor = FolderFloor.toDouble / math.max(1L, r)
      math.min(HashRange.toDouble, math.ceil(math.max(share, floor) * HashRange)).toLong
    }
    val keys = columns.map(c => SparkLine.column(input.resolve(c.parts)))
    val folder = col(quoteIdentifier(input.folderColumn))
    val chosen =
      if (thresholds.forall(_ >= HashRange)) input.frame
      else {
        // a hash of the row's file and position, so that every attempt takes the same rows
        val position = input.rowHash.bitwiseAND(lit(HashRange - 1))
        val threshold =
          if (thresholds.distinct.size == 1) lit(thresholds.head)
          else element_at(typedLit(thresholds), folder + 1)
        input.frame.where(position < threshold)
      }
    val builders =
      rows.map(_ => columns.map(c => KeyColumn.newBuilder(c.dataType)).toArray)
    SparkPrivate.foreachInternal(chosen.select(folder +: keys: _*)) { row =>
      val ofFolder = builders(row.getInt(0))
      var c = 0
      while (c < ofFolder.length) {
        ofFolder(c).add(
          if (row.isNullAt(c + 1)) null else row.get(c + 1, columns(c).dataType))
        c += 1
      }
    }
    builders.map(b => FolderSample(b.map(_.result()).toIndexedSeq))
  }
}

/**
 * Sampled key rows of one folder, column by column.
 *
 * @param sizes the mean bytes of a value of each ordering column and of the rest of a row. The size of each sampled row
 *   is computed from these
 */
private[sparkzorder] final case class FolderSample(
    columns: IndexedSeq[KeyColumn],
    sizes: RowSizes = RowSizes.even) {
  def rows: Int = columns.headOption.map(_.rows).getOrElse(0)

  lazy val ranked: IndexedSeq[RankedColumn] = columns.map(_.ranked)

  /** A sample of at most `most` of these rows, taken at even steps. */
  def thinned(most: Int): FolderSample =
    if (rows <= most) this
    else {
      val kept = 0 until rows by (rows + most - 1) / most
      copy(columns = ranked.map(c => KeyColumn.pooled(Seq(c -> kept))))
    }
}

/**
 * The size that a row counts for when a folder is cut. Files should hold equally many bytes and equally
 * many rows. The two goals differ because rows with NULL in ordering columns are smaller, and the cuts
 * bring such rows together. So a row counts half as a row and half by its bytes.
 *
 * @param rest bytes of a row without the ordering columns
 * @param values bytes of a value of each ordering column; NULLs take none
 */
private[sparkzorder] final case class RowSizes(rest: Double, values: IndexedSeq[Double]) {
  import RowSizes._

  /** The size of each sampled row; a row without NULLs has 16 units. */
  def of(columns: IndexedSeq[RankedColumn]): Array[Int] = {
    val n = columns.head.rows
    val nullable = columns.indices.filter(c => c < values.length && columns(c).nulls > 0)
    val whole = rest + values.sum
    if (whole <= 0 || nullable.isEmpty) Array.fill(n)(Units)
    else {
      Array.tabulate(n) { r =>
        val missing = nullable.map(c => if (columns(c).ranks(r) == 0) values(c) else 0.0).sum
        math.round(Units * (1 - missing / whole / 2)).toInt
      }
    }
  }
}

private[sparkzorder] object RowSizes {
  private val Units = 16

  /** Every row as large as every other. */
  val even: RowSizes = RowSizes(1.0, IndexedSeq.empty)
}

/**
 * The values of one ordering column in the sampled rows of a folder, in the order of the rows. A
 * sample may have millions of rows, so a value of a type of fixed width is kept in eight bytes.
 */
private[sparkzorder] trait KeyColumn {
  def rows: Int

  /** The rank of every row; see [[RankedColumn]]. */
  def ranked: RankedColumn
}

/** Takes the values of a [[KeyColumn]] one by one. */
private[sparkzorder] sealed trait KeyColumnBuilder {

  /** @param value a Catalyst value, or null for NULL; copied if it may refer to the memory of a row */
  def add(value: Any): Unit
  def result(): KeyColumn
}

private[sparkzorder] object KeyColumn {

  /** Some rows of several samples of one column, as one sample. */
  def pooled(parts: Seq[(RankedColumn, Seq[Int])]): RankedColumn = {
    val dataType = parts.head._1.dataType
    val keys: Array[AnyRef] = parts.flatMap { case (column, rows) =>
      rows.map(r =>
        if (column.ranks(r) == 0) null else column.distinct.key(column.ranks(r) - 1))
    }.toArray
    val sorted = SortedSample.ofKeys(dataType, keys.filter(_ != null), null)
    val distinct = sorted.all
    val ranks = keys.map(k => if (k == null) 0 else 1 + (distinct.slotOfKey(k) >> 1))
    new RankedColumn(dataType, sorted, distinct, ranks)
  }

  def newBuilder(dataType: DataType): KeyColumnBuilder = OrderedType.require(dataType) match {
    case f: FixedOrder => new LongKeysBuilder(f)
    case _ => new ObjectKeysBuilder(dataType)
  }
}

private final class LongKeysBuilder(order: FixedOrder) extends KeyColumnBuilder {
  private val keys = new mutable.ArrayBuilder.ofLong
  private val nulls = new java.util.BitSet
  private var n = 0

  override def add(value: Any): Unit = {
    if (value == null) nulls.set(n) else keys += order.toLong(value)
    n += 1
  }

  override def result(): KeyColumn = new LongKeys(order, keys.result(), nulls, n)
}

/** @param keys the values that are not NULL, as ordered longs, in the order of the rows */
private final class LongKeys(
    order: FixedOrder,
    keys: Array[Long],
    nulls: java.util.BitSet,
    override val rows: Int)
    extends KeyColumn {

  override def ranked: RankedColumn = {
    val sorted = SortedSample.ofOrderedLongs(order, keys.clone())
    val distinct = sorted.all.asInstanceOf[LongBounds]
    val ranks = new Array[Int](rows)
    var next = 0
    var r = 0
    while (r < rows) {
      if (!nulls.get(r)) {
        ranks(r) = 1 + (distinct.slot(keys(next)) >> 1)
        next += 1
      }
      r += 1
    }
    new RankedColumn(order.dataType, sorted, distinct, ranks)
  }
}

private final class ObjectKeysBuilder(dataType: DataType) extends KeyColumnBuilder {
  private val values = new mutable.ArrayBuilder.ofRef[AnyRef]

  override def add(value: Any): Unit = values += (value match {
    case s: UTF8String => s.clone()
    case d: Decimal => d.clone()
    case other => other.asInstanceOf[AnyRef]
  })

  override def result(): KeyColumn = new ObjectKeys(dataType, values.result())
}

private final class ObjectKeys(dataType: DataType, values: Array[AnyRef]) extends KeyColumn {
  override def rows: Int = values.length

  override def ranked: RankedColumn = {
    val sorted = SortedSample(dataType, values.filter(_ != null).toArray[Any], null)
    val distinct = sorted.all
    val ranks = values.map(v => if (v == null) 0 else 1 + (distinct.slotOf(v) >> 1))
    new RankedColumn(dataType, sorted, distinct, ranks)
  }
}
