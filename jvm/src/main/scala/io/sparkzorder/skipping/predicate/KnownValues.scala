// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.types.DataType

import io.sparkzorder.index.{
  ColumnValues,
  DateLeaf,
  DecimalLeaf,
  FileTable,
  IndexColumns,
  IndexedColumn,
  IndexedValues,
  IntegerLeaf,
  LeafColumns,
  LeafType,
  LongStats,
  TimestampLeaf
}
import io.sparkzorder.skipping.values.{ComparisonDomain, Intervals, LongIntervals, SingleValues}

/**
 * What an index of values answers to one question.
 *
 * @param mayHave a bitmap of the files that may have one of the values; None if it was not asked
 * @param note why it was not asked, or why it says less than it might
 */
private[predicate] final case class AskedValues(mayHave: Option[Array[Long]], note: Option[String])

/**
 * The index of a column's values, for filters that ask for single values.
 *
 * @param column the column's name
 * @param domain in which the filters compare
 * @param files the entries of the index of the table
 * @param others bitmaps of files that may have other values than those of the index
 */
private[sparkzorder] final class KnownValues(
    column: String,
    values: IndexedValues,
    domain: ComparisonDomain,
    files: => FileTable,
    others: => Seq[Array[Long]])
    extends Logging {
  private lazy val mayDiffer = others

  /** The share of the files that one value keeps, on average. */
  def share: Double = {
    val live = math.max(1, files.lengths.count(_ != FileTable.Gone)).toDouble
    val unknown = math.max(0.0, live - values.files)
    math.min(1.0, (values.filesOfValue + unknown) / live)
  }

  /**
   * Looks the values of a filter up. An error keeps all files.
   *
   * @param left the files that the bounds leave
   */
  private[predicate] def ask(wanted: Intervals, left: Array[Long]): AskedValues = {
    val count = left.map(w => java.lang.Long.bitCount(w).toLong).sum
    SingleValues.of(wanted, domain, KnownValues.MostValues) match {
      case _ if count == 0 => AskedValues(None, None)
      case None => AskedValues(None, None)
      case Some(single) if single.size.toLong * values.parts.size > count =>
        val keys = if (single.size == 1) "1 key" else s"${single.size} keys"
        AskedValues(
          None,
          Some(s"$keys would cost more than the $count files that are left"))
      case Some(single) =>
        try {
          val found = values.lookUp(single.hashes)
          def orOthers(w: Int, words: Long) = mayDiffer.foldLeft(words)((all, o) => all | o(w))
          val unknown = left.indices.map(w => left(w) & orOthers(w, ~found.covered(w)))
          val open = java.util.BitSet.valueOf(unknown.toArray)
          val count = Iterator.iterate(open.nextSetBit(0))(i => open.nextSetBit(i + 1))
            .takeWhile(_ >= 0).count(files.isLive)
          val note =
            if (count == 0) None
            else Some(s"values of $count files are not in the index")
          val mayHave = found.mayHave.indices.map(w => orOthers(w, found.mayHave(w)))
          AskedValues(Some(mayHave.toArray), note)
        } catch {
          case e @ (_: OutOfMemoryError | _: LinkageError) => failed(e)
          case NonFatal(e) => failed(e)
        }
    }
  }

  private def failed(e: Throwable): AskedValues = {
    KnownValues.report(values.parts.map(_.name).mkString(" ")) {
      logWarning(
        s"the values of $column in the index cannot be used; no file is skipped by them",
        e)
    }
    AskedValues(None, Some(s"the values of $column in the index cannot be used: ${e.getMessage}"))
  }
}

private[predicate] object KnownValues {

  /** More values than these are not looked up. */
  val MostValues = 100000

  private val MaxReported = 1000
  private val reported = ConcurrentHashMap.newKeySet[String]()

  private def report(parts: String)(log: => Unit): Unit =
    if (reported.size < MaxReported && reported.add(parts)) log
}

/**
 * The values of a column for which a predicate on it may be true: the predicate is tested on a file of which
 * nothing is known.
 */
private[sparkzorder] final class ValuesOfColumn(columns: TableColumns) {

  /**
   * None if the values are not known, if they are no whole numbers, or if a row matches where the
   * column is NULL.
   *
   * @param predicate with one column
   */
  def apply(predicate: Expression): Option[LongIntervals] =
    predicate.references.toSeq match {
      case Seq(a) => leafType(a.dataType).flatMap { leaf =>
          val index = new UnknownFile(a, leaf)
          val test = new PredicateCompiler(columns, new ColumnDomainsReader(index, true))(predicate)
          test match {
            case t: IntervalTest if !t.ofNulls && !t.hasNaN =>
              t.intervals match {
                case longs: LongIntervals => Some(longs)
                case _ => None
              }
            case _ => None
          }
        }
      case _ => None
    }

  private def leafType(t: DataType): Option[LeafType] = LeafType.ofValues(t) match {
    case leaf @ (_: IntegerLeaf | DateLeaf | _: TimestampLeaf) => Some(leaf)
    case leaf: DecimalLeaf if leaf.inLongs => Some(leaf)
    case _ => None
  }

  private final class UnknownFile(column: Attribute, leaf: LeafType) extends IndexColumns {
    override val indexed: IndexedSeq[IndexedColumn] =
      IndexedSeq(IndexedColumn(Seq(column.name), leaf))
    override val shapes: IndexedSeq[LeafColumns] = IndexedSeq(LeafColumns(Seq(Seq(column.name))))
    override def table: FileTable = ValuesOfColumn.oneFile
    override def column(number: Int): ColumnValues =
      ColumnValues(Array(-1L), Array[Byte](0), LongStats(Array(0L)), LongStats(Array(0L)))
  }
}

private object ValuesOfColumn {
  private val oneFile: FileTable = {
    val paths = new io.sparkzorder.index.ByteValues.Builder(1)
    paths.add(Array[Byte]('f'))
    FileTable(paths.result(), Array(1L), Array(0L), Array(1L), Array(0))
  }
}
