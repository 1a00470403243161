// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{Expression, PredicateHelper}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.PartitionDirectory

import io.sparkzorder.skipping.predicate.{FilterOnBounds, TableColumns}
import io.sparkzorder.skipping.scan._

/**
 * The rows of SHOW SKIPPING of one scan of a Delta or Iceberg table.
 *
 * @param listed the files that the format reads for the filters that it knows while the query is planned
 * @param planned filters whose files are known while the query is planned, apart from those of the format
 * @param keys filters whose values are known when the query runs
 * @param dropped how many of the listed files a filter prunes
 */
private[index] final class FormatReport private (
    table: FormatTable,
    columns: TableColumns,
    listed: Long,
    planned: Seq[Expression],
    keys: Seq[Expression],
    dropped: Seq[Expression] => Long)
    extends PredicateHelper {

  def this(scan: FormatScanExec) =
    this(
      scan.table,
      FormatTable.columnsOf(scan.output),
      scan.table.files(scan.inner.inputPartitions.toArray),
      Nil,
      scan.keys,
      _ => 0L)

  def rows(number: Int): Seq[Row] = {
    val kept = listed - dropped(planned)
    val known = planned.flatMap(splitConjunctivePredicates).map { c =>
      val use = askedFor(c)
      val files = if (use.isUseful) Long.box(dropped(Seq(c))) else null
      row(number, kept, use, c, null, files)
    }
    val later = keys.map { key =>
      val (text, probe) = RuntimeFilters.probe(key)
      val reason = if (RuntimeFilters.isOn) FormatReport.AtRunTime else "skipping is off"
      row(number, kept, askedFor(probe), key, text, null, Some(reason))
    }
    known ++ later.distinct
  }

  private def askedFor(filter: Expression): FilterOnBounds = table.known(Seq(filter), columns)

  private def row(
      number: Int,
      kept: Long,
      use: FilterOnBounds,
      filter: Expression,
      text: String,
      files: java.lang.Long,
      reason: Option[String] = None): Row = {
    val conjunct = use.tested.head._1
    Row(
      number,
      table.name,
      listed,
      kept,
      Option(text).getOrElse(conjunct.predicate),
      RuntimeFilters.columnsOf(filter),
      use.isUseful,
      files,
      use.tested.flatMap(_._1.reason).headOption.orElse(reason).orNull)
  }
}

private[index] object FormatReport {
  private val AtRunTime = "its values are known when the query runs"

  /** None for a scan that is none of such a table, or that is left to its format. */
  def of(scan: FileSourceScanExec): Option[FormatReport] = scan.relation.location match {
    case ours: ZOrderFileIndex => ours.format.map { format =>
        val (keys, planned) = scan.dataFilters.partition(RuntimeFilters.isRuntime)
        val files = ours.unpruned(scan.partitionFilters, scan.dataFilters)
        def dropped(filters: Seq[Expression]): Long =
          count(files) - count(PrunedListing.of(files, format(filters)).directories)
        new FormatReport(format.table, format.columns, count(files), planned, keys, dropped)
      }
    case _ => None
  }

  private def count(directories: Seq[PartitionDirectory]): Long =
    directories.map(_.files.size.toLong).sum
}
