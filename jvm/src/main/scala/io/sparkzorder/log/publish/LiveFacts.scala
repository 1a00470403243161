package io.sparkzorder.log.publish

import scala.collection.mutable

import io.sparkzorder.log.{CheckpointEntry, FolderChange, Runs}

/**
 * What published records still tell: the files that they added and that no later one replaced. It keeps
 * a listing right that was made during an exchange, and tells OPTIMIZE which files it made.
 *
 * @param entries ascending by number, from an older checkpoint or from the record files
 */
private[log] final class LiveFacts(entries: Seq[CheckpointEntry]) {

  /** The record that added each file which is in the table by the records: folder and name. */
  private val owner: mutable.Map[(String, String), Long] = {
    val owner = mutable.HashMap.empty[(String, String), Long]
    for (e <- entries; c <- e.record.changes) {
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
   * The entries of a new checkpoint.
   *
   * @param needed tells which records must stay whole
   */
  def entriesFor(needed: CheckpointEntry => Boolean): Seq[CheckpointEntry] = {
    val reduced = entries.map(e => if (needed(e)) e.copy(whole = true) else reduce(e))
    val lasting = reduced.filter(e => e.whole || e.record.changes.nonEmpty).map(_.record.run).toSet
    val layout = new Runs(entries.map(e => e.number -> e.record)).inForce
      .find(_._2.columns.nonEmpty).map(_._1)
    reduced.filter { e =>
      lasting(e.record.run) || layout.contains(e.number) ||
      // without it the run that it undoes would be in force again
      e.record.undone.exists(lasting)
    }
  }

  private def reduce(e: CheckpointEntry): CheckpointEntry = {
    val changes = e.record.changes.map { c =>
      FolderChange(
        c.folder,
        Nil,
        c.added.filter(a => owner.get((c.folder, a.name)).contains(e.number)))
    }
    CheckpointEntry(
      e.number,
      whole = false,
      e.record.copy(changes = changes.filter(_.added.nonEmpty)))
  }
}
