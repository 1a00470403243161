// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.util.UUID

import scala.annotation.tailrec

import io.sparkzorder.cluster.{
  CutGoal,
  FolderGridBuilder,
  Grid,
  KeptColumn,
  QueryBox,
  RowSizes,
  Sampler
}
import io.sparkzorder.commands.{Phases, SampledCuts}
import io.sparkzorder.conf.Settings
import io.sparkzorder.sources._

/**
 * Plans one batch. The plan of [[ClusterPlanner]] has a grid, by which `cluster.Placement` places each row. The
 * plan of [[CompactPlanner]] joins small files, and keeps the order of their rows.
 */
private[rewrite] abstract class BatchPlanner {

  /**
   * Selects the files that can be rewritten.
   *
   * @param files files of some folders
   */
  def rewritable(files: IndexedSeq[FormatFile]): IndexedSeq[FormatFile] = files

  /**
   * Selects the files that can be rewritten, for a statement with FULL. A compaction selects the same files with and
   * without FULL.
   *
   * @param chosen the files that the statement chooses
   */
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
   * @param rows the rows of files that are all [[rewritable]]
   * @param counts the number of rows of each folder
   */
  def plan(rows: FormatRows, counts: IndexedSeq[Long], pass: Pass): BatchPlan

  /**
   * Divides the files of a folder that are too many for one batch into batches that do not depend on each
   * other.
   *
   * @return None if each new file may get rows of any file
   */
  def parts(files: IndexedSeq[FormatFile], limit: Long): Option[Seq[IndexedSeq[FormatFile]]]

  /**
   * Divides the rows of a folder into regions that can be laid out one by one.
   *
   * @param rows the rows of the files of one folder
   * @param limit the greatest size of a region in bytes, except a region in which all rows have the same key
   */
  def regions(rows: FormatRows, limit: Long): RegionPlan

  /** Why no file is written although files were selected. */
  def nothingToDo: String
}

/**
 * Assigns rows to files by the ordering columns: samples these columns, and cuts each folder by its
 * sample.
 *
 * @param queries recorded queries, for which the cuts are chosen if a batch is the whole table
 */
