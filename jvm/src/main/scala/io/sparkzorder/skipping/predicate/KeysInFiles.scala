// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.nio.ByteBuffer
import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.Expression

import io.sparkzorder.index.{ByteStats, IndexColumns, LongStats, StatValues}

/**
 * What an index says of a column by which a query may ask for many keys.
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
   * scattered values reads a file of share s with probability `1 - (1 - s)^k`. Where s is near 1, not
   * even a single value lets a file go.
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
   * @return None if `key` is no column, or a column whose bounds are bytes
   */
  def range(key: Expression): Option[(Long, Long)] =
    domains(key).flatMap(_.range).filterNot(_.isEmpty).map(r => (r.least, r.greatest))

  private def domains(column: Expression): Option[ColumnDomains] =
    columns.find(column).toOption.flatMap(new ColumnDomainsReader(index, caseSensitive)(_).toOption)
}

private object KeysInFiles {

  // so many files tell the average well enough
  private val MaxSample = 1024

  /** @param files numbers of the files that are looked at */
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

  /** The places of min and max on a line, where differences can be compared. */
  private def positions(
      min: StatValues,
      max: StatValues,
      files: Seq[Int]): (Int => Double, Int => Double) = (min, max) match {
    case (LongStats(low), LongStats(high)) => (i => low(i).toDouble, i => high(i).toDouble)
    case (ByteStats(low), ByteStats(high)) =>
      val all = files.flatMap(i => Seq(low(i), high(i)))
      // bytes with which all values begin tell none from another
      val shared = all.drop(1).foldLeft(all.headOption.fold(0)(_.length)) { (n, b) =>
        (0 until n).find(i => i >= b.length || b(i) != all.head(i)).getOrElse(n)
      }
      (i => afterPrefix(low(i), shared), i => afterPrefix(high(i), shared))
    case _ => (_ => 0.0, _ => 0.0)
  }

  private def afterPrefix(value: Array[Byte], prefix: Int): Double = {
    val eight = Arrays.copyOfRange(value, prefix, prefix + 8)
    val signed = ByteBuffer.wrap(eight).getLong.toDouble
    if (signed < 0) signed + math.pow(2, 64) else signed
  }
}
