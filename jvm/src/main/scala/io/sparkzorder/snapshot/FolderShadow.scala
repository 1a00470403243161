// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.log.{Added, Replaced, Shadows, StateDirectory, Step}
import io.sparkzorder.table.{DataFile, TableFiles, TableLister}
import io.sparkzorder.util.{Directories, ManyFiles, ModificationTimes}

/**
 * A file of a folder that readers of the table read.
 *
 * @param status the listed status of a visible file; None for a hidden file
 * @param shadow the step of the shadow that added a hidden file; None for a visible file
 */
private[sparkzorder] final case class ShadowedFile(
    status: Option[FileStatus],
    shadow: Option[(Step, Added)])

/**
 * Lays the shadows of one folder over its visible files.
 *
 * A step of a shadow replaces files R by files A, which have the same rows. The step applies only if each
 * file of R is present: the file is visible and unchanged, or an earlier step that applies has added it. So
 * any change of a file of R by another program makes the step inert, together with the steps that build on
 * it, and the visible files are read. In every state, readers therefore get the rows of the visible files.
 *
 * @param steps the steps of all shadows of the folder, in the order of their record numbers
 * @param isThere false for a hidden file that was deleted, or whose deletion a record announces
 */
private[sparkzorder] final class FolderShadow(
    steps: IndexedSeq[Step],
    isThere: (Step, Added) => Boolean) {

  /**
   * The files to read, by the names that the records have for them; None if no step applies.
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
      // A step is broken if a hidden file that readers would read is missing, and the step has added this file. A file
      // that a later step has replaced is not read, so it may be deleted.
      val broken = addedBy.collect {
        case (name, i) if !files(name).shadow.exists { case (s, a) => isThere(s, a) } => i
      }.toSet
      if (broken.nonEmpty) attempt(without ++ broken)
      else if (addedBy.isEmpty) None
      else Some(files.toMap)
    }
    attempt(Set.empty)
  }

  /** See [[Shadows.runsOf]]. */
  def runsOf(files: Map[String, ShadowedFile]): Set[String] =
    Shadows.runsOf(steps, files.values.flatMap(_.shadow.map(_._2.name)))

  private def holds(files: collection.Map[String, ShadowedFile], r: Replaced): Boolean =
    files.get(r.name).exists {
      // if times do not tell changes, another file with the same length would look like the replaced file
      case ShadowedFile(Some(s), _) => r.is(s) && ModificationTimes.tellChanges(r.modified)
      case ShadowedFile(_, Some((_, a))) => a.length == r.length
      case _ => false
    }

  /**
   * For each step that does not apply to these files, the name of a file that is missing or was changed. This includes
   * a step whose added files a later step has replaced. Hidden files are not looked up.
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

/**
 * The shadows that are in force in one folder.
 *
 * @param folder the path of the folder relative to the table
 * @param replaced the visible files that readers with the extension do not read
 * @param added the hidden files that readers with the extension read instead
 * @param runs the runs of all steps that led from the visible files to the hidden files
 */
private[sparkzorder] final case class ShadowedFolder(
    folder: String,
    replaced: Seq[DataFile],
    added: Seq[(Step, Added)],
    runs: Set[String])

/** Finds for a table which shadows are in force, which are inert, and which hidden files are in use. */
private[sparkzorder] object Shadowed {

  /** The folders in which shadows are in force, with the files of these shadows. */
  def folders(state: StateDirectory, shadows: Shadows, visible: TableFiles): Seq[ShadowedFolder] = {
    val present = new PresentFiles(state)
    for {
      (name, steps, files) <- byFolder(state, shadows, visible)
      shadow = new FolderShadow(steps, isThere(shadows, state, name, present))
      result <- shadow.over(files.map { case (n, f) => n -> f.status }).toSeq
      left = result.collect { case (n, f) if f.shadow.isEmpty => n }.toSet
      replaced = files.collect { case (n, f) if !left(n) => f }.toSeq
      added = result.values.flatMap(_.shadow).toSeq
    } yield ShadowedFolder(name, replaced, added, shadow.runsOf(result))
  }

  /**
   * The runs whose shadows are inert somewhere, each with the first file that was changed or removed. Where a shadow is
   * published, the files that it stood for are hidden, and it is not inert.
   */
  def inert(
      state: StateDirectory,
      shadows: Shadows,
      visible: => TableFiles): Map[String, String] =
    if (shadows.isEmpty) Map.empty
    else {
      byFolder(state, shadows, visible).reverse.flatMap { case (name, steps, files) =>
        val statuses = files.map { case (n, f) => n -> f.status }
        val found = new FolderShadow(steps, (_, _) => true).inert(statuses)
          .map { case (step, file) => step.known.record.run -> step.change.path(file) }
        found.filterNot { case (run, _) => shadows.isPublished(run, name) }
      }.toMap
    }

  /** The hidden files that readers read now, and the folders that this user may not list. */
  def inUse(state: StateDirectory, shadows: Shadows): (Set[Path], Set[String]) = {
    val present = new PresentFiles(state)
    def used(name: String, steps: IndexedSeq[Step]): Seq[Path] = {
      val visible = state.byName(state.folder(name)).filter(f => TableLister.isData(f._2))
      def place(step: Step, a: Added) = new Path(state.own(name, step.known.record.run), a.staged)
      new FolderShadow(steps, isThere(shadows, state, name, present)).over(visible).toSeq
        .flatMap(_.values.flatMap(_.shadow.map { case (step, a) => place(step, a) }))
    }
    val found = ManyFiles.map(shadows.folders.toSeq) { case (name, steps) =>
      val isClosed = state.isClosed(name)
      try if (isClosed) Left(name) else Right(used(name, steps))
      catch { case e if Directories.isDenied(e) => Left(name) }
    }
    (found.flatMap(_.getOrElse(Nil)).toSet, found.flatMap(_.left.toOption).toSet)
  }

  /**
   * False for a hidden file that was deleted, is about to be deleted, or was moved by PUBLISH LAYOUT.
   *
   * @param looks false to decide by the records alone
   */
  private[snapshot] def isThere(
      shadows: Shadows,
      state: StateDirectory,
      folder: String,
      present: PresentFiles,
      looks: Boolean = true)(step: Step, a: Added): Boolean = {
    val run = step.known.record.run
    !shadows.isExpired(run, folder, a.name) && !shadows.isMoved(folder, a.name) && (!looks ||
      present.in(state.own(folder, run)).get(a.staged).exists(_.getLen == a.length))
  }

  private def byFolder(
      state: StateDirectory,
      shadows: Shadows,
      visible: TableFiles): Seq[(String, IndexedSeq[Step], Map[String, DataFile])] = {
    val files = visible.files.groupBy(_.folder.path)
    shadows.folders.toSeq.sortBy(_._1).map { case (name, steps) =>
      val own: Seq[DataFile] = files.getOrElse(state.folder(name), Nil)
      (name, steps, own.map(f => f.path.getName -> f).toMap)
    }
  }
}
