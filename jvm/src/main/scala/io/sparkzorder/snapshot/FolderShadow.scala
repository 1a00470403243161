// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log.{Added, Replaced, Step}

/** A file of a folder to read, and the step of the shadow that added the file; None for a visible file. */
private[sparkzorder] final case class ShadowedFile(
    status: Option[FileStatus],
    shadow: Option[(Step, Added)])

/**
 * Lays the shadows of one folder over its visible files.
 *
 * A step of a shadow stands for R by A: the rows of the files A are those of the files R. It applies only
 * if each file of R is held, either visible and unchanged, or added by a step before that applies. So
 * whatever another program does to a file of R makes the step inert, and with it the steps that build on
 * it, and the visible files count. In every state, the rows are therefore those of the visible files.
 *
 * @param steps ascending by number
 * @param isThere false for a hidden file that was deleted or may be
 */
private[sparkzorder] final class FolderShadow(
    steps: IndexedSeq[Step],
    isThere: (Step, Added) => Boolean) {

  /**
   * The files to read by the names that records know; None where no step applies.
   *
   * @param visible files of the folder, by name
   */
  def over(visible: Map[String, FileStatus]): Option[Map[String, ShadowedFile]] = {
    @tailrec
    def attempt(without: Set[Int]): Option[Map[String, ShadowedFile]] = {
      val files = mutable.LinkedHashMap.empty[String, ShadowedFile]
      visible.foreach { case (name, s) => files(name) = ShadowedFile(Some(s), None) }
      val addedBy = mutable.HashMap.empty[String, Int]
      for (i <- steps.indices if !without(i)) {
        val change = steps(i).change
        if (change.replaced.nonEmpty && change.replaced.forall(r => holds(files, r))) {
          change.replaced.foreach { r =>
            files.remove(r.name)
            addedBy.remove(r.name)
          }
          change.added.foreach { a =>
            files(a.name) = ShadowedFile(None, Some(steps(i) -> a))
            addedBy(a.name) = i
          }
        }
      }
      // a file that a later step replaces need not be there any more
      val broken = addedBy.collect {
        case (name, i) if !files(name).shadow.exists { case (s, a) => isThere(s, a) } => i
      }.toSet
      if (broken.nonEmpty) attempt(without ++ broken)
      else if (addedBy.isEmpty) None
      else Some(files.toMap)
    }
    attempt(Set.empty)
  }

  /** The runs of the steps by which these files came about: of those that added them, and of all before these. */
  def runsOf(files: Map[String, ShadowedFile]): Set[String] = {
    val wanted = mutable.Set.empty[String] ++ files.values.flatMap(_.shadow.map(_._2.name))
    steps.reverse.flatMap { step =>
      if (step.change.added.exists(a => wanted(a.name))) {
        wanted ++= step.change.replaced.map(_.name)
        Some(step.known.record.run)
      } else None
    }.toSet
  }

  private def holds(files: collection.Map[String, ShadowedFile], r: Replaced): Boolean =
    files.get(r.name).exists {
      case ShadowedFile(Some(s), _) => r.is(s)
      case ShadowedFile(_, Some((_, a))) => a.length == r.length
      case _ => false
    }

  /**
   * For each step of the folder that does not apply to these files: the file that is missing or was changed. A
   * later step that has replaced the files of a step hides nothing of that.
   */
  def inert(visible: Map[String, FileStatus]): Map[Step, String] = {
    val held = mutable.HashMap.empty[String, ShadowedFile]
    visible.foreach { case (name, s) => held(name) = ShadowedFile(Some(s), None) }
    steps.flatMap { step =>
      step.change.replaced.find(r => !holds(held, r)) match {
        case Some(r) => Some(step -> r.name)
        case None =>
          step.change.replaced.foreach(r => held.remove(r.name))
          step.change.added.foreach(a => held(a.name) = ShadowedFile(None, Some(step -> a)))
          None
      }
    }.toMap
  }
}
