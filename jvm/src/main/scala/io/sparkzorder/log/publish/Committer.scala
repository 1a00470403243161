// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.IOException

import scala.annotation.tailrec

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Intents, Record, RecordCheck, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.util.ManyFiles

/** Commits the runs of one statement. A run is committed by creating the next numbered record exclusively. */
private[sparkzorder] final class Committer(state: StateDirectory, target: String) extends Logging {
  // `others` are the records that other statements have committed since the inputs were listed, that is after record
  // `since`, up to record `readTo`. Every run of the statement is checked against all of them. The records are kept
  // here, because a checkpoint may remove their files before the last run.
  private var since = 0L
  private var readTo = 0L
  private var others = Vector.empty[Record]

  /**
   * Checks the run against every record of other statements after the number `after`, and creates the next
   * record. A run that loses the race for a number to another run checks again and takes the next number.
   *
   * @param recheck lists the inputs again; throws ZORDER_CONFLICT when an input has changed
   * @param after the number of the last record before the inputs were listed. Earlier records are not compared with the
   *   inputs. An input may have the name of a file that such a record replaced. It is a new file then, because some
   *   writers always use the same names
   * @return the number of the record
   * @throws IllegalStateException if no reader would accept the record. Then the whole table could not be read any more
   */
  def commit(record: Record, recheck: () => Unit, after: Long = 0L): Long = {
    try RecordCheck.require(record)
    catch {
      case e: IOException =>
        throw new IllegalStateException(
          s"the record of run ${record.run} of $target is wrong: ${e.getMessage}",
          e)
    }
    if (after != since) {
      since = after
      readTo = after
      others = Vector.empty
    }
    val ours = inputs(record).toSet
    @tailrec def attempt(): Long = {
      val log = TableLog.read(state)
      // records were removed, so the next numbers would be used a second time
      if (log.last < readTo) throw gone(s"up to number $readTo")
      val newer = log.after(readTo).getOrElse(throw gone(s"after number $readTo"))
      // The answer to the creation of our record may have been lost. The file system has then tried once more, and has
      // said that the number is taken.
      val (own, ofOthers) =
        newer.partition { case (_, r) => r.run == record.run && r.commitsRun }
      others ++= ofOthers.map(_._2)
      readTo += newer.size
      if (own.nonEmpty) own.head._1
      else {
        others.foreach(check(_, record, ours))
        recheck()
        requireFiles(record)
        val number = readTo + 1
        if (state.createRecord(number, record)) {
          readTo = number
          number
        } else {
          logInfo(s"another run took record $number of $target; checking again")
          attempt()
        }
      }
    }
    attempt()
  }

  private def gone(records: String) = ZOrderErrors.conflict(
    target,
    s"the records $records are gone: many runs were committed since, or _zorder was removed")

  /** Refuses the commit if a clean-up has taken the run for a dead run and removed its hidden files. */
  private def requireFiles(record: Record): Unit = {
    val hasIntent = new Intents(state).holds(record.run)
    val gone = ManyFiles.firstProblem(record.changes) { c =>
      val names = state.files(state.own(c.folder, record.run)).map(_.getPath.getName).toSet
      val token = if (record.makesShadow) Nil else Seq(RunFolder.Waiting)
      (token ++ c.added.map(_.staged)).find(!names(_))
    }
    if (!hasIntent || gone.isDefined) {
      throw ZOrderErrors.conflict(target, "the hidden files of this run were removed")
    }
  }

  private def check(other: Record, record: Record, ours: Set[String]): Unit =
    other.kind match {
      case Record.Abort if other.run == record.run =>
        throw ZOrderErrors.conflict(target, "this run was declared dead and cleaned up")
      case Record.Expired if outputs(other).exists(ours) =>
        throw ZOrderErrors.conflict(target, s"files of the shadow of run ${other.run} were removed")
      case Record.Abandon if record.publishedRuns(other.run) =>
        throw ZOrderErrors.conflict(target, s"the shadow of run ${other.run} was undone")
      // a run that exchanges visible files does not conflict with a shadow, which replaces no visible file
      case _ if other.commitsRun && !(record.exchangesFiles && other.makesShadow) =>
        inputs(other).find(ours).foreach { path =>
          throw ZOrderErrors.conflict(target, s"run ${other.run} has replaced $path")
        }
        // The inputs were listed while the other run was being published. They have some of its new files, and may
        // lack others.
        if (other.exchangesFiles) outputs(other).find(ours).foreach { path =>
          throw ZOrderErrors.conflict(target, s"run ${other.run} was just adding $path")
        }
      case _ =>
    }

  private def outputs(record: Record): Seq[String] =
    record.changes.flatMap(c => c.added.map(a => c.path(a.name)))

  private def inputs(record: Record): Seq[String] =
    record.changes.flatMap(c => c.replaced.map(r => c.path(r.name)))
}
