// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import io.sparkzorder.commands.Phases
import io.sparkzorder.report.{PointQueries, ValueDistribution}
import io.sparkzorder.sources.{BatchPlan, Effort, FormatFile, Rewritten, TableFormat}
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * What a batch did, or will do.
 *
 * @param replaced None in a DRY RUN
 */
private[rewrite] final case class BatchDone(plan: BatchPlan, replaced: Option[Rewritten])

/**
 * Builds the result row from the batches that were done or, in a DRY RUN, planned.
 *
 * @param effort of a real run; None unless this is a DRY RUN
 */
private[rewrite] final class RewriteReport(
    format: TableFormat,
    plan: RewritePlan,
    done: Seq[BatchDone],
    effort: Option[Effort]) {
  private val columns = plan.snapshot.columns
  private val considered = plan.snapshot.files
  private val plans = done.map(_.plan)
  private val replaced = done.flatMap(_.replaced)
  private val rewritten = plans.flatMap(_.files)

  def result(startMs: Long, phases: Phases, reasons: Seq[String]): OptimizeResult = {
    val gains = columns.indices.map(gain)
    OptimizeResult(
      path = format.resultPath,
      added = done.flatMap(d =>
        d.replaced.fold(d.plan.expectedBytes)(_.files.map(_.bytes))),
      removed = if (format.isCopy) Nil else rewritten.map(_.bytes),
      // the one folder of a table without partition columns counts as one partition
      partitionsOptimized = plans.flatMap(_.outputs).distinct.size.toLong,
      batches = done.size.toLong,
      considered = considered.size.toLong,
      skipped = considered.size.toLong - rewritten.size,
      startMs = startMs,
      endMs = System.currentTimeMillis(),
      rows = plans.map(_.rows.sum).sum,
      sampledRows = plans.map(_.sampledRows).sum,
      shuffleBytes = effort.fold(replaced.map(_.shuffleBytes).sum)(_.shuffleBytes),
      publishMs = replaced.map(_.publishMs).sum,
      retainedBytes = replaced.map(_.retainedBytes).sum,
      retainedUntilMs = replaced.flatMap(_.retainedUntilMs).reduceOption(_ max _),
      columns = gains,
      phases = phases.millis,
      dryRun = effort.isDefined,
      reason = reasons.reduceOption(_ + "; " + _))
  }

  private def gain(c: Int): ColumnGain = {
    val values = ValueDistribution.of(plans.flatMap(_.weighted(c)))
    def mean(files: Seq[FormatFile]): Double = {
      val ranges: Seq[Option[FileRange]] =
        files.filter(f => f.records > 0 || f.isUncounted).map(_.columns(c).range)
          .filter(_ != ColumnRange.Empty).map(_.bounds)
      PointQueries.meanFiles(ranges, values)
    }
    val stays = mean(kept)
    val after =
      if (effort.isDefined) PointQueries.predicted(plans.flatMap(_.cells(c)), c, values)
      else mean(replaced.flatMap(_.files))
    ColumnGain.rounded(columns(c).name, mean(rewritten) + stays, after + stays, ideal(c))
  }

  /**
   * The files that stay in folders of which other files are rewritten. A query of these folders
   * reads both kinds.
   */
  private lazy val kept: Seq[FormatFile] = {
    val (files, folders) = (rewritten.toSet, rewritten.map(_.folder).toSet)
    considered.filter(f => folders(f.folder) && !files(f))
  }

  private def ideal(c: Int): Double = {
    val stay = kept.groupBy(_.folder).map { case (f, files) => f -> files.size }
    val perFolder = done.flatMap { d =>
      val made = d.replaced.fold(d.plan.outputs)(_.files.map(_.folder))
      made.groupBy(identity).map { case (f, own) => own.size + stay.getOrElse(f, 0) }
    }
    val weights = plan.layout.weights
    val all = if (weights.isEmpty) columns.map(_ => 1.0) else weights
    PointQueries.ideal(perFolder, all.toIndexedSeq, c)
  }
}
