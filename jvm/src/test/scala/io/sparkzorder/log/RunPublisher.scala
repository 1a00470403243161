package io.sparkzorder.log

import org.apache.hadoop.conf.Configuration

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.util.ManyFiles

/** Publishes a committed run, or abandons it, folder by folder; see [[RunFolder]]. */
private[sparkzorder] final class RunPublisher(
    state: StateDirectory,
    number: Long,
    record: Record,
    suffix: String,
    conf: Configuration) {
  private val identity = state.identity(number)

  /**
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_LOST when the table was overwritten
   *   meanwhile; ZORDER_PUBLISH_CONFLICT when another program changed a folder after the commit: the
   *   other folders are published, and in this one the old files are visible again
   */
  def publish(): Unit = {
    requireState()
    end(ManyFiles.map(record.changes)(publishFolder).flatten)
  }

  /** Puts every folder that is not published back to its inputs. */
  def abandon(): Unit = {
    requireState()
    ManyFiles.map(record.changes) { change =>
      requireSame()
      val files = new RunFolder(state, record.run, change, suffix, conf)
      if (files.stage != Stage.Finished) conflict(files, "it was abandoned") else None
    }
    end(Nil)
  }

  private def end(conflicts: Seq[ZOrderException]): Unit = {
    requireSame()
    state.markDone(number, record.run)
    conflicts.headOption.foreach(throw _)
  }

  private def requireState(): Unit =
    if (!state.holds(number, record.run)) throw ZOrderErrors.stateLost(state.root.toString)

  private def requireSame(): Unit =
    if (state.identity(number) != identity) throw ZOrderErrors.stateLost(state.root.toString)

  private def publishFolder(change: FolderChange): Option[ZOrderException] = {
    requireSame()
    val files = new RunFolder(state, record.run, change, suffix, conf)
    files.stage match {
      case Stage.Finished => None
      case Stage.Conflict | Stage.Gone => conflict(files, "it was changed before")
      case Stage.Publishing if files.isRevealing => forward(files)
      case _ => exchange(files)
    }
  }

  private def exchange(files: RunFolder): Option[ZOrderException] =
    files.changedInput.orElse(files.missingNew) match {
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
        files.folder.toString))
    }
  }
}
