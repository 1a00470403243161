package io.sparkzorder.index

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration

import org.apache.spark.internal.Logging

import io.sparkzorder.rewrite.{Record, StateDirectory}
import io.sparkzorder.tables.Footer

/**
 * Keeps a table's index up to date with what OPTIMIZE has just published. A rename keeps a file's length
 * and time, so the footers of staged files speak for the files in their places. Whatever goes wrong here
 * costs skipping, never rows: a file without an entry is read.
 */
object IndexUpdate extends Logging {

  /**
   * @param record what was published
   * @param footers of the files that were written, as they were staged
   * @param ordering name parts of the ordering columns, which are always indexed
   */
  def after(
      state: StateDirectory,
      record: Record,
      footers: Seq[Footer],
      ordering: Seq[Seq[String]],
      conf: Configuration): Unit =
    try {
      // a state directory that vanished means that the table was overwritten
      if (state.fs.exists(state.home)) {
        val places = placesOf(record)
        val gone = replaced(record)
        new IndexStore(state.root, conf).update { before =>
          val chosen = before.flatMap(_._1.chosen)
          val making = new FooterEntries(ColumnChoice(chosen, ordering))
          val added = IndexContent.of(footers.flatMap(f =>
            places.get(f.file.path.getName).map(making.of(f, _))))
          val kept = before.map { case (_, content) =>
            IndexContent.select(content, i => !gone(content.files.path(i)))
          }
          (IndexContent.concat(kept.toSeq :+ added), chosen)
        }
      }
    } catch {
      case NonFatal(e) => logWarning(s"the index of ${state.root} was not updated", e)
    }

  /** Where each staged file goes, by its name. */
  private def placesOf(record: Record): Map[String, String] =
    record.changes.flatMap(c => c.added.map(a => a.staged -> below(c.folder, a.name))).toMap

  private def replaced(record: Record): Set[String] =
    record.changes.flatMap(c => c.replaced.map(r => below(c.folder, r.name))).toSet

  private def below(folder: String, name: String): String =
    if (folder.isEmpty) name else s"$folder/$name"
}
