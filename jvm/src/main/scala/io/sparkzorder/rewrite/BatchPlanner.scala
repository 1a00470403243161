// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import scala.collection.mutable.ArrayBuffer

import io.sparkzorder.cluster.{CutGoal, KeptColumn, QueryBox, RowSizes}
import io.sparkzorder.commands.{Phases, SampledCuts}
import io.sparkzorder.conf.Settings
import io.sparkzorder.sources._

/**
 * Decides which new file each row goes to. [[ClusterPlanner]] decides it by the ordering columns.
 * [[CompactPlanner]] joins small files and keeps the order of their rows.
 */
private[rewrite] abstract class BatchPlanner {

  /** Of the files of some whole folders those that can be rewritten. */
  def rewritable(files: IndexedSeq[FormatFile]): IndexedSeq[FormatFile] = files

  /** Selects from the files that a statement with FULL chooses those that can be rewritten. */
  def selectAll(chosen: IndexedSeq[FormatFile]): Selection = Selection(chosen)

  /**
   * Selects the files that are worth rewriting, for a statement without FULL.
   *
   * @param chosen the files that the statement chooses, at least one
   */
  def select(chosen: IndexedSeq[FormatFile]): Selection = selectAll(chosen)

  /**
   * Plans one batch. Planning may read the files, but it writes nothing.
   *
   * @param rows of files that are all [[rewritable]]
   * @param counts rows of each folder
   */
  def plan(rows: FormatRows, counts: IndexedSeq[Long]): BatchPlan

  /** Why no file is written although files were selected. */
  def nothingToDo: String
}

/**
 * Assigns rows to files by the ordering columns: samples these columns, and cuts each folder by its
 * sample.
 *
 * @param queries recorded queries, for which a batch of the whole table is cut
 */
private[rewrite] final class ClusterPlanner(
    snapshot: TableSnapshot,
    layout: LayoutTag,
    queries: IndexedSeq[QueryBox],
    settings: Settings,
    phases: Phases)
    extends BatchPlanner {
  private val columns = snapshot.columns

  override def select(chosen: IndexedSeq[FormatFile]): Selection =
    new FileSelector(snapshot, layout).select(chosen)

  override def nothingToDo: String = "there are no rows"

  override def plan(rows: FormatRows, counts: IndexedSeq[Long]): BatchPlan = {
    val byFolder = rows.files.groupBy(_.folder)
    val own = rows.folders.map(byFolder)
    // the count may be unknown and 0
    val targets = own.zip(counts).map { case (files, live) =>
      val stored = math.max(live, files.map(_.storedRecords).sum)
      SampledCuts.targetRows(settings, stored, files.map(_.bytes).sum)
    }
    val (samples, grid) = new SampledCuts(columns, settings, phases)
      .of(rows, counts, targets, i => sizes(own(i)), i => keptBeside(own(i))) { samples =>
        // a recorded query is a box of the whole table, and suits no part of it
        val isWhole = !snapshot.isPartitioned && rows.files.size == snapshot.files.size
        val isSmall = samples.map(_.rows.toLong).sum <= CutGoal.MaxRowsForQueries
        CutGoal(
          layout.weights.toIndexedSeq,
          if (isWhole && isSmall) queries else IndexedSeq.empty)
      }
    BatchPlan(
      columns,
      rows.files,
      rows.folders,
      counts,
      grid.folderOfFile.map(rows.folders(_)),
      Some(grid),
      samples)
  }

  private lazy val ofFolders = snapshot.files.groupBy(_.folder)

  /** For each ordering column the files of the same folder that are not rewritten. */
  private def keptBeside(rewritten: IndexedSeq[FormatFile]): IndexedSeq[KeptColumn] = {
    val own = rewritten.toSet
    val kept = ofFolders(rewritten.head.folder).filterNot(own)
    if (kept.isEmpty) IndexedSeq.empty
    else {
      columns.indices.map { c =>
        val infos = kept.map(_.columns(c))
        val rows = kept.map(_.storedRecords).sum
        val values = infos.map(_.values)
        KeptColumn(infos.map(_.range), values, math.max(0L, rows - values.sum))
      }
    }
  }

  /**
   * Mean bytes of a row of a folder without its ordering columns, and of a value of each ordering
   * column.
   */
  private def sizes(files: Seq[FormatFile]): RowSizes = {
    val rows = math.max(1L, files.map(_.storedRecords).sum)
    val ofColumns = columns.indices.map { c =>
      val infos = files.map(_.columns(c))
      (infos.map(_.bytes).sum.toDouble, math.max(1L, infos.map(_.values).sum))
    }
    val rest = files.map(_.bytes).sum - ofColumns.map(_._1).sum
    RowSizes(math.max(0.0, rest) / rows, ofColumns.map { case (bytes, n) => bytes / n })
  }
}

/**
 * Joins the small files of a table without ordering columns.
 *
 * @param copyAll true if large files must be written too, because another directory gets the result
 */
private[rewrite] final class CompactPlanner(targetBytes: Long, copyAll: Boolean)
    extends BatchPlanner {

  /** A file that is joined with no other is left as it is, unless `copyAll`. */
  override def rewritable(files: IndexedSeq[FormatFile]): IndexedSeq[FormatFile] = {
    val joined = groups(files).filter(copyAll || _.size > 1).flatten.toSet
    files.filter(joined)
  }

  /** Files that are left as they are need no room, and no right to replace them. */
  override def selectAll(chosen: IndexedSeq[FormatFile]): Selection = {
    val joined = rewritable(chosen)
    Selection(joined, if (joined.isEmpty) Some(nothingToDo) else None)
  }

  override def nothingToDo: String = "there are no small files to put together"

  /**
   * Joins neighbouring small files until they fill a file, so that rows stay near the rows that they
   * were written with.
   */
  override def plan(rows: FormatRows, counts: IndexedSeq[Long]): BatchPlan = {
    val outputs = groups(rows.files)
    val output = outputs.zipWithIndex.flatMap { case (g, i) => g.map(_ -> i) }.toMap
    BatchPlan(
      Nil,
      rows.files,
      rows.folders,
      counts,
      outputs.map(_.head.folder),
      fileOf = rows.files.map(output))
  }

  /** The files that become one file, of one folder. */
  private def groups(files: IndexedSeq[FormatFile]): IndexedSeq[Seq[FormatFile]] = {
    val byFolder = files.groupBy(_.folder)
    files.map(_.folder).distinct.flatMap { folder =>
      val (small, large) =
        byFolder(folder).partition(_.bytes < CompactPlanner.SmallShare * targetBytes)
      grouped(small) ++ large.map(Seq(_))
    }
  }

  private def grouped(files: Seq[FormatFile]): Seq[Seq[FormatFile]] = {
    val groups = ArrayBuffer(ArrayBuffer.empty[FormatFile])
    var bytes = 0L
    files.foreach { f =>
      if (bytes > 0 && bytes + f.bytes > targetBytes) {
        groups += ArrayBuffer.empty
        bytes = 0
      }
      groups.last += f
      bytes += f.bytes
    }
    groups.filter(_.nonEmpty).map(_.toSeq).toSeq
  }
}

private object CompactPlanner {
  // a file of at least three quarters of the wanted size is not worth rewriting
  val SmallShare = 0.75
}
