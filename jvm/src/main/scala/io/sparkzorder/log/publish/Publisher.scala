package io.sparkzorder.log.publish

import scala.annotation.tailrec

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.log.{
  FolderChange,
  Intents,
  Record,
  RunFolder,
  Stage,
  StateDirectory,
  TableLog,
  UnfinishedRun
}
import io.sparkzorder.util.ManyFiles

/** Publishes committed runs, or abandons them, folder by folder; see [[RunFolder]]. */
private[sparkzorder] final class Publisher(state: StateDirectory) extends Logging {

  /**
   * Publishes record `number`.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_LOST when the table was overwritten
   *   meanwhile; ZORDER_PUBLISH_CONFLICT when another program changed a folder after the commit: the
   *   other folders are published, and in this one the old files are visible again
   */
  def publish(number: Long, record: Record): Unit = {
    val run = new OpenRun(number, record)
    run.end(ManyFiles.map(record.changes)(run.publish).flatten)
  }

  /** Puts every folder that is not published back to its inputs. */
  def abandon(number: Long, record: Record): Unit = {
    val run = new OpenRun(number, record)
    ManyFiles.map(record.changes)(run.abandon)
    TableLog.read(state).records.foreach { case (n, r) =>
      if (r.kind == Record.Abandon && r.run == record.run) state.markDone(n, r.run)
    }
    run.end(Nil)
  }

  /**
   * Abandons what is committed and not finished, and tells which runs these were. A record says so
   * first: whoever recovers the table after a crash goes on with it.
   */
  def abandonAll(user: String): Seq[Record] =
    TableLog.read(state).unfinished.map { case (number, record) =>
      requireFormat2(number, record)
      declareAbandoned(record.run, user)
      abandon(number, record)
      record
    }

  @tailrec
  private def declareAbandoned(run: String, user: String): Unit = {
    val history = TableLog.read(state)
    val next = history.last + 1
    if (!history.isAbandoned(run)) {
      if (!state.createRecord(next, Record.note(Record.Abandon, run, user))) {
        declareAbandoned(run, user)
      }
    }
  }

  private def requireFormat2(number: Long, record: Record): Unit =
    if (record.version < 2) throw UnfinishedRun.ofFormat1(state, number, record)

  /** Finishes what earlier runs committed and did not finish, and tells which these were. */
  def rollForward(): Seq[Record] = {
    val open = TableLog.read(state).unfinished
    lazy val history = TableLog.read(state)
    open.map { case (number, record) =>
      requireFormat2(number, record)
      if (history.isAbandoned(record.run)) abandon(number, record)
      else {
        logWarning(s"run ${record.run} was committed but not published; rolling it forward")
        publish(number, record)
      }
      record
    }
  }

  private final class OpenRun(number: Long, record: Record) {
    // a record of thousands of folders is parsed once, and known again by the identity of its file
    private val identity = state.identity(number)
    requireState()

    def publish(change: FolderChange): Option[ZOrderException] = {
      requireSame()
      val files = new RunFolder(state, record, change)
      files.stage match {
        case Stage.Finished => None
        case Stage.Conflict => conflict(files, "it was changed before")
        case Stage.Gone => conflict(files, "it was overwritten")
        case Stage.Publishing if files.isRevealing => forward(files)
        case _ => exchange(files)
      }
    }

    def abandon(change: FolderChange): Unit = {
      requireSame()
      val files = new RunFolder(state, record, change)
      if (files.stage != Stage.Finished) conflict(files, "it was abandoned")
      ()
    }

    def end(conflicts: Seq[ZOrderException]): Unit = {
      requireSame()
      // what an undo has undone keeps nothing any more
      record.undone.foreach(new Intents(state).remove)
      state.markDone(number, record.run)
      conflicts.headOption.foreach(throw _)
    }

    private def requireState(): Unit =
      if (!state.holds(number, record.run)) throw ZOrderErrors.stateLost(state.root.toString)

    private def requireSame(): Unit =
      if (state.identity(number) != identity) throw ZOrderErrors.stateLost(state.root.toString)

    private def exchange(files: RunFolder): Option[ZOrderException] =
      files.changedInput.orElse(files.takenName).orElse(files.missingNew) match {
        case Some(p) => conflict(files, p)
        case None =>
          files.showToken()
          files.retain().orElse(files.missingNew) match {
            case Some(p) => conflict(files, p)
            case None => forward(files)
          }
      }

    private def forward(files: RunFolder): Option[ZOrderException] = files.reveal() match {
      case Some(p) => conflict(files, p)
      case None =>
        // what it replaced never expires then
        if (files.lacksNew) state.markConflict(number)
        if (files.finish()) None else conflict(files, "it was overwritten or dropped")
    }

    private def conflict(files: RunFolder, problem: String): Option[ZOrderException] = {
      files.decideConflict()
      val stage = files.stage
      // another publisher may have finished meanwhile, and later runs gone on from there
      if (stage == Stage.Finished || state.isDone(number)) None
      else {
        requireState()
        state.markConflict(number)
        files.resolve(restore = stage == Stage.Conflict)
        Some(ZOrderErrors.publishConflict(
          files.folder.toString,
          record.run,
          problem,
          files.closed.toString))
      }
    }
  }
}
