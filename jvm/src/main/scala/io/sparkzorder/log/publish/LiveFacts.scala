// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import scala.collection.mutable

import io.sparkzorder.log.{CheckpointEntry, FolderChange, PastFile, PastFolder, Runs}

/**
 * What published records still tell: the files that they added and that no later record replaced. With these
 * files a reader corrects a listing that was made during a publish, and OPTIMIZE recognises files of earlier runs.
 *
 * @param entries ascending by number, from an older checkpoint or from the record files
 */
private[log] final class LiveFacts(entries: Seq[CheckpointEntry]) {

  /** The record that added each file which is in the table by the records: folder and name. */
  private val owner: mutable.Map[(String, String), Long] = {
    val owner = mutable.HashMap.empty[(String, String), Long]
    for (e <- entries if e.record.exchangesFiles; c <- e.record.changes) {
      c.replaced.foreach(r => owner.remove((c.folder, r.name)))
      c.added.foreach(a => owner((c.folder, a.name)) = e.number)
    }
    owner
  }

  /** Folders with such files. */
  def folders: Set[String] = owner.keysIterator.map(_._1).toSet

  def size: Long = owner.size.toLong

  /** Forgets files that are in no folder any more: what a published run added never comes back. */
  def retain(isThere: (String, String) => Boolean): Unit =
    owner.keys.toList.filterNot { case (folder, name) => isThere(folder, name) }
      .foreach(owner.remove)

  /**
   * The files that each record replaced, by its number and folder, followed by the files that earlier runs
   * replaced on the way to those. [[withPast]] limits their number.
   */
  private lazy val past: Map[(Long, String), Vector[PastFile]] = {
    val past = mutable.HashMap.empty[(Long, String), Vector[PastFile]]
    val madeBy = mutable.HashMap.empty[(String, String), Long]
    for (e <- entries if e.record.exchangesFiles; c <- e.record.changes) {
      val before = e.past.filter(_.folder == c.folder).flatMap(_.files) ++
        c.replaced.flatMap(r => madeBy.remove((c.folder, r.name))).distinct
          .flatMap(n => past.getOrElse((n, c.folder), Vector.empty))
      val own = c.replaced.map(r => PastFile(r.name, r.length, r.modified))
      past((e.number, c.folder)) = (own ++ before).distinct.toVector
      c.added.foreach(a => madeBy((c.folder, a.name)) = e.number)
    }
    past.toMap
  }

  /**
   * The entries of a new checkpoint.
   *
   * @param needed tells which records must stay whole
   */
  def entriesFor(needed: CheckpointEntry => Boolean): Seq[CheckpointEntry] = {
    val reduced = entries.map(e => if (needed(e)) e.copy(whole = true) else reduce(e))
    val lasting = reduced.filter(e => e.whole || e.record.changes.nonEmpty).map(_.record.run).toSet
    val layout = new Runs(entries.map(e => e.number -> e.record)).inForce
      .find(_._2.columns.nonEmpty).map(_._1)
    withPast(reduced.filter { e =>
      lasting(e.record.run) || layout.contains(e.number) ||
      // without it the run that it undoes would be in force again
      e.record.undone.exists(lasting)
    })
  }

  /** What a whole record replaced stands in the record itself. */
  private def withPast(kept: Seq[CheckpointEntry]): Seq[CheckpointEntry] = {
    var room = LiveFacts.MaxPast
    kept.reverse.map { e =>
      val own = for {
        c <- e.record.changes
        known = c.replaced.map(r => PastFile(r.name, r.length, r.modified)).toSet
        files = past.getOrElse((e.number, c.folder), Vector.empty).filterNot(known).take(room)
        if files.nonEmpty
      } yield {
        room -= files.size
        PastFolder(c.folder, files)
      }
      e.copy(past = own)
    }.reverse
  }

  private def reduce(e: CheckpointEntry): CheckpointEntry = {
    val changes = e.record.changes.map { c =>
      FolderChange(
        c.folder,
        Nil,
        c.added.filter(a => owner.get((c.folder, a.name)).contains(e.number)))
    }
    e.copy(whole = false, record = e.record.copy(changes = changes.filter(_.added.nonEmpty)))
  }
}

private[log] object LiveFacts {

  /** About 10 MB of a checkpoint. */
  val MaxPast = 100000
}
