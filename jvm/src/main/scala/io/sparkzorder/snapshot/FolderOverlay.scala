// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.collection.mutable

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log.{Added, Replaced, Step}
import io.sparkzorder.table.TokenFile

/**
 * Lays the committed changes of one folder over a listing of it, which may be of any age and may have
 * been made while files were being renamed.
 *
 * The changes are applied in order of their numbers to the set of listed files. Let a change replace
 * R by A; the names in A are new, so each stands for one content for ever.
 *
 *  - A file of R is in the set: the listing is older than the change, or was made during it. R goes,
 *    A comes. The rows of A are those of R, and nothing of R stays, so no row is lost or doubled.
 *  - No file of R is in the set and the change is being published: likewise.
 *  - No file of R is in the set and the change is published: either the listing is younger than the
 *    change, and a file of A that it lacks was removed or replaced since; or it was made after all of
 *    R were out and before all of A were in. The difference is whether the file is in the folder now:
 *    a published run never puts the file back, and the file goes only when another program removes or replaces it.
 *    The files that are there come in.
 *
 * A change applies only where every file of A is known to be somewhere: in the listing, at its place,
 * hidden, or replaced in turn by a later change that applies. Otherwise another program has changed the
 * folder since, and an old listing is left as it is: Spark then finds the old files missing and says
 * so. It never gets fewer files than were listed.
 *
 * @param listed files of the folder by name, as they were listed
 * @param now where an added file is at present, if anywhere; asked only where the listing does not say
 * @param upTo number of the newest record that may bring rows that were not listed. A later change was committed
 *   after the listing, and applies only if the set holds all of R: A may have rows of a file that came
 *   meanwhile
 */
private[snapshot] final class FolderOverlay(
    steps: IndexedSeq[Step],
    listed: Map[String, FileStatus],
    now: (Step, Added) => Option[FileStatus],
    upTo: Option[Long] = None) {

  private sealed trait Slot
  private case class Listed(status: FileStatus) extends Slot
  // added by a change; where it is matters only if no later change replaces it
  private case class Due(step: Step, added: Added) extends Slot

  private val files = mutable.LinkedHashMap.empty[String, Slot]
  private val found = mutable.Map.empty[(String, String), Option[FileStatus]]
  private val applicable = mutable.Map.empty[Int, Boolean]

  /** The files to read instead of the listed ones, by final name; None when those are right. */
  def result(): Option[Map[String, FileStatus]] = {
    listed.foreach { case (name, status) =>
      if (!TokenFile.isOne(name)) files(name) = Listed(status)
    }
    steps.indices.foreach(i => if (!bringsMore(steps(i))) apply(i))
    val located = files.toSeq.flatMap {
      case (name, Listed(status)) => Some(name -> status)
      case (name, Due(step, added)) => locate(step, added).map(name -> _)
    }.toMap
    if (located.size < files.size) None
    else Some(located).filter(_.values.map(_.getPath).toSet != listed.values.map(_.getPath).toSet)
  }

  /** True for a change after the listing that may have replaced a file that the listing lacks. */
  private def bringsMore(step: Step): Boolean =
    upTo.exists(step.known.number > _) && !step.change.replaced.forall(holds)

  private def apply(i: Int): Unit = {
    val step = steps(i)
    val change = step.change
    val (replaced, missing) =
      (change.replaced.filter(holds), change.added.filterNot(a => files.contains(a.name)))
    if (replaced.nonEmpty || step.underWay) {
      if (isApplicable(i)) {
        replaced.foreach(r => files.remove(r.name))
        change.added.filterNot(a => files.contains(a.name)).foreach { a =>
          files(a.name) = Due(step, a)
        }
      } else if (replaced.isEmpty) missing.foreach(bring(step, _))
    } else missing.foreach(bring(step, _))
  }

  private def bring(step: Step, added: Added): Unit =
    locate(step, added).foreach(status => files(added.name) = Listed(status))

  private def holds(r: Replaced): Boolean = files.get(r.name).exists {
    case Listed(s) => s.getLen == r.length && s.getModificationTime == r.modified
    case Due(_, a) => a.length == r.length
  }

  private def isApplicable(i: Int): Boolean = applicable.getOrElseUpdate(
    i,
    steps(i).change.added.forall { a =>
      locate(steps(i), a).isDefined || (i + 1 until steps.size).exists { j =>
        steps(j).change.replaced.exists(r => r.name == a.name && r.length == a.length) &&
        isApplicable(j)
      }
    })

  private def locate(step: Step, added: Added): Option[FileStatus] =
    listed.get(added.name).filter(_.getLen == added.length).orElse {
      found.getOrElseUpdate((step.known.record.run, added.name), now(step, added))
    }
}
