// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.nio.ByteBuffer
import java.util.Arrays
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression

import io.sparkzorder.index.{
  ByteStats,
  ByteValues,
  FileTable,
  IndexColumns,
  IndexedValues,
  LongStats,
  StatValues
}
import io.sparkzorder.skipping.values.{ComparisonDomain, Intervals, SingleValues}

/**
 * The result of looking up the values of one filter in an index of values.
 *
 * @param mayHave a bitmap of the files that may have one of the values; None if nothing was looked up
 * @param note why nothing was looked up, or why the lookup could not decide about some files
 */
private[predicate] final case class ValueLookup(mayHave: Option[Array[Long]], note: Option[String])

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

  /** The share of the files that a filter on one value keeps, on average. Files whose values are not known are kept. */
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
  private[predicate] def lookUp(wanted: Intervals, left: Array[Long]): ValueLookup = {
    val count = left.map(w => java.lang.Long.bitCount(w).toLong).sum
    SingleValues.of(wanted, domain, KnownValues.MostValues) match {
      case _ if count == 0 => ValueLookup(None, None)
      case None => ValueLookup(None, None)
      case Some(single) if single.size.toLong * values.parts.size > count =>
        val some = if (single.size == 1) "1 value" else s"${single.size} values"
        val reason = s"looking up $some would cost more than reading the $count files that are left"
        ValueLookup(None, Some(reason))
      case Some(single) =>
        try {
          val found = values.lookUp(single.hashes)
          def orOthers(w: Int, words: Long) = mayDiffer.foldLeft(words)((all, o) => all | o(w))
          val unknown = left.indices.map(w => left(w) & orOthers(w, ~found.covered(w)))
          val open = java.util.BitSet.valueOf(unknown.toArray)
          val count = Iterator.iterate(open.nextSetBit(0))(i => open.nextSetBit(i + 1))
            .takeWhile(_ >= 0).count(files.isLive)
          val note = if (count == 0) None else Some(s"values of $count files are not in the index")
          val mayHave = found.mayHave.indices.map(w => orOthers(w, found.mayHave(w)))
          ValueLookup(Some(mayHave.toArray), note)
        } catch {
          case e @ (_: OutOfMemoryError | _: LinkageError) => failed(e)
          case NonFatal(e) => failed(e)
        }
    }
  }

  private def failed(e: Throwable): ValueLookup = {
    KnownValues.report(values.parts.map(_.name).mkString(" ")) {
      logWarning(
        s"the values of $column in the index cannot be used; no file is skipped by them",
        e)
    }
    ValueLookup(None, Some(s"the values of $column in the index cannot be used: ${e.getMessage}"))
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
 * What an index knows about a column that a query may compare with many keys.
 *
 * @param columns data columns of the relation
 */
private[predicate] final class KeysInFiles(
    columns: TableColumns,
    index: IndexColumns,
    caseSensitive: Boolean) {
  import KeysInFiles._

  /**
   * How much of the range of a column's values one file covers, on average. This is the share of the
   * files that a query for one value reads, if values are spread evenly over the range. A query for k
   * scattered values reads a file of share s with probability `1 - (1 - s)^k`. If s is near 1, not even a
   * query for a single value prunes a file.
   *
   * @return None if the index cannot tell, or knows fewer than two files
   */
  def share(key: Expression): Option[Double] =
    key.collectFirst { case e if columns.find(e).isRight => e }
      .filter(_ => index.table.size > 1)
      .flatMap(domains)
      .map { column =>
        val byBounds = shareOf(column, index.table.sample(MaxSample))
        column.values.fold(byBounds)(known => math.min(byBounds, known.share))
      }

  /**
   * The least and the greatest value in the files that have bounds in the index.
   *
   * @return None if `key` is no column, if its bounds are bytes, or if no file has bounds of it in the index
   */
  def range(key: Expression): Option[(Long, Long)] =
    domains(key).flatMap(_.range).filterNot(_.isEmpty).map(r => (r.least, r.greatest))

  private def domains(column: Expression): Option[ColumnDomains] =
    columns.find(column).toOption.flatMap(new ColumnDomainsReader(index, caseSensitive)(_).toOption)
}

private object KeysInFiles {

  // an estimate needs no more files than this
  private val MaxSample = 1024

  /** @param files numbers of the files in the sample */
  private def shareOf(column: ColumnDomains, files: Seq[Int]): Double = {
    val bounded = files.filter(has(column, _, ColumnDomains.Bounded))
    val (min, max) = positions(column.min, column.max, bounded)
    if (bounded.isEmpty) 1.0
    else {
      val width = bounded.map(max).max - bounded.map(min).min
      val shares = files.map { i =>
        if (has(column, i, ColumnDomains.NoValues)) 0.0
        else if (!has(column, i, ColumnDomains.Bounded) || width <= 0) 1.0
        else (max(i) - min(i)) / width
      }
      shares.sum / files.size
    }
  }

  private def has(column: ColumnDomains, i: Int, bit: Int): Boolean =
    (column.info(i) & bit) != 0

  /** The positions of min and max on a number line, so that the widths of ranges can be compared. */
  private def positions(
      min: StatValues,
      max: StatValues,
      files: Seq[Int]): (Int => Double, Int => Double) = (min, max) match {
    case (LongStats(low), LongStats(high)) => (i => low(i).toDouble, i => high(i).toDouble)
    case (ByteStats(low), ByteStats(high)) =>
      val all = files.flatMap(i => Seq(low(i), high(i)))
      // bytes with which all values begin do not distinguish the values
      val shared = ByteValues.shared(all)
      (i => afterPrefix(low(i), shared), i => afterPrefix(high(i), shared))
    case _ => (_ => 0.0, _ => 0.0)
  }

  private def afterPrefix(value: Array[Byte], prefix: Int): Double = {
    val eight = Arrays.copyOfRange(value, prefix, prefix + 8)
    val signed = ByteBuffer.wrap(eight).getLong.toDouble
    if (signed < 0) signed + math.pow(2, 64) else signed
  }
}
