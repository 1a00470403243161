// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Intents, Record, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.util.ManyFiles

/** Commits a run: the exclusive appearance of the next numbered record. */
private[sparkzorder] final class Committer(state: StateDirectory, target: String) extends Logging {

  /**
   * Checks the run against every record since then and creates the next one. A run that loses the race for a number
   * to another run checks again and takes the next.
   *
   * @param recheck lists the inputs again; throws ZORDER_CONFLICT when one has changed
   * @param after the last record that was published before the inputs were listed: a file that it
   *   replaced and that is there again, as some writers use one name for ever, is a new file
   * @return the number of the record
   */
  def commit(record: Record, recheck: () => Unit, after: Long = 0L): Long = {
    val ours = inputs(record)
    def attempt(checkedTo: Long): Long = {
      val newer = TableLog.read(state).after(checkedTo).getOrElse(throw ZOrderErrors.conflict(
        target,
        s"so many runs were committed since that the records after number $checkedTo are gone"))
      newer.foreach { case (_, other) => check(other, record, ours) }
      recheck()
      requireFiles(record)
      val last = newer.lastOption.fold(checkedTo)(_._1)
      if (state.createRecord(last + 1, record)) last + 1
      else {
        logInfo(s"another run took record ${last + 1} of $target; checking again")
        attempt(last)
      }
    }
    attempt(after)
  }

  /** A clean-up may have taken the run for a dead one. */
  private def requireFiles(record: Record): Unit = {
    val isNoted = new Intents(state).holds(record.run)
    val gone = ManyFiles.firstProblem(record.changes) { c =>
      val there = state.files(state.own(c.folder, record.run)).map(_.getPath.getName).toSet
      val token = if (record.makesShadow) Nil else Seq(RunFolder.Waiting)
      (token ++ c.added.map(_.staged)).find(!there(_))
    }
    if (!isNoted || gone.isDefined) {
      throw ZOrderErrors.conflict(target, "the hidden files of this run were removed")
    }
  }

  private def check(other: Record, record: Record, ours: Set[(String, String)]): Unit =
    other.kind match {
      case Record.Abort if other.run == record.run =>
        throw ZOrderErrors.conflict(target, "this run was declared dead and cleaned up")
      case Record.Expired if outputs(other).exists(ours) =>
        throw ZOrderErrors.conflict(target, s"files of the shadow of run ${other.run} were removed")
      case Record.Abandon if record.publishedRuns(other.run) =>
        throw ZOrderErrors.conflict(target, s"the shadow of run ${other.run} was undone")
      // a shadow replaces nothing that is visible
      case _ if other.commitsRun && !(record.exchangesFiles && other.makesShadow) =>
        inputs(other).intersect(ours).headOption.foreach { case (folder, name) =>
          throw ZOrderErrors.conflict(
            target,
            s"run ${other.run} has replaced ${pathOf(folder, name)}")
        }
        // listed while that run was still publishing: its other files may be yet to come
        if (other.exchangesFiles) outputs(other).intersect(ours).headOption.foreach {
          case (folder, name) =>
            throw ZOrderErrors.conflict(
              target,
              s"run ${other.run} was just adding ${pathOf(folder, name)}")
        }
      case _ =>
    }

  private def pathOf(folder: String, name: String): String =
    if (folder.isEmpty) name else s"$folder/$name"

  private def outputs(record: Record): Set[(String, String)] =
    record.changes.flatMap(c => c.added.map(a => (c.folder, a.name))).toSet

  private def inputs(record: Record): Set[(String, String)] =
    record.changes.flatMap(c => c.replaced.map(r => (c.folder, r.name))).toSet
}
