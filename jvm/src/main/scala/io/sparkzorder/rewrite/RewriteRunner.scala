// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.functions.{col, count => rowCount, lit}
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.cluster.DealingTasks
import io.sparkzorder.commands.Phases
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources._

/**
 * Executes one OPTIMIZE statement: check, recover, plan, then count, plan and replace each batch, and
 * report. What differs between tables is in [[TableFormat]].
 *
 * @param ownStatement the format's own statement for the same purpose, for messages
 */
private[sparkzorder] class RewriteRunner(
    user: Session,
    format: TableFormat,
    where: Option[Expression],
    clauses: OptimizeClauses,
    ownStatement: String = "")
    extends Logging {

  private val startMs = System.currentTimeMillis()
  private val name = format.name
  private val phases = new Phases(user.sparkContext, s"OPTIMIZE $name")

  final def run(): OptimizeResult = format.inSession(user) { session =>
    try steps(session)
    catch {
      case e: Throwable =>
        if (!clauses.dryRun) format.abandon(e)
        throw e
    }
  }

  private def steps(session: Session): OptimizeResult = {
    val statement = phases("check") {
      val settings = format.settings(user, clauses.options)
      val s = Statement(user, session, settings, where, clauses, ownStatement, phases)
      format.check(s)
      s
    }
    def plan() = new RewritePlanner(format, statement, startMs).plan()
    if (!clauses.dryRun) {
      // whatever is refused is refused before a run of before is published
      if (phases("list")(format.isBehind)) plan()
      phases("list")(format.recover())
    }
    execute(plan(), statement)
  }

  private def execute(plan: RewritePlan, statement: Statement): OptimizeResult = {
    val dealing = new DealingTasks(statement.session)
    val done = plan.batches.zipWithIndex.flatMap { case (files, i) =>
      logInfo(s"OPTIMIZE $name: batch ${i + 1} of ${plan.batches.size}, ${files.size} files in " +
        s"${files.map(_.folder).distinct.size} folders")
      rewrite(plan, files, statement.session, dealing)
    }
    if (!clauses.dryRun) plan.snapshot.finish(done.flatMap(_.replaced), statement)
    report(plan, done)
  }

  /** None if there is nothing to write. */
  private def rewrite(
      plan: RewritePlan,
      chosen: IndexedSeq[FormatFile],
      session: Session,
      dealing: DealingTasks): Option[BatchDone] = {
    val begun = System.nanoTime()
    val counted = count(plan.snapshot, session, chosen)
    // a folder without any row is left as it is: there is nothing to write in its place
    val files = plan.planner.rewritable(chosen.filter(f => counted(f.folder) > 0))
    if (files.isEmpty) None
    else {
      val rows = plan.snapshot.rows(session, files)
      try {
        val batch = plan.planner.plan(rows, rows.folders.map(counted))
          .copy(millis = (System.nanoTime() - begun) / 1000000L)
        val replaced =
          if (clauses.dryRun) None
          else {
            batch.grid.foreach(g => dealing.limit(batch.rows.sum, batch.bytes, g.files))
            Some(rows.replace(batch, plan.layout, phases)(guard(batch, _)))
          }
        Some(BatchDone(batch, replaced))
      } finally rows.close()
    }
  }

  /** Refuses a commit unless every folder has as many rows as before. */
  protected def guard(batch: BatchPlan, written: IndexedSeq[FormatFile]): Unit = {
    val found = written.groupBy(_.folder).map { case (f, own) => f -> own.map(_.records).sum }
    batch.folders.zip(batch.rows).foreach { case (folder, expected) =>
      val rows = found.getOrElse(folder, 0L)
      if (rows != expected) {
        throw ZOrderErrors.verificationFailed(
          name,
          s"$rows rows were written for $expected of the partition '$folder'")
      }
    }
  }

  /**
   * Rows of each folder: by the format's own counts, or by a pass over the files of which the format
   * does not know how many rows are left.
   */
  private def count(
      snapshot: TableSnapshot,
      session: Session,
      files: IndexedSeq[FormatFile]): Map[FormatFolder, Long] = {
    val (uncounted, whole) = files.partition(_.isUncounted)
    val counts = whole.groupBy(_.folder).map { case (f, own) => f -> own.map(_.records).sum }
    val read =
      if (uncounted.isEmpty) Map.empty[FormatFolder, Long]
      else phases("count")(readCounts(snapshot, session, uncounted))
    files.map(_.folder).distinct
      .map(f => f -> (counts.getOrElse(f, 0L) + read.getOrElse(f, 0L))).toMap
  }

  private def readCounts(
      snapshot: TableSnapshot,
      session: Session,
      files: IndexedSeq[FormatFile]): Map[FormatFolder, Long] = {
    val input = snapshot.rows(session, files)
    try {
      input.frame.groupBy(col(input.folderColumn)).agg(rowCount(lit(1))).collect()
        .map(r => input.folders(r.getInt(0)) -> r.getLong(1)).toMap
    } finally input.close()
  }

  private def report(plan: RewritePlan, done: Seq[BatchDone]): OptimizeResult = {
    val snapshot = plan.snapshot
    val plans = done.map(_.plan)
    val effort = if (clauses.dryRun) Some(snapshot.effort(plans)) else None
    val nothing =
      if (snapshot.files.isEmpty) {
        Some(if (where.isEmpty) "there are no data files" else "WHERE chooses no data files")
      } else if (plan.selected.nonEmpty && done.isEmpty) Some(plan.planner.nothingToDo)
      else None
    val files = nothing.fold(plan.reasons.files)(Seq(_))
    val reasons = plan.reasons.order.toSeq ++ files ++ plan.reasons.size ++
      snapshot.changes(plans, plan.selected) ++ effort.flatMap(_.text) ++ snapshot.leftOut
    new RewriteReport(format, plan, done, effort).result(startMs, phases, reasons)
  }
}
