package io.sparkzorder.commands

import scala.collection.mutable.ArrayBuffer

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.tables.{Folder, Footer, TableFiles}

/** Whole folders that are rewritten and committed at once. */
final case class Batch(files: TableFiles, footers: IndexedSeq[Footer])

object Batches {

  /**
   * Folders in their order, put together up to `batchSize` bytes.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_TOO_LARGE for one folder above
   *   that size, unless the statement says INTO or a batch size itself
   */
  def of(p: Prepared, options: Map[String, String], into: Boolean): Seq[Batch] = {
    val limit = p.settings(Settings.BatchSize)
    val bytes = p.files.files.groupBy(_.folder).map { case (f, fs) => f -> fs.map(_.length).sum }
    val asked = into || options.keys.exists(_.equalsIgnoreCase(Settings.BatchSize.key))
    val groups = ArrayBuffer(ArrayBuffer.empty[Folder])
    var sum = 0L
    p.files.folders.foreach { folder =>
      val size = bytes.getOrElse(folder.ordinal, 0L)
      if (size > limit && !asked) {
        throw ZOrderErrors.partitionTooLarge(p.target.name, folder.path.toString, size, limit)
      }
      if (groups.last.nonEmpty && sum + size > limit) {
        groups += ArrayBuffer.empty
        sum = 0L
      }
      groups.last += folder
      sum += size
    }
    groups.toSeq.map { g =>
      val chosen = g.map(_.ordinal).toSet
      val files = p.files.onlyFolders(f => chosen(f.ordinal))
      val byPath = p.footers.map(f => f.file.path -> f).toMap
      Batch(files, files.files.map(f => byPath(f.path).copy(file = f)))
    }
  }
}
