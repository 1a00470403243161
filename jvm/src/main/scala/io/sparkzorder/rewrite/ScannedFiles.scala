package io.sparkzorder.rewrite

import io.sparkzorder.commands.FolderBatches
import io.sparkzorder.table.{Folder, TableFiles}
import io.sparkzorder.table.stats.ScannedFile

/**
 * Files of a table whose footers have been read.
 *
 * @param table root and folders of the files
 * @param files in the order of their paths
 */
private[sparkzorder] final class ScannedFiles(
    table: TableFiles,
    val files: IndexedSeq[ScannedFile]) {

  /** The same files as a listing. */
  val listed: TableFiles = table.copy(files = files.map(_.file))

  private val byFolder: Map[Folder, IndexedSeq[ScannedFile]] = files.groupBy(_.file.folder)

  def folders: IndexedSeq[Folder] = listed.folders
  def in(folder: Folder): IndexedSeq[ScannedFile] = byFolder.getOrElse(folder, IndexedSeq.empty)

  def rows: Long = files.map(_.rows).sum
  def bytes: Long = files.map(_.file.length).sum

  def onlyFolders(keep: Folder => Boolean): ScannedFiles = {
    val kept = folders.filter(keep)
    val isKept = kept.toSet
    new ScannedFiles(table.copy(folders = kept), files.filter(f => isKept(f.file.folder)))
  }

  /** The files of each group of folders, in one pass over all files. */
  def divided(groups: Seq[Seq[Folder]]): Seq[ScannedFiles] = {
    val groupOf = groups.zipWithIndex.flatMap { case (g, i) => g.map(_ -> i) }.toMap
    val own = files.groupBy(f => groupOf.getOrElse(f.file.folder, -1))
    groups.zipWithIndex.map { case (g, i) =>
      new ScannedFiles(table.copy(folders = g.toIndexedSeq), own.getOrElse(i, IndexedSeq.empty))
    }
  }

  /** Some of the files; the folders stay. */
  def onlyFiles(keep: ScannedFile => Boolean): ScannedFiles =
    new ScannedFiles(table, files.filter(keep))
}

/** Divides a run into batches: whole folders that are rewritten and committed together. */
private[rewrite] object Batches {

  /**
   * Puts folders into batches of up to `batchSize` bytes, in the order of the folders.
   *
   * @param limited true if a folder above that size is an error; OPTIONS with a batch size allow it
   * @param options OPTIONS of the statement
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_TOO_LARGE
   */
  def of(
      inputs: RewriteInputs,
      selection: RewriteSelection,
      limited: Boolean,
      options: Map[String, String]): Seq[ScannedFiles] = {
    val chosen = inputs.scanned.onlyFiles(f => selection.files(f.file.path))
    val groups = new FolderBatches(inputs.target.name, inputs.settings, options)
      .of(chosen.folders.filter(chosen.in(_).nonEmpty), limited)(
        _.path.toString,
        chosen.in(_).map(_.file.length).sum)
    chosen.divided(groups)
  }
}
