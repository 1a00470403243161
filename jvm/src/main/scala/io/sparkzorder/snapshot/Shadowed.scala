// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import org.apache.hadoop.fs.Path

import io.sparkzorder.log.{Added, Shadows, StateDirectory, Step}
import io.sparkzorder.table.{DataFile, TableFiles, TableLister}
import io.sparkzorder.util.ManyFiles

/**
 * The shadows that are in force in one folder.
 *
 * @param folder relative name
 * @param replaced the visible files that readers with the extension do not read
 * @param added the hidden files that they read instead
 * @param runs the runs of all steps by which these stand for those
 */
private[sparkzorder] final case class ShadowedFolder(
    folder: String,
    replaced: Seq[DataFile],
    added: Seq[(Step, Added)],
    runs: Set[String])

/** What shadows do to the visible files of a table. */
private[sparkzorder] object Shadowed {

  /** The folders in which shadows are in force, with the files that are there. */
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

  /** The runs whose shadows are inert somewhere, each with the first file that is not as it was. */
  def inert(
      state: StateDirectory,
      shadows: Shadows,
      visible: => TableFiles): Map[String, String] =
    if (shadows.isEmpty) Map.empty
    else {
      byFolder(state, shadows, visible).reverse.flatMap { case (name, steps, files) =>
        val statuses = files.map { case (n, f) => n -> f.status }
        new FolderShadow(steps, (_, _) => true).inert(statuses).map { case (step, file) =>
          step.known.record.run -> (if (name.isEmpty) file else s"$name/$file")
        }
      }.toMap
    }

  /** The hidden files that readers read now. */
  def inUse(state: StateDirectory, shadows: Shadows): Set[Path] = {
    val present = new PresentFiles(state)
    ManyFiles.map(shadows.folders.toSeq) { case (name, steps) =>
      val visible = state.byName(state.folder(name)).filter(f => TableLister.isData(f._2))
      def place(step: Step, a: Added) = new Path(state.own(name, step.known.record.run), a.staged)
      new FolderShadow(steps, isThere(shadows, state, name, present)).over(visible).toSeq
        .flatMap(_.values.flatMap(_.shadow.map { case (step, a) => place(step, a) }))
    }.flatten.toSet
  }

  /**
   * False for a hidden file that is deleted, or about to be.
   *
   * @param looks false where only the records are asked
   */
  private[snapshot] def isThere(
      shadows: Shadows,
      state: StateDirectory,
      folder: String,
      present: PresentFiles,
      looks: Boolean = true)(step: Step, a: Added): Boolean = {
    val run = step.known.record.run
    !shadows.isExpired(run, folder, a.name) && (!looks ||
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
