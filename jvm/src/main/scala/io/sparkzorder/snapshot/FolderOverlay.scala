// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.collection.mutable
import scala.util.control.TailCalls.{done, tailcall, TailRec}

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log.{Added, Replaced, Step}
import io.sparkzorder.table.TokenFile
import io.sparkzorder.util.DeepRecursion.{exists, forall}

/**
 * Lays the committed changes of one folder over a listing of the folder. The listing may be of any age, and it
 * may have been made while files were being renamed.
 *
 * The changes are applied in the order of their numbers to the set of listed files. Let a change replace
 * files R by files A, which have the same rows. The names in A are new, so a name of A always means the same
 * content.
 *
 *  - A file of R is in the set: the listing is older than the change, or was made during the change. All files
 *    of R are removed from the set, and all files of A are added, so no row is lost or doubled.
 *  - No file of R is in the set, and the change is being published: the listing was made after the files of R were
 *    hidden. All files of A are added.
 *  - No file of R is in the set, and the change is published: each file of A that is in the folder now is added to the
 *    set. There are two cases. If the listing is younger than the change, another program or a later change has removed
 *    each file of A that the listing lacks. So the file is not in the folder, because a published run never adds a file
 *    again. If the listing was made after all of R were hidden and before all of A were visible, the file is in the
 *    folder.
 *
 * A change applies only if each file of A is found: in the listing, in the folder, in the hidden directory, or
 * replaced by a later change that applies. Otherwise another program has removed a file of A since, and an old
 * listing stays as it is. Spark then fails, because the old files are missing. So a query never returns fewer rows
 * without an error.
 *
 * A checkpoint lists a replaced file as a past file of each run whose files have some of its rows
 * ([[io.sparkzorder.log.CheckpointEntry.past]]). A past file is removed only if all changes that list the file apply.
 * Otherwise some of its rows may be in no other file.
 *
 * @param listed files of the folder by name, as they were listed
 * @param now where an added file is now, if anywhere; called only for files that the listing lacks, and for files
 *   of runs under way
 * @param upTo the number of the newest record that may add rows that were not listed. A change with a greater number
 *   was committed after the listing. It applies only if the set has all of R. Otherwise A may have rows of a file
 *   that appeared after the listing
 */
private[snapshot] final class FolderOverlay(
    steps: IndexedSeq[Step],
    listed: Map[String, FileStatus],
    now: (Step, Added) => Option[FileStatus],
    upTo: Option[Long] = None) {

  private sealed trait FileToRead
  private case class Listed(status: FileStatus) extends FileToRead
  // an added file is looked up at the end, and only if no later change replaces it
  private case class AddedByStep(step: Step, added: Added) extends FileToRead

  private val files = mutable.LinkedHashMap.empty[String, FileToRead]
  private val found = mutable.Map.empty[(String, String), Option[FileStatus]]
  private val applicable = mutable.Map.empty[Int, Boolean]
  // the changes that were not applied, because they may add rows
  private val leftOut = mutable.ArrayBuffer.empty[Step]
  // files of applied changes that are neither listed nor in the folder, by name and length
  private val missing = mutable.Set.empty[(String, Long)]

  /**
   * The files to read instead of the listed files, by final name. None when the listed files are right, or when an
   * added file is found nowhere: then the listed files are read, and Spark reports the missing files.
   */
  def result(): Option[Map[String, FileStatus]] = {
    listed.foreach { case (name, status) =>
      if (!TokenFile.isOne(name)) files(name) = Listed(status)
    }
    steps.indices.foreach(i => if (mayAddRows(steps(i))) leftOut += steps(i) else apply(i))
    val located = files.toSeq.flatMap {
      case (name, Listed(status)) => Some(name -> status)
      case (name, AddedByStep(step, added)) => locate(step, added).map(name -> _)
    }.toMap
    if (located.size < files.size) None
    else Some(located).filter(_.values.map(_.getPath).toSet != listed.values.map(_.getPath).toSet)
  }

  /**
   * True if [[result]] may lack rows, because a change that was left out may have replaced a file that the folder had
   * when the record `upTo` was the newest. This is so if an earlier change has added the file, or if a checkpoint has
   * reduced one of the two records, so that the record does not name the file.
   */
  def isUndecided: Boolean = leftOut.exists { step =>
    step.known.isReduced || step.own.exists(r => missing(r.name -> r.length)) ||
    step.known.isCovered && steps.exists(s => s.known.isReduced && !leftOut.contains(s))
  }

  /** True for a change after the listing that may have replaced a file that the listing lacks. */
  private def mayAddRows(step: Step): Boolean =
    upTo.exists(step.known.number > _) && (step.known.isReduced || !step.own.forall(holds))

  private def apply(i: Int): Unit = {
    val step = steps(i)
    val change = step.change
    val replaced =
      change.replaced.filter(r => holds(r) && (r.retained.nonEmpty || areReplacersApplicable(r)))
    val absent = change.added.filterNot(a => files.contains(a.name))
    if ((replaced.nonEmpty || step.underWay) && isApplicable(i)) {
      replaced.foreach(r => files.remove(r.name))
      change.added.filterNot(a => files.contains(a.name))
        .foreach(a => files(a.name) = AddedByStep(step, a))
    } else if (replaced.isEmpty) {
      absent.foreach { a =>
        locate(step, a) match {
          case Some(status) => files(a.name) = Listed(status)
          case None => missing += a.name -> a.length
        }
      }
    }
  }

  private def holds(r: Replaced): Boolean = files.get(r.name).exists {
    case Listed(s) => s.getLen == r.length && s.getModificationTime == r.modified
    case AddedByStep(_, a) => a.length == r.length
  }

  private def areReplacersApplicable(past: Replaced): Boolean =
    replacers.getOrElse(past.name -> past.length, Nil).forall(isApplicable)

  // by name and length of a file, the indices of the steps that replaced it, ascending. Made only if a past file is
  // listed, or a file that a step added is not found, which is rare
  private lazy val replacers: Map[(String, Long), List[Int]] = {
    val all = for {
      i <- steps.indices
      r <- steps(i).change.replaced
    } yield (r.name -> r.length) -> i
    all.groupBy(_._1).map { case (file, changes) => file -> changes.map(_._2).toList }
  }

  private def isApplicable(i: Int): Boolean = applies(i).result

  /**
   * The recursion ends, because each call asks only about later steps. A chain may have thousands of steps
   * ([[io.sparkzorder.util.DeepRecursion]]).
   */
  private def applies(i: Int): TailRec[Boolean] = applicable.get(i) match {
    case Some(known) => done(known)
    case None =>
      tailcall(forall(steps(i).change.added.toList) { a =>
        if (locate(steps(i), a).isDefined) done(true)
        else exists(replacers.getOrElse(a.name -> a.length, Nil).filter(_ > i))(applies)
      }).map { found =>
        applicable(i) = found
        found
      }
  }

  /**
   * The place of an added file. A listing from before the undone run shows the files that an UNDO brings back,
   * but while the UNDO is being published they may be hidden. So the present place of a file of a run under way
   * counts before the listed place.
   */
  private def locate(step: Step, added: Added): Option[FileStatus] = {
    def inListing = listed.get(added.name).filter(_.getLen == added.length)
    def present = found.getOrElseUpdate((step.known.record.run, added.name), now(step, added))
    if (step.underWay) present.orElse(inListing) else inListing.orElse(present)
  }
}
