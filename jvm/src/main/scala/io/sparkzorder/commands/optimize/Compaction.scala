package io.sparkzorder.commands.optimize

import scala.collection.mutable.ArrayBuffer

import io.sparkzorder.table.{DataFile, TableFiles}

/**
 * Which small files are put together when a table has no ordering columns.
 *
 * @param chosen the files to rewrite, with ordinals of their own
 * @param fileOf number of the output file of each chosen file
 * @param folderOfFile folder of each output file
 */
final case class Compaction(
    chosen: TableFiles,
    fileOf: IndexedSeq[Int],
    folderOfFile: IndexedSeq[Int])

object Compaction {
  // a file of three quarters of the wanted size is not worth rewriting
  private val SmallShare = 0.75

  /**
   * Neighbours are put together until they fill a file, so that rows stay near the rows that they
   * were written with. A file that would stay alone is left as it is, unless `copyAll`.
   *
   * @param copyAll every file must come out, because the result lies elsewhere
   */
  def plan(files: TableFiles, targetBytes: Long, copyAll: Boolean): Compaction = {
    val groups = files.folders.flatMap { folder =>
      val own = files.files.filter(_.folder == folder.ordinal)
      val (small, large) = own.partition(_.length < SmallShare * targetBytes)
      val joined = group(small, targetBytes)
      if (copyAll) joined ++ large.map(Seq(_)) else joined.filter(_.size > 1)
    }
    val output = groups.zipWithIndex.flatMap { case (g, i) => g.map(_.ordinal -> i) }.toMap
    val chosen = files.onlyFiles(f => output.contains(f.ordinal))
    val old = files.files.filter(f => output.contains(f.ordinal))
    Compaction(chosen, old.map(f => output(f.ordinal)), groups.map(_.head.folder))
  }

  private def group(files: Seq[DataFile], target: Long): Seq[Seq[DataFile]] = {
    val groups = ArrayBuffer(ArrayBuffer.empty[DataFile])
    var bytes = 0L
    files.foreach { f =>
      if (bytes > 0 && bytes + f.length > target) {
        groups += ArrayBuffer.empty
        bytes = 0
      }
      groups.last += f
      bytes += f.length
    }
    groups.filter(_.nonEmpty).map(_.toSeq).toSeq
  }
}
