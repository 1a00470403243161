package io.sparkzorder.commands.optimize

import io.sparkzorder.log.Record
import io.sparkzorder.table.{DataFile, TableFiles}
import io.sparkzorder.util.Paths

/**
 * Which files of a table an earlier OPTIMIZE made for the same columns and the same file size, as the
 * records in `_zorder/` have it. A file counts only as the run left it: its name holds the run's id.
 *
 * @param records ascending
 */
private[sparkzorder] final class LaidOutFiles(
    records: Seq[Record],
    files: TableFiles,
    columns: Seq[String],
    targetFileSize: Long) {

  private val (same, others) = records.filter(_.kind == Record.Optimize)
    .partition(r => r.columns == columns && r.targetFileSize == targetFileSize)

  private val made: Map[(String, String), (Record, Long)] =
    (for {
      record <- same
      change <- record.changes
      file <- change.added
    } yield (change.folder, file.name) -> ((record, file.length))).toMap

  private val folderNames = files.folders.map(f => Paths.relative(files.root, f.path))

  /** The run that made a file, if it is as that run left it. */
  def runOf(file: DataFile): Option[String] =
    made.get((folderNames(file.folder), file.path.getName))
      .filter { case (_, length) => length == file.length }
      .map(_._1.run)

  /** Why files of earlier runs are rewritten all the same, if there are any. */
  def otherLayout: Option[String] = {
    val present = files.files.map(f => (folderNames(f.folder), f.path.getName)).toSet
    others.reverseIterator
      .find(_.changes.exists(c => c.added.exists(a => present((c.folder, a.name)))))
      .map { r =>
        if (r.columns != columns) s"its layout was by (${r.columns.mkString(", ")})"
        else s"its layout was for files of ${r.targetFileSize} bytes"
      }
  }
}
