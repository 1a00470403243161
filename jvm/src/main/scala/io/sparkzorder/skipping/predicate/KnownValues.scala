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
 * The result of looking up the values of one filter in an index of values.
 *
 * @param mayHave a bitmap of the files that may have one of the values; None if nothing was looked up
 * @param note why nothing was looked up, or why the lookup could not decide about some files
 */
private[predicate] final case class AskedValues(mayHave: Option[Array[Long]], note: Option[String])

/**
 * The index of the values of one column, for filters that ask for single values.
 *
 * @param column the name of the column
 * @param domain the comparison domain of the filters
 * @param files the file entries of the skipping index of the table
 * @param others bitmaps of files that may have values that the index of values does not have
 */
private[sparkzorder] final class KnownValues(
    column: String,
    values: IndexedValues,
    domain: ComparisonDomain,
    files: => FileTable,
    others: => Seq[Array[Long]])
    extends Logging {
  private lazy val mayDiffer = others

  /** The share of the files that a filter on one value keeps, on average. */
  def share: Double = {
    val live = math.max(1, files.lengths.count(_ != FileTable.Gone)).toDouble
    val unknown = math.max(0.0, live - values.files)
    math.min(1.0, (values.filesOfValue + unknown) / live)
  }

  /**
   * Looks up the values of a filter. If the lookup fails, all files are kept.
   *
   * @param left a bitmap of the files that min and max have not excluded
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

  /** A filter with more values than this is not looked up. */
  val MostValues = 100000

  private val MaxReported = 1000
  private val reported = ConcurrentHashMap.newKeySet[String]()

  private def report(parts: String)(log: => Unit): Unit =
    if (reported.size < MaxReported && reported.add(parts)) log
}

/**
 * The values of a column for which a predicate on this column may be true. They are found by compiling the
 * predicate for an imaginary file about whose values nothing is known.
 */
private[sparkzorder] final class ValuesOfColumn(columns: TableColumns) {

  /**
   * The values in the comparison domain of the column. None if the predicate has no test by intervals, if
   * the domain is not one of longs, or if a row may match where the column is NULL or NaN.
   *
   * @param predicate a predicate on one column
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
