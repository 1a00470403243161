package io.sparkzorder.commands.optimize

import io.sparkzorder.commands.Phases
import io.sparkzorder.report.{PointQueries, ValueDistribution}
import io.sparkzorder.table.stats.{FileRange, Footer}

/** Puts the result row together from what the batches did, or would do. */
private[sparkzorder] final class ResultRow(
    p: Prepared,
    clauses: OptimizeClauses,
    phases: Phases,
    startMs: Long,
    source: String,
    done: Seq[(BatchPlan, Option[BatchOutcome])]) {

  private val plans = done.map(_._1)
  private val outcomes = done.flatMap(_._2)

  /** @param effort what a run would take; only of a DRY RUN */
  def build(reason: Option[String], effort: Option[PredictedEffort]): OptimizeResult = {
    val replaced = if (clauses.into.isDefined) Nil else plans.flatMap(_.inputs.files.map(_.length))
    val added =
      if (clauses.dryRun) plans.flatMap(_.expectedBytes)
      else outcomes.flatMap(_.added.map(_.file.length))
    val rewritten = plans.map(_.inputs.files.size.toLong).sum
    val gains = columns
    OptimizeResult(
      path = if (clauses.into.isDefined) clauses.into.get else source,
      added = added,
      removed = replaced,
      partitionsOptimized = partitions,
      batches = done.size.toLong,
      considered = p.files.files.size.toLong,
      skipped = p.files.files.size - rewritten,
      startMs = startMs,
      endMs = System.currentTimeMillis(),
      rows = plans.flatMap(_.footers).map(_.rows).sum,
      sampledRows = plans.map(_.sampledRows).sum,
      shuffleBytes = effort.fold(outcomes.map(_.shuffleBytes).sum)(_.shuffleBytes),
      publishMs = outcomes.map(_.publishMs).sum,
      retainedBytes = outcomes.flatMap(_.removed.map(_.length)).sum,
      retainedUntilMs = outcomes.flatMap(_.retainedUntilMs).reduceOption(_ max _),
      columns = gains,
      phases = phases.millis,
      dryRun = clauses.dryRun,
      reason = reason)
  }

  // a table without partition columns is one partition
  private def partitions: Long =
    plans.flatMap(pl => pl.folderOfFile.distinct.map(f => pl.inputs.folders(f).path)).distinct.size

  private def columns: Seq[ColumnGain] =
    p.columns.zipWithIndex.map { case (c, i) =>
      val values = ValueDistribution.of(plans.flatMap(_.weighted(i)))
      def mean(footers: Seq[Footer]) = PointQueries.meanFiles(
        FileRange.ofFooters(c, footers, p.session.sessionState.conf.resolver),
        values)
      val rewritten =
        if (clauses.dryRun) PointQueries.predicted(plans.flatMap(_.cells(i)), i, values)
        else mean(outcomes.flatMap(_.added))
      val stays = mean(kept)
      val before = mean(plans.flatMap(_.footers)) + stays
      ColumnGain(c.name, rounded(before), rounded(rewritten + stays), rounded(ideal))
    }

  /** Files of folders that are rewritten in part; a query of these folders reads them as well. */
  private lazy val kept: Seq[Footer] = {
    val taken = plans.flatMap(_.inputs.files.map(_.path)).toSet
    val folders = plans.flatMap(pl => pl.inputs.files.map(_.path.getParent)).toSet
    p.footers.filter(f => folders(f.file.path.getParent) && !taken(f.file.path))
  }

  // sums of many shares: no digits of rounding errors for users to wonder at
  private def rounded(files: Double): Double = math.rint(files * 1e6) / 1e6

  private def ideal: Double = {
    val stay = kept.groupBy(_.file.path.getParent).map { case (f, files) => f -> files.size }
    val perFolder = done.flatMap { case (plan, outcome) =>
      val files = outcome.map(_.added.map(_.file.folder)).getOrElse(plan.folderOfFile)
      files.groupBy(identity).map { case (f, own) =>
        own.size + stay.getOrElse(plan.inputs.folders(f).path, 0)
      }
    }
    PointQueries.ideal(perFolder, p.columns.size)
  }
}
