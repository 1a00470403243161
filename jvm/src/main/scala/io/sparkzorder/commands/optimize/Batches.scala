package io.sparkzorder.commands.optimize

import scala.collection.mutable.ArrayBuffer

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.{Folder, TableFiles}
import io.sparkzorder.table.stats.Footer

/** Whole folders that are rewritten and committed at once. */
final case class Batch(files: TableFiles, footers: IndexedSeq[Footer])

object Batches {

  /**
   * Folders in their order, put together up to `batchSize` bytes.
   *
   * @param chosen the files to rewrite, of those in `p`
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_TOO_LARGE for one folder above
   *   that size, unless the statement says INTO or a batch size itself
   */
  def of(
      p: Prepared,
      chosen: Choice,
      options: Map[String, String],
      into: Boolean): Seq[Batch] = {
    val files = chosen.of(p.files)
    val limit = p.settings(Settings.BatchSize)
    val bytes = files.files.groupBy(_.folder).map { case (f, fs) => f -> fs.map(_.length).sum }
    val asked = into || options.keys.exists(_.equalsIgnoreCase(Settings.BatchSize.key))
    val groups = ArrayBuffer(ArrayBuffer.empty[Folder])
    var sum = 0L
    files.folders.filter(f => bytes.contains(f.ordinal)).foreach { folder =>
      val size = bytes(folder.ordinal)
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
    val byPath = p.footers.map(f => f.file.path -> f).toMap
    groups.toSeq.filter(_.nonEmpty).map { g =>
      val own = g.map(_.ordinal).toSet
      val inBatch = files.onlyFolders(f => own(f.ordinal))
      Batch(inBatch, inBatch.files.map(f => byPath(f.path).copy(file = f)))
    }
  }
}
