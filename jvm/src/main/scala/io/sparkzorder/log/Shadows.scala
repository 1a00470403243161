// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import scala.collection.mutable

import org.apache.hadoop.fs.Path

/**
 * The shadows of a table: runs whose new files stay hidden beside the files that they replace. The visible
 * files define the content of the table, and a shadow is only another way to read it.
 *
 * @param records ascending by number
 */
private[sparkzorder] final class Shadows(records: Seq[KnownRecord]) {
  // a record that cannot be read tells nothing
  private val readable = records.filter(_.record != null)

  private val abandoned: Map[String, KnownRecord] =
    readable.filter(_.record.kind == Record.Abandon).map(k => k.record.run -> k).toMap

  /** The steps of the shadows that no record abandons, by folder, ascending by number. */
  val folders: Map[String, IndexedSeq[Step]] =
    records.filter(k => k.shadow.nonEmpty && !abandoned.contains(k.record.run))
      .flatMap(k => k.shadow.map(c => Step(k, c, underWay = false)))
      .groupBy(_.change.folder).map { case (f, steps) => f -> steps.toIndexedSeq }

  /** True when every shadow is abandoned, or there is no shadow. */
  def isEmpty: Boolean = folders.isEmpty

  /** The records of all shadows, abandoned or not. */
  def all: Seq[KnownRecord] = records.filter(_.shadow.nonEmpty)

  /** The record that abandons the shadow of a run, if there is one. */
  def abandonOf(run: String): Option[KnownRecord] = abandoned.get(run)

  private val expired: Set[(String, String, String)] = (for {
    k <- readable if k.record.kind == Record.Expired
    c <- k.record.changes
    a <- c.added
  } yield (k.record.run, c.folder, a.name)).toSet

  /** True for a hidden file whose deletion a record announces: the file may be gone already. */
  def isExpired(run: String, folder: String, name: String): Boolean =
    expired.contains((run, folder, name))

  private lazy val moved: Set[(String, String)] =
    Shadows.filesOf(readable.map(_.record).filter(_.publishedRuns.nonEmpty))

  /** True for a file of a shadow that PUBLISH LAYOUT has moved out of its hidden directory, for good. */
  def isMoved(folder: String, name: String): Boolean = moved.contains(folder -> name)

  /** The records that announce the deletion of files of the shadow of a run. */
  def expiredOf(run: String): Seq[Record] =
    readable.map(_.record).filter(r => r.kind == Record.Expired && r.run == run)

  private lazy val published: Set[(String, String)] = {
    val runs = new Runs(readable.map(k => k.number -> k.record))
    val inForce = runs.inForce.map(_._1).toSet
    readable.filter(k => inForce(k.number)).flatMap { k =>
      // a checkpoint may have left out the names of the files
      if (k.isReduced)
        for (run <- k.record.publishedRuns; c <- k.record.changes) yield run -> c.folder
      else publishedBy(k.record)
    }.toSet
  }

  private lazy val steps: Map[String, Seq[Step]] =
    all.flatMap(k => k.shadow.map(c => Step(k, c, underWay = false))).groupBy(_.change.folder)

  /**
   * The shadows that a run of PUBLISH LAYOUT has published, each with the folder. The run may have changed a folder in
   * which one of its shadows was inert, and stays hidden. So the names of the new files tell which shadows these were.
   */
  def publishedBy(record: Record): Set[(String, String)] =
    if (record.publishedRuns.isEmpty) Set.empty
    else {
      (for {
        c <- record.changes
        run <- Shadows.runsOf(steps.getOrElse(c.folder, Nil), c.added.map(_.name))
      } yield run -> c.folder).toSet
    }

  /**
   * True if the hidden files of a shadow have got visible names in a folder, or are about to get them, by a later run
   * of PUBLISH LAYOUT, which is in force.
   */
  def isPublished(run: String, folder: String): Boolean = published.contains(run -> folder)

  private lazy val hidden: Map[(String, String, String), Added] = (for {
    k <- all
    c <- k.shadow
    a <- c.added
  } yield (c.folder, k.record.run, a.staged) -> a).toMap

  private def hiddenAt(folder: String, path: Path): Option[Added] =
    RunFolder.runOf(path.getParent.getName)
      .flatMap(run => hidden.get((folder, run, path.getName)))

  /** True for a hidden file that a shadow adds to a folder, whether the shadow is in force or not. */
  def holds(folder: String, path: Path): Boolean = hiddenAt(folder, path).isDefined

  /**
   * The name that the records have for a file of a folder. For a hidden file of a shadow this is its final name,
   * and not its name in the hidden directory.
   *
   * @param folder relative name of the folder
   */
  def nameOf(folder: String, path: Path): String =
    hiddenAt(folder, path).fold(path.getName)(_.name)
}

private[sparkzorder] object Shadows {

  /** The files that records add, each with its folder. */
  def filesOf(records: Seq[Record]): Set[(String, String)] =
    (for (r <- records; c <- r.changes; a <- c.added) yield c.folder -> a.name).toSet

  /** The path of a hidden file of a shadow, relative to its folder. */
  def placeOf(run: String, a: Added): String = s"${RunFolder.directory(run)}/${a.staged}"

  /**
   * The runs whose steps led to some files of a folder: the steps that added the files, and all earlier steps that
   * added an input of these steps.
   *
   * @param steps in the order of their record numbers
   * @param names the final names of the files
   */
  def runsOf(steps: Seq[Step], names: Iterable[String]): Set[String] = {
    val wanted = mutable.Set.empty[String] ++ names
    steps.reverse.flatMap { step =>
      if (step.change.added.exists(a => wanted(a.name))) {
        wanted ++= step.change.replaced.map(_.name)
        Some(step.known.record.run)
      } else None
    }.toSet
  }
}
