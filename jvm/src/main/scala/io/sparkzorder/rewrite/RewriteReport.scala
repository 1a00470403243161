// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import io.sparkzorder.commands.Phases
import io.sparkzorder.report.{PointQueries, ValueDistribution}
import io.sparkzorder.sources.{BatchPlan, Effort, FormatFile, FormatFolder, Rewritten, TableFormat}
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * What a batch did, or will do.
 *
 * @param replaced None in a DRY RUN
 */
private[rewrite] final case class BatchDone(plan: BatchPlan, replaced: Option[Rewritten])

/** One listing of the table, and the batches that were done by it. */
private[rewrite] final case class Round(plan: RewritePlan, done: Seq[BatchDone])

/**
 * Builds the result row from the batches that were done or, in a DRY RUN, planned. Files between two passes
 * count neither as added nor as removed.
 *
 * @param rounds at least one
 * @param effort of a real run; None unless this is a DRY RUN
 */
private[rewrite] final class RewriteReport(
    format: TableFormat,
    rounds: Seq[Round],
    effort: Option[Effort]) {
  private val plan = rounds.head.plan
  private val done = rounds.flatMap(_.done)
  private val columns = plan.snapshot.columns
  private val considered = plan.snapshot.files
  private val plans = done.map(_.plan)
  private val replaced = done.flatMap(_.replaced)

  private val rewritten: Seq[FormatFile] =
    if (rounds.size == 1) plans.flatMap(_.files)
    else {
      val before = considered.map(_.path).toSet
      plans.flatMap(_.files).filter(f => before(f.path))
    }

  /** New files that are still there when the statement ends, by their batches. */
  private val added: Seq[(BatchPlan, Option[IndexedSeq[FormatFile]])] = {
    val gathered = rounds.drop(1).flatMap(_.done).flatMap(_.plan.files).flatMap(_.dealt).toSet
    done.map { d =>
      d.plan -> d.replaced.map { r =>
        if (r.dealt.isEmpty) r.files
        else r.files.zip(r.dealt).collect { case (f, to) if !gathered(to) => f }
      }
    }
  }

  private val newFiles: Seq[FormatFile] = added.flatMap(_._2).flatten

  /** Two folders of one listing may have one name, and each listing has its own folders. */
  private def keyOf(folder: FormatFolder): Any = if (rounds.size == 1) folder else folder.name

  def result(startMs: Long, phases: Phases, reasons: Seq[String]): OptimizeResult = {
    val gains = columns.indices.map(gain)
    OptimizeResult(
      path = format.resultPath,
      added = added.flatMap { case (p, files) => files.fold(p.expectedBytes)(_.map(_.bytes)) },
      removed = if (format.isCopy) Nil else rewritten.map(_.bytes),
      // the one folder of a table without partition columns counts as one partition
      partitionsOptimized = plans.flatMap(_.outputs).map(keyOf).distinct.size.toLong,
      batches = done.size.toLong + plan.predicted,
      considered = considered.size.toLong,
      skipped = considered.size.toLong - rewritten.size,
      startMs = startMs,
      endMs = System.currentTimeMillis(),
      rows = if (rounds.size == 1) plans.map(_.rows.sum).sum else rewritten.map(_.records).sum,
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
      else mean(newFiles)
    ColumnGain.rounded(columns(c).name, mean(rewritten) + stays, after + stays, ideal(c))
  }

  /**
   * The files that stay in folders of which other files are rewritten. A query of these folders
   * reads both kinds.
   */
  private lazy val kept: Seq[FormatFile] = {
    val (files, folders) = (rewritten.toSet, rewritten.map(f => keyOf(f.folder)).toSet)
    considered.filter(f => folders(keyOf(f.folder)) && !files(f))
  }

  private def ideal(c: Int): Double = {
    val stay = kept.groupBy(f => keyOf(f.folder)).map { case (f, files) => f -> files.size }
    val made = added.flatMap { case (p, files) => files.fold(p.outputs)(_.map(_.folder)) }
    val perFolder = made.groupBy(keyOf).map { case (f, own) =>
      own.size + stay.getOrElse(f, 0)
    }.toSeq
    val weights = plan.layout.weights
    val all = if (weights.isEmpty) columns.map(_ => 1.0) else weights
    PointQueries.ideal(perFolder, all.toIndexedSeq, c)
  }
}