private[rewrite] final class ClusterPlanner(
    snapshot: TableSnapshot,
    layout: LayoutTag,
    queries: IndexedSeq[QueryBox],
    settings: Settings,
    phases: Phases)
    extends BatchPlanner {
  private val columns = snapshot.columns

  override def select(chosen: IndexedSeq[FormatFile]): Selection = {
    val limit = settings(Settings.BatchSize)
    val most = if (snapshot.plans.isEmpty) limit else Batches.most(limit, layout.targetFileSize)
    new FileSelector(snapshot, layout, most).select(chosen)
  }

  override def parts(
      files: IndexedSeq[FormatFile],
      limit: Long): Option[Seq[IndexedSeq[FormatFile]]] = None

  override def nothingToDo: String = "there are no rows"

  override def regions(rows: FormatRows, limit: Long): RegionPlan = {
    val isUnknown = rows.files.exists(f => f.isUncounted && f.records == 0)
    val count =
      if (isUnknown) phases("count")(rows.frame.count()) else rows.files.map(_.records).sum
    val bytes = rows.files.map(_.bytes).sum
    val files = Grid.filesFor(count, SampledCuts.targetRows(settings, count, bytes))
    val wanted = settings.get(Settings.SampleRows)
      .getOrElse(math.min(Sampler.rowsFor(files.toLong), ClusterPlanner.RowsForRegions))
    val sample = phases("sample") {
      Sampler.sample(rows, columns, IndexedSeq(count), wanted).head.copy(sizes = sizes(rows.files))
    }
    val stop = math.max(1, (files.toDouble * limit / bytes).toInt)
    val cut = phases("cuts") {
      new FolderGridBuilder(
        columns.map(_.dataType),
        sample,
        count,
        files,
        0,
        CutGoal(layout.weights.toIndexedSeq),
        keptBeside(rows.files),
        stop = stop).build()
    }
    // A cell of more than `stop` files could not be cut, because all its rows have one key. `rows = 0` marks such a
    // cell, and `plan` then gives it region 0.
    val grid = cut.copy(cells = cut.cells.map(c => if (c.files > stop) c.copy(rows = 0) else c))
    RegionPlan(UUID.randomUUID().toString, rows.folders.head, grid, sample, count, files)
  }

  override def plan(rows: FormatRows, counts: IndexedSeq[Long], pass: Pass): BatchPlan = {
    val regions = pass match {
      case Deal(_, grid) => Some(grid)
      case _ => None
    }
    val byFolder = rows.files.groupBy(_.folder)
    val own = rows.folders.map(byFolder)
    // a count of 0 may mean that the number of rows is unknown
    val targets = own.zip(counts).map { case (files, live) =>
      val stored = math.max(live, files.map(_.storedRecords).sum)
      SampledCuts.targetRows(settings, stored, files.map(_.bytes).sum)
    }
    val (samples, grid) = new SampledCuts(columns, settings, phases)
      .of(
        rows,
        counts,
        targets,
        i => sizes(own(i)),
        i => keptBeside(own(i)),
        _ => regions) { samples =>
        // recorded queries are boxes in the whole table, so they are of no use for a part of the table
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
      samples,
      pass = pass match {
        case OnePass => None
        case Deal(plan, _) => Some(PlannedPass(
            plan,
            grid.regionOfFile.map(r => if (regions.exists(_.cells(r).rows == 0)) 0 else r + 1)))
        case Gather(plan) => Some(PlannedPass(plan))
      })
  }

  private lazy val ofFolders = snapshot.files.groupBy(_.folder)

  /** For each ordering column, its statistics in the files of the same folder that are not rewritten. */
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
   * The mean bytes of a row without the ordering columns, and the mean bytes of a value of each ordering
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

  /**
   * A file that is joined with no other is left as it is, unless `copyAll`. Without such a file its neighbours may form
   * other groups, so the files are grouped until no file is alone. Then [[plan]] makes the same groups again.
   */
  @tailrec
  override def rewritable(files: IndexedSeq[FormatFile]): IndexedSeq[FormatFile] = {
    val joined = groups(files).filter(copyAll || _.size > 1).flatten.toSet
    if (joined.size == files.size) files else rewritable(files.filter(joined))
  }

  /** Leaves out files that stay as they are, because such files need neither free space nor write access. */
  override def selectAll(chosen: IndexedSeq[FormatFile]): Selection = {
    val joined = rewritable(chosen)
    Selection(joined, if (joined.isEmpty) Some(nothingToDo) else None)
  }

  override def nothingToDo: String = "there are no small files to put together"

  /**
   * Joins neighbouring small files until they fill a file, so that rows stay near the rows that they
   * were written with.
   */
  override def plan(rows: FormatRows, counts: IndexedSeq[Long], pass: Pass): BatchPlan = {
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

  override def parts(
      files: IndexedSeq[FormatFile],
      limit: Long): Option[Seq[IndexedSeq[FormatFile]]] =
    Some(Batches.filled(groups(files), limit)(_.map(_.bytes).sum).map(_.flatten))

  override def regions(rows: FormatRows, limit: Long): RegionPlan =
    throw new UnsupportedOperationException("a compaction has no regions")

  /** Groups of files. The files of a group lie in one folder and are joined to one file. */
  private def groups(files: IndexedSeq[FormatFile]): IndexedSeq[Seq[FormatFile]] = {
    val byFolder = files.groupBy(_.folder)
    files.map(_.folder).distinct.flatMap { folder =>
      val (small, large) =
        byFolder(folder).partition(_.bytes < CompactPlanner.SmallShare * targetBytes)
      Batches.filled(small, targetBytes)(_.bytes) ++ large.map(IndexedSeq(_))
    }
  }
}

private object ClusterPlanner {

  /** The regions of a folder need fewer sampled rows than its files. */
  val RowsForRegions = 1000000L
}

private object CompactPlanner {
  // a file of at least three quarters of the wanted size is not worth rewriting
  val SmallShare = 0.75
}
