// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.functions.{col, count => rowCount, lit}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.cluster.MapTasks
import io.sparkzorder.commands.{Permissions, Phases, TableState}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.sources._
import io.sparkzorder.sources.plain.PlainFormat
import io.sparkzorder.table.Target

/** What OPTIMIZE rewrites, after the table has been looked up. */
private[sparkzorder] sealed trait OptimizeTarget {
  def name: String
}

/** A table of plain files. */
private[sparkzorder] final case class PlainTable(target: Target) extends OptimizeTarget {
  override def name: String = target.name
}

/**
 * A Delta or Iceberg table.
 *
 * @param ownStatement the format's own statement for the same purpose
 */
private[sparkzorder] final case class FormatTable(format: TableFormat, ownStatement: String)
    extends OptimizeTarget {
  override def name: String = format.name
}

/**
 * The OPTIMIZE statement as a command, after its target has been resolved. EXPLAIN shows this
 * command and does not run it.
 *
 * @see [[RewriteRunner]] for what the statement does
 */
private[sparkzorder] final case class OptimizeCommand(
    target: OptimizeTarget,
    where: Option[WherePredicate],
    clauses: OptimizeClauses)
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(OptimizeResult.schema)

  override def simpleString(maxFields: Int): String = clauses.describe(target.name, where)

  override def run(session: SparkSession): Seq[Row] =
    Permissions.namingDenials(s"OPTIMIZE of ${target.name}") {
      val user = SparkLine.session(session)
      val (format, own) = target match {
        case PlainTable(plain) =>
          val table = new TableState(user, plain, clauses.options)
          (new PlainFormat(table, clauses.into), "")
        case FormatTable(format, own) => (format, own)
      }
      Seq(new RewriteRunner(user, format, where.map(_.condition), clauses, own).run().toRow)
    }
}

