package io.sparkzorder.log

import org.apache.hadoop.fs.{FileStatus, Path}

/**
 * Undoing one run: what it added goes out, what it replaced comes back under its old names. That is a
 * change of the table like any other. Looks at the table and at the kept files as they are now, and
 * changes nothing.
 *
 * @param number of the record of the run
 * @param record the run to be undone
 * @param kept directory with the files that the run replaced
 */
final class Undo(state: StateDirectory, number: Long, record: Record, kept: Path) {

  private val inputs: Map[String, FileStatus] = byName(kept)

  private val table: Map[String, Map[String, FileStatus]] =
    record.changes.map(c => c.folder -> byName(state.folder(c.folder))).toMap

  /** Why the run cannot be undone, as the end of a sentence; None when it can. */
  def obstacle: Option[String] =
    if (!state.isDone(number)) Some("it is not published yet")
    else if (state.hasConflict(number)) {
      Some(s"it met a conflict when it was published; what it replaced lies in $kept")
    } else if (inputs.isEmpty) Some("the files that it replaced are not retained any more")
    else {
      val gone = record.changes.flatMap(_.replaced).find(r => !inputs.get(r.retained).exists(is(r)))
      gone.map(r =>
        s"${r.retained} in $kept, one of the files that it replaced, was removed or changed")
        .orElse(record.changes.flatMap(obstacleIn).headOption)
    }

  private def obstacleIn(change: FolderChange): Option[String] = {
    val there = table(change.folder)
    def path(name: String) = if (change.folder.isEmpty) name else s"${change.folder}/$name"
    val touched = change.added.flatMap { a =>
      there.get(a.name) match {
        case None => Some(s"${path(a.name)}, which it wrote, was removed since")
        case Some(s) if !isAsWritten(a, s) =>
          Some(s"${path(a.name)}, which it wrote, was changed since")
        case _ => None
      }
    }
    val taken = change.replaced.find(r => there.contains(r.name))
      .map(r => s"a file ${path(r.name)} was written since, and it replaced one of that name")
    touched.headOption.orElse(taken)
  }

  private def is(r: Replaced)(s: FileStatus): Boolean =
    s.getLen == r.length && s.getModificationTime == r.modified

  // a record that does not say when its files were written: before they were published
  private def isAsWritten(a: Added, s: FileStatus): Boolean =
    s.getLen == a.length && (
      if (a.modified > 0) s.getModificationTime == a.modified
      else s.getModificationTime <= state.doneSince(number)
    )

  /** The kept files by their names. */
  def keptFiles: Seq[FileStatus] = inputs.values.toSeq.sortBy(_.getPath.getName)

  /**
   * The change that undoes the run; only when there is no obstacle.
   *
   * @param staged path of a kept file below the staging directory of the undo
   * @param rows of a kept file by its name
   */
  def changes(staged: String => String, rows: Map[String, Long]): Seq[FolderChange] = {
    val names = record.changes.flatMap(c => c.added.map(a => (c.folder, a.name))).zipWithIndex.toMap
    record.changes.map { c =>
      FolderChange(
        c.folder,
        c.added.map { a =>
          val modified = table(c.folder)(a.name).getModificationTime
          Replaced(a.name, a.length, modified, s"_${names((c.folder, a.name))}")
        },
        c.replaced.map { r =>
          Added(staged(r.retained), r.name, r.length, rows(r.retained), r.modified)
        })
    }
  }

  private def byName(directory: Path): Map[String, FileStatus] =
    state.files(directory).filter(_.isFile).map(s => s.getPath.getName -> s).toMap
}
