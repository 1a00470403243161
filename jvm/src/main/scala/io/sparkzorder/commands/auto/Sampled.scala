// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import io.sparkzorder.cluster.{CutGoal, Sampler}
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.workload.Workload

/**
 * A sample of the columns by which recorded scans can skip files.
 *
 * @param values number of distinct values of each column in the sample
 * @param files number of files that a layout of the whole table would have
 * @param bytes of all files
 */
private[sparkzorder] final case class Sampled private (
    columns: IndexedSeq[OrderingColumn],
    values: IndexedSeq[Int],
    files: Int,
    bytes: Long,
    queries: RecordedQueries,
    reads: PredictedReads)

private[sparkzorder] object Sampled {
  // sets of more columns are too many to be judged
  val MaxColumns = 8
  private val MinSample = 20000L
  private val RowsPerFile = 100L
  // rows of some columns in the memory of the driver
  private val MaxSample = 1000000L

  /** How many rows to sample for that many files. */
  def rowsFor(files: Long): Long = math.max(MinSample, math.min(MaxSample, RowsPerFile * files))

  /** How many files folders of so many rows get. */
  def filesOf(rows: Seq[Long], targets: Seq[Double]): Long =
    rows.zip(targets).map { case (r, t) => math.ceil(r / t).toLong }.sum

  /**
   * @param folders at least one
   * @param bytes of all files
   * @param isWhole true if one batch lays out the whole table: only then do cuts follow the recorded queries
   */
  def of(
      columns: IndexedSeq[OrderingColumn],
      folders: IndexedSeq[SampledFolder],
      workload: Workload,
      bytes: Long,
      isWhole: Boolean): Sampled = {
    val files = filesOf(folders.map(_.rows), folders.map(_.targetRows))
    val queries =
      new RecordedQueries(workload, columns.map(_.parts.head), folders.map(_.files.size).sum)
    // as OPTIMIZE does for the whole table
    val cutByQueries = isWhole && Sampler.rowsFor(files) <= CutGoal.MaxRowsForQueries
    new Sampled(
      columns,
      columns.indices.map(c => folders.map(_.ranked(c).sorted.weights.length).max),
      math.max(1L, files).toInt,
      bytes,
      queries,
      new PredictedReads(columns, folders, queries, cutByQueries))
  }
}
