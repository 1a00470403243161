// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.collection.mutable

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log.{Added, Replaced, Step}
import io.sparkzorder.table.TokenFile

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
 *  - No file of R is in the set, and the change is published. Either the listing is younger than the change. Then
 *    another program or a later change has removed each file of A that the listing lacks. Or the listing was made
 *    after all of R were hidden and before all of A were visible. Whether a missing file of A is in the folder now
 *    tells the two cases apart, because a published run never adds a file again. The files of A that are in the
 *    folder are added to the set.
 *
 * A change applies only if each file of A is found: in the listing, in the folder, in the hidden directory, or
 * replaced by a later change that applies. Otherwise another program has removed a file of A since, and an old
 * listing stays as it is. Spark then fails, because the old files are missing. So a query never returns fewer rows
 * without an error.
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

  /** The files to read instead of the listed files, by final name; None when the listed files are right. */
  def result(): Option[Map[String, FileStatus]] = {
    listed.foreach { case (name, status) =>
      if (!TokenFile.isOne(name)) files(name) = Listed(status)
    }
    steps.indices.foreach(i => if (!mayAddRows(steps(i))) apply(i))
    val located = files.toSeq.flatMap {
      case (name, Listed(status)) => Some(name -> status)
      case (name, AddedByStep(step, added)) => locate(step, added).map(name -> _)
    }.toMap
    if (located.size < files.size) None
    else Some(located).filter(_.values.map(_.getPath).toSet != listed.values.map(_.getPath).toSet)
  }

  /** True for a change after the listing that may have replaced a file that the listing lacks. */
  private def mayAddRows(step: Step): Boolean =
    upTo.exists(step.known.number > _) && !step.change.replaced.forall(holds)

  private def apply(i: Int): Unit = {
    val step = steps(i)
    val change = step.change
    val (replaced, missing) =
      (change.replaced.filter(holds), change.added.filterNot(a => files.contains(a.name)))
    if ((replaced.nonEmpty || step.underWay) && isApplicable(i)) {
      replaced.foreach(r => files.remove(r.name))
      change.added.filterNot(a => files.contains(a.name))
        .foreach(a => files(a.name) = AddedByStep(step, a))
    } else if (replaced.isEmpty) {
      missing.foreach(a => locate(step, a).foreach(status => files(a.name) = Listed(status)))
    }
  }

  private def holds(r: Replaced): Boolean = files.get(r.name).exists {
    case Listed(s) => s.getLen == r.length && s.getModificationTime == r.modified
    case AddedByStep(_, a) => a.length == r.length
  }

  private def isApplicable(i: Int): Boolean = applicable.getOrElseUpdate(
    i,
    steps(i).change.added.forall { a =>
      locate(steps(i), a).isDefined || (i + 1 until steps.size).exists { j =>
        steps(j).change.replaced.exists(r => r.name == a.name && r.length == a.length) &&
        isApplicable(j)
      }
    })

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
