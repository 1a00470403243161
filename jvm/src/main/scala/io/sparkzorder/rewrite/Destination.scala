package io.sparkzorder.rewrite

import java.time.Instant

import org.apache.spark.internal.Logging

import io.sparkzorder.commands.{Phases, TableState, WhereClause}
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.TableLog
import io.sparkzorder.log.publish.{Checkpoints, Leftovers, Retention}
import io.sparkzorder.table.{DataFile, TableFiles}
import io.sparkzorder.table.stats.ScannedFile

/**
 * What a batch has written.
 *
 * @param added footers of the new files; the folder of a file is that of its inputs
 * @param removed files that are no longer in the table
 */
private[rewrite] final case class BatchOutcome(
    added: IndexedSeq[ScannedFile],
    removed: Seq[DataFile],
    shuffleBytes: Long,
    publishMs: Long,
    retainedUntilMs: Option[Long])

/**
 * Where the rewritten files go: [[InPlace]] of their inputs, or [[Into]] another directory. A
 * [[DryRun]] wraps either of the two and applies its rules, but writes nothing. The methods are
 * called in the order in which they stand here.
 */
private[rewrite] trait Destination {

  /** The directory that the result row names. */
  def path: String

  /** True when the inputs leave the table. */
  def replacesInputs: Boolean

  /** True when every file is rewritten, because a copy must be whole. */
  def takesAllFiles: Boolean

  /** Refuses a target that must not be touched, before anything is listed. */
  def check(): Unit

  /** True when a run was committed and is not published yet. */
  def isBehind: Boolean

  /** Brings the table to the state that its log describes. */
  def recover(): Unit

  /** Refuses a WHERE clause that the destination cannot follow. */
  def checkWhere(where: WhereClause, files: TableFiles): Unit

  /** Refuses files that must not be touched. */
  def checkListed(files: TableFiles): Unit

  /** Refuses to begin where the result cannot be written or has no room. */
  def checkRoom(batches: Seq[ScannedFiles]): Unit

  /** Writes one batch; None when nothing may be written. */
  def write(plan: BatchPlan, writer: BatchWriter): Option[BatchOutcome]

  /** Ends the statement after all batches. */
  def finish(inputs: RewriteInputs, outcomes: Seq[BatchOutcome]): Unit

  /** Cleans up after a failure; what fails here is added to `cause`. */
  def abandon(cause: Throwable): Unit
}

private[rewrite] object Destination {
  def of(
      table: TableState,
      clauses: OptimizeClauses,
      phases: Phases,
      startMs: Long): Destination = {
    val recovery = new Recovery(table, startMs)
    val real = clauses.into match {
      case Some(directory) => new Into(table, directory, recovery, phases)
      case None => new InPlace(table, recovery, phases)
    }
    if (clauses.dryRun) new DryRun(real) else real
  }
}

/** Checks whatever the real run would check, but recovers nothing and writes nothing. */
private[rewrite] final class DryRun(real: Destination) extends Destination {
  override def path: String = real.path
  override def replacesInputs: Boolean = real.replacesInputs
  override def takesAllFiles: Boolean = real.takesAllFiles
  override def check(): Unit = real.check()
  override def isBehind: Boolean = false
  override def recover(): Unit = ()
  override def checkWhere(where: WhereClause, files: TableFiles): Unit =
    real.checkWhere(where, files)
  override def checkListed(files: TableFiles): Unit = real.checkListed(files)
  override def checkRoom(batches: Seq[ScannedFiles]): Unit = ()
  override def write(plan: BatchPlan, writer: BatchWriter): Option[BatchOutcome] = None
  override def finish(inputs: RewriteInputs, outcomes: Seq[BatchOutcome]): Unit = ()
  override def abandon(cause: Throwable): Unit = ()
}

/** The second step of OPTIMIZE: finishes what earlier runs have left, before anything is listed. */
private[rewrite] final class Recovery(table: TableState, startMs: Long)
    extends Logging {

  /** True when a run was committed and is not published yet. */
  def isNeeded: Boolean = TableLog.read(table.state).unfinished.nonEmpty

  /**
   * Publishes committed runs. A copy needs this as well: in a half-published table some rows are
   * not in their folders.
   *
   * @return number of the last record that was published; 0 without any
   */
  def publish(): Long = {
    val log = TableLog.read(table.state)
    if (log.unfinished.nonEmpty) table.exchanging(table.rollForward())
    else table.rollForward()
    log.last
  }

  /** Deletes retained files whose time is over, and records that nothing needs any more. */
  def removeExpired(): Unit = {
    new Retention(table.state).removeExpired(startMs)
    new Checkpoints(table.state, startMs).writeIfDue()
  }

  /** Logs which other runs are under way, or have died. */
  def logOtherRuns(): Unit = {
    val leftovers = new Leftovers(table.state, startMs)
    val name = table.target.name
    leftovers.uncommitted.foreach { l =>
      if (leftovers.isOver(l, table.settings(Settings.Retention))) {
        logInfo(s"run ${l.run} on $name died; VACUUM LAYOUT removes its files: ${l.path}")
      } else {
        logWarning(s"another run is under way on $name, or died a short while ago: " +
          s"${l.run}, ${l.files} files written, the last at ${Instant.ofEpochMilli(l.sinceMs)}. " +
          "When both rewrite the same files, the one that commits first wins.")
      }
    }
  }
}