/**
 * Executes one OPTIMIZE statement: check, recover, plan; then, for each batch: count, plan and replace; then
 * report. [[TableFormat]] has the steps that differ between plain, Delta and Iceberg tables.
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

  /** The number of batches that the statement has committed. */
  private var committed = 0

  final def run(): OptimizeResult = format.inSession(user) { session =>
    try steps(session)
    catch {
      case e: Throwable =>
        val told = e match {
          // INTO removes what it has written
          case z: ZOrderException if committed > 0 && !format.isCopy => z.besides(committed)
          case other => other
        }
        if (!clauses.dryRun) format.abandon(told)
        throw told
    }
  }

  private def steps(session: Session): OptimizeResult = {
    val statement = phases("check") {
      val settings = format.settings(user, clauses.options)
      val s = Statement(user, session, settings, where, clauses, ownStatement, phases)
      format.check(s)
      s
    }
    def planner() = new RewritePlanner(format, statement, startMs)
    if (!clauses.dryRun) {
      // a statement that will be refused must be refused before it publishes an earlier run
      if (phases("list")(format.isBehind)) planner().plan()
      phases("list")(format.recover())
    }
    execute(planner(), statement)
  }

  private def execute(planner: RewritePlanner, statement: Statement): OptimizeResult = {
    val plan = planner.plan()
    val mapTasks = new MapTasks(statement.session)
    val rounds = ArrayBuffer(Round(plan, batches(plan, statement, mapTasks)))
    // If the first round was a first pass, the second pass follows as the next round. If a region is still too large,
    // further rounds divide the region by two passes of its own.
    while (!clauses.dryRun && rounds.last.plan.planned.goesOn && rounds.last.done.nonEmpty) {
      val next = planner.next(rounds.last.plan)
      rounds += Round(next, batches(next, statement, mapTasks))
    }
    if (!clauses.dryRun && where.isEmpty) forgetOldPlans(rounds.last.plan, statement)
    report(rounds.toSeq)
  }

  private def batches(
      plan: RewritePlan,
      statement: Statement,
      mapTasks: MapTasks): Seq[BatchDone] = {
    plan.planned.plans.foreach(p => plan.snapshot.plans.foreach(_.write(p)))
    val conflicts = ArrayBuffer.empty[ZOrderException]
    val done = plan.batches.zipWithIndex.flatMap { case (batch, i) =>
      val number = s"batch ${i + 1} of ${plan.batches.size}"
      logInfo(s"OPTIMIZE $name: $number, ${batch.describe}")
      try {
        val made = phases.part(batch.pass.number.map(n => s"pass $n of 2, $number")) {
          rewrite(plan, batch, statement.session, mapTasks)
        }
        if (batch.pass == OnePass || clauses.dryRun) made
        else {
          // without a retention, replaced files need not stay until the end of the pass
          if (statement.settings(Settings.Retention) == 0L) plan.snapshot.free()
          made.map(b => b.copy(plan = b.plan.thinned))
        }
      } catch {
        // the other batches of two passes do not depend on this one
        case e: ZOrderException if e.isConflict && batch.pass != OnePass =>
          logWarning(s"OPTIMIZE $name: batch ${i + 1} has changed nothing: ${e.getMessage}")
          conflicts += e
          None
      }
    }
    if (!clauses.dryRun) {
      plan.snapshot.finish(done.flatMap(_.replaced), statement)
      conflicts.headOption.foreach { first =>
        conflicts.tail.foreach(first.addSuppressed)
        throw first
      }
      forgetPlans(plan)
    }
    done
  }

  /** Removes the plans whose second pass is complete. */
  private def forgetPlans(plan: RewritePlan): Unit = {
    val passes = plan.batches.map(_.pass)
    val open = passes.collect { case Deal(id, _) => id }.toSet
    val ended = passes.collect { case Gather(id) if !open(id) => id }.distinct
    plan.snapshot.plans.foreach(plans => ended.foreach(plans.remove))
  }

  /** Removes the plans to which no file of the table refers. */
  private def forgetOldPlans(last: RewritePlan, statement: Statement): Unit = {
    val used = last.plans ++ last.snapshot.files.flatMap(_.dealt).map(_.plan)
    last.snapshot.plans.foreach(_.removeUnused(used, statement.settings(Settings.Retention)))
  }

  /**
   * Runs a step of planning that reads files. In two passes, a failure because a file was changed since it was listed
   * becomes a conflict, which ends only the batch of the file. With one pass, the failure is thrown as it is.
   */
  private def reading[T](plan: RewritePlan, batch: Batch)(body: => T): T =
    try body
    catch {
      case NonFatal(e) if batch.pass != OnePass && !e.isInstanceOf[ZOrderException] =>
        throw plan.snapshot.changed(batch.files).fold(e)(f =>
          ZOrderErrors.conflict(name, s"$f was removed or overwritten", Some(e)))
    }

  /** Plans a batch and, without DRY RUN, replaces its files. None if there is nothing to write. */
  private def rewrite(
      plan: RewritePlan,
      chosen: Batch,
      session: Session,
      mapTasks: MapTasks): Option[BatchDone] = {
    val begun = System.nanoTime()
    val counted = reading(plan, chosen)(count(plan.snapshot, session, chosen.files))
    // a folder without any row is left unchanged, because there is nothing to write
    val files = plan.planner.rewritable(chosen.files.filter(f => counted(f.folder) > 0))
    if (files.isEmpty) None
    else {
      val rows = plan.snapshot.rows(session, files)
      try {
        val batch = reading(plan, chosen) {
          plan.planner.plan(rows, rows.folders.map(counted), chosen.pass)
        }.copy(millis = (System.nanoTime() - begun) / 1000000L)
        val replaced =
          if (clauses.dryRun) None
          else {
            batch.grid.foreach(g => mapTasks.limit(batch.rows.sum, batch.bytes, g.files))
            val made = rows.replace(batch, plan.layout, phases)(guard(batch, _))
            committed += 1
            Some(made)
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
          s"$rows rows were written for $expected rows of the partition '$folder'")
      }
    }
  }

  /**
   * The number of rows of each folder, from the counts of the format. Files whose remaining rows the format
   * has not counted are read.
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
      val counted = input.frame.groupBy(col(input.folderColumn)).agg(rowCount(lit(1))).collect()
        .map(r => input.folders(r.getInt(0)) -> r.getLong(1)).toMap
      // The reader that counts here also reads for the write. If it left rows out, both numbers would
      // agree, so the count is compared with the metadata of the files.
      files.groupBy(_.folder).foreach { case (folder, own) =>
        val found = counted.getOrElse(folder, 0L)
        val (least, most) = (own.map(_.leastRecords).sum, own.map(_.storedRecords).sum)
        val isMostKnown = own.forall(_.storedRecords > 0)
        if (found < least || isMostKnown && found > most) {
          throw ZOrderErrors.verificationFailed(
            name,
            s"$found rows were read of the partition '$folder', whose files have $least to $most")
        }
      }
      counted
    } finally input.close()
  }

  private def report(rounds: Seq[Round]): OptimizeResult = {
    val Round(plan, done) = rounds.head
    val snapshot = plan.snapshot
    val plans = done.map(_.plan)
    val effort = if (clauses.dryRun) Some(snapshot.effort(plans)) else None
    val nothing =
      if (snapshot.files.isEmpty) {
        Some(
          if (snapshot.leftOut.nonEmpty) "no file can be laid out"
          else if (where.isEmpty) "there are no data files"
          else "WHERE chooses no data files")
      } else if (plan.selected.nonEmpty && done.isEmpty) Some(plan.planner.nothingToDo)
      else None
    val files = nothing.fold(plan.reasons.files)(Seq(_))
    val reasons = plan.reasons.order.toSeq ++ files ++ plan.reasons.size ++ passes(rounds) ++
      snapshot.changes(plans, plan.selected) ++ effort.flatMap(_.text) ++ snapshot.leftOut
    new RewriteReport(format, rounds, effort).result(startMs, phases, reasons)
  }

  /** What the report says of folders that are laid out in two passes. */
  private def passes(rounds: Seq[Round]): Seq[String] = {
    val passes = rounds.flatMap(_.plan.batches).flatMap(_.pass.number)
    val first = passes.count(_ == 1)
    val second = passes.size - first
    val told =
      if (passes.isEmpty || clauses.dryRun) None
      else {
        Some(
          s"a folder is larger than batchSize: $first batches have dealt its rows to regions, and " +
            s"$second have laid regions out")
      }
    rounds.head.plan.planned.reasons ++ told
  }
}
