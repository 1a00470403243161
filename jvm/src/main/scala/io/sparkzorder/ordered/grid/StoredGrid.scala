// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered.grid

import java.io.FileNotFoundException
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.commons.io.IOUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.cluster.{FolderGrid, FolderGridBuilder, FolderSample, GridColumn, KeyColumn}
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.util.{Directories, ExclusiveFile}

/**
 * The grid that OPTIMIZE stores for later writes.
 *
 * @param columns the names of the ordering columns
 * @param types the types of the ordering columns, as JSON
 * @param folders the grid of each folder, by the path of the folder relative to the table
 * @param pooled the grid for any folder that is not in `folders`, from the rows of all sampled folders
 * @param shuffleRatio the bytes in the shuffle for each byte in the data files
 */
private[sparkzorder] final case class StoredGrid(
    columns: Seq[String],
    types: Seq[String],
    folders: Map[String, FolderGrid],
    pooled: FolderGrid,
    shuffleRatio: Double)

private[sparkzorder] object StoredGrid {

  /**
   * The assumed bytes in the shuffle for each byte in the files, until an OPTIMIZE has measured this ratio.
   * It is above 1, because a shuffle compresses rows, and Parquet and ORC compress columns.
   */
  val UnknownRatio = 2.0

  /** At most so many folders have a grid of their own. With two columns, 10,000 such grids take 13 MB. */
  val MaxFolders = 10000

  /** The greatest number of bounds of one column of one folder, besides its cuts. */
  val MaxBounds = 256

  /** The greatest number of bounds of all folders and columns together, besides the cuts. */
  private val AllBounds = 1 << 20
  private val MinBounds = 16

  /** The greatest number of cells of one folder. */
  val MaxCells = 1 << 16

  /** The number of bounds of one column of one folder, if the table has `folders` folders. */
  def boundsFor(folders: Int, columns: Int): Int =
    math.max(MinBounds, math.min(MaxBounds, AllBounds / math.max(1, folders * columns)))
}

/**
 * Makes a grid with fewer bounds. It has all cuts, and every n-th of the bounds. Rows fall into the same cells, but
 * their places within a cell are coarser.
 */
private[sparkzorder] object ThinGrid {

  /** @param bounds the number of bounds of a column to keep, besides its cuts */
  def of(grid: FolderGrid, bounds: Int): FolderGrid = {
    val kept = grid.columns.indices.map { c =>
      // A cut at a value has the odd slot of a bound. A cut at slot 0 separates NULL from all values.
      val cuts = grid.tree.slotsOf(c).filter(_ % 2 == 1).map(_ >> 1)
      val length = grid.columns(c).bounds.length
      val step = math.max(1, (length + bounds - 1) / bounds)
      (cuts ++ (0 until length by step)).distinct.sorted.toArray
    }
    val columns = grid.columns.zip(kept).map { case (column, k) => thin(column, k) }
    val tree = grid.tree.withSlots { (c, slot) =>
      if (slot % 2 == 0) slot else 2 * java.util.Arrays.binarySearch(kept(c), slot >> 1) + 1
    }
    FolderGrid(columns, tree, grid.cells, grid.sides)
  }

  private def thin(column: GridColumn, kept: Array[Int]): GridColumn = {
    val old = column.midRanks
    // the first rank is the rank of NULL
    def rank(slot: Int): Int = old(slot + 1)
    val ranks = new Array[Int](2 * kept.length + 2)
    ranks(0) = old(0)
    var k = 0
    while (k <= kept.length) {
      val first = if (k == 0) 0 else 2 * kept(k - 1) + 2
      val last = if (k < kept.length) 2 * kept(k) else old.length - 2
      ranks(2 * k + 1) = (rank(first) + (rank(last) - rank(first)) / 2)
      if (k < kept.length) ranks(2 * k + 2) = rank(2 * kept(k) + 1)
      k += 1
    }
    GridColumn(column.bounds.take(kept), ranks)
  }
}

/**
 * Reads and writes the grid of a table, the file `_zorder/_grid/_cells`. The grid decides only how well files are
 * separated, and never which rows are written. So a missing or damaged grid is no error.
 *
 * @param root the directory of the table
 */
private[sparkzorder] final class GridStore(root: Path, conf: Configuration) extends Logging {
  private lazy val state = new StateDirectory(root, conf)
  private lazy val directory = new Path(state.home, GridStore.Name)
  private lazy val file = new Path(directory, "_cells")

  /** The grid; None if there is no grid, or if the grid cannot be used. */
  def read(): Option[StoredGrid] =
    try Some(GridStore.read(state, file))
    catch {
      case _: FileNotFoundException => None
      case NonFatal(e) =>
        logWarning(s"the grid $file is not used: ${e.getMessage}")
        None
    }

  /** Replaces the grid. Writes nothing if `_zorder` is gone, because the table was dropped. */
  def write(grid: StoredGrid): Unit =
    try {
      state.requireNoLinks()
      val bytes = GridCodec.write(grid)
      if (state.fs.exists(state.home)) {
        // a directory whose parent was removed meanwhile is not made
        Directories.makeOwned(state.fs, directory, conf)
        ExclusiveFile.replace(state.fs, file, bytes, conf)
      }
    } catch {
      case NonFatal(e) => logWarning(s"the grid $file was not written: ${e.getMessage}")
    }
}

private[sparkzorder] object GridStore {
  val Name = "_grid"

  /** @throws java.io.IOException if there is no such file, or no valid grid in it */
  private[grid] def read(state: StateDirectory, file: Path): StoredGrid = {
    GridCodec.requireSize(state.fs.getFileStatus(file).getLen)
    state.requireNoLinks()
    val in = state.fs.open(file)
    try GridCodec.read(IOUtils.toByteArray(in))
    finally in.close()
  }
}

/**
 * Reads and writes the plans of folders that are laid out in two passes, the files
 * `_zorder/_grid/_plan_<id>`. A plan is a grid whose cells are the regions of a folder. It is written once
 * and never changed. If a plan is missing or damaged, another plan is made.
 *
 * @param root the directory of the table
 * @param columns the columns by which folders are laid out
 * @param types the types of these columns
 */
private[sparkzorder] class PlanStore(
    root: Path,
    conf: Configuration,
    columns: Seq[String],
    types: Seq[String])
    extends Logging {
  private lazy val state = new StateDirectory(root, conf)

  private def file(id: String): Path =
    new Path(new Path(state.home, GridStore.Name), s"${PlanStore.Prefix}$id")

  /**
   * @param id the id of the plan, a UUID
   * @return the regions of the plan; None if the plan is gone, is damaged, or has other columns or types
   */
  def read(id: String): Option[FolderGrid] =
    try {
      Some(GridStore.read(state, file(id)))
        .filter(g => g.columns == columns && g.types == types).map(_.pooled)
    } catch {
      case _: FileNotFoundException => None
      case NonFatal(e) =>
        logWarning(s"the plan $id of $root is not used: ${e.getMessage}")
        None
    }

  protected def write(id: String, regions: FolderGrid): Unit =
    try {
      state.create()
      Directories.makeOwned(state.fs, file(id).getParent, conf)
      val thin = ThinGrid.of(regions, PlanStore.Bounds)
      val grid = StoredGrid(columns, types, Map.empty, thin, StoredGrid.UnknownRatio)
      ExclusiveFile.create(state.fs, file(id), id, GridCodec.write(grid), conf)
      ()
    } catch {
      case NonFatal(e) => logWarning(s"the plan $id of $root was not written: ${e.getMessage}")
    }

  /** Removes a plan that is completely carried out. */
  def remove(id: String): Unit =
    try {
      state.requireNoLinks()
      state.fs.delete(file(id), false)
      ()
    } catch {
      case NonFatal(e) => logWarning(s"the plan $id of $root is left: ${e.getMessage}")
    }

  /**
   * Removes plans that were left behind: by a kill after the last batch, or because another plan took their place.
   *
   * @param used the ids of the plans that files of the table refer to
   * @param retainMs plans younger than this many milliseconds stay, and in any case those younger than
   *   [[PlanStore.LeastAgeMs]]: another statement may be about to use them
   */
  def removeUnused(used: Set[String], retainMs: Long): Unit =
    try {
      state.requireNoLinks()
      val before = System.currentTimeMillis() - math.max(retainMs, PlanStore.LeastAgeMs)
      for {
        file <- state.readableFiles(new Path(state.home, GridStore.Name))
        name = file.getPath.getName
        if file.isFile && name.startsWith(PlanStore.Prefix)
        if file.getModificationTime < before && !used(name.stripPrefix(PlanStore.Prefix))
      } state.fs.delete(file.getPath, false)
    } catch {
      case NonFatal(e) => logWarning(s"old plans of $root are left: ${e.getMessage}")
    }
}

private object PlanStore {
  val Prefix = "_plan_"

  // few bounds besides the cuts, because only the cuts of a plan are used
  val Bounds = 16

  /**
   * A younger plan is not removed: a statement may still be writing the first batch of the plan, and then no file
   * refers to the plan yet.
   */
  val LeastAgeMs: Long = TimeUnit.DAYS.toMillis(1)
}

/**
 * What a run of OPTIMIZE knows about one folder.
 *
 * @param path relative to the table
 * @param rows number of rows that the run rewrote in the folder
 * @param all number of all rows of the folder
 * @param files number of files that the run wrote in the folder
 */
private[sparkzorder] final case class SampledFolder(
    path: String,
    sample: FolderSample,
    rows: Long,
    all: Long,
    files: Int)

/**
 * Makes the grid that a run of OPTIMIZE stores for later writes. The grid comes from the sample by which the run cut
 * its files.
 */
private[sparkzorder] object GridOfRun {
  // The least number of cells of a folder. A grid may have more cells than the run wrote files, because a later write
  // may have more rows than the folder has now.
  private val MinCells = 64
  private val AllMinCells = 4096
  // the pooled grid is for folders without a grid of their own, and is made from rows of all samples
  private val PooledRows = 20000
  private val PooledCells = 64
  // A run replaces the stored grid of a folder only if it has rewritten at least this share of the folder's rows. A
  // sample of fewer rows is no better than the stored grid.
  private val EnoughRows = 0.5

  /**
   * @param before the grid that is stored now
   * @param rowsOfTable number of rows of all folders
   * @param shuffleRatio bytes in the shuffle for each byte in the files; None if the run wrote too little
   *   to measure this ratio
   * @return None if the run has sampled no row
   */
  def update(
      before: Option[StoredGrid],
      columns: Seq[OrderingColumn],
      folders: Seq[SampledFolder],
      rowsOfTable: Long,
      shuffleRatio: Option[Double]): Option[StoredGrid] = {
    val sampled = folders.filter(_.sample.rows > 0)
    if (sampled.isEmpty) None
    else {
      val names = columns.map(_.name)
      val types = columns.map(_.dataType.json)
      val old = before.filter(b => b.columns == names && b.types == types)
      val known = old.fold(Map.empty[String, FolderGrid])(_.folders)
      val fresh = sampled
        .filter(f => !known.contains(f.path) || f.rows >= EnoughRows * f.all)
        .sortBy(-_.all).take(StoredGrid.MaxFolders)
      val least = math.max(1, math.min(MinCells, AllMinCells / sampled.size))
      val bounds =
        StoredGrid.boundsFor((known.keySet ++ fresh.map(_.path)).size, columns.size)
      def grid(sample: FolderSample, rows: Long, files: Int): FolderGrid = {
        val cells = math.min(StoredGrid.MaxCells, math.max(files, least))
        ThinGrid.of(
          new FolderGridBuilder(columns.map(_.dataType), sample, rows, cells, 0).build(),
          bounds)
      }
      val made = fresh.map(f => f.path -> grid(f.sample, f.all, f.files)).toMap
      val kept = (known -- made.keys).take(StoredGrid.MaxFolders - made.size)
      val pooled = old.map(_.pooled).filter(_ => sampled.map(_.rows).sum < EnoughRows * rowsOfTable)
        .getOrElse {
          if (sampled.size == 1 && made.nonEmpty) made.values.head
          else grid(pool(sampled.map(_.sample)), rowsOfTable, PooledCells)
        }
      val ratio =
        shuffleRatio.orElse(before.map(_.shuffleRatio)).getOrElse(StoredGrid.UnknownRatio)
      Some(StoredGrid(names, types, kept ++ made, pooled, ratio))
    }
  }

  /** One sample with every n-th row of each of the samples. */
  private def pool(samples: Seq[FolderSample]): FolderSample = {
    val step = math.max(1, samples.map(_.rows.toLong).sum / PooledRows).toInt
    FolderSample(samples.head.columns.indices.map { c =>
      KeyColumn.pooled(samples.map(s => s.ranked(c) -> (0 until s.rows by step)))
    })
  }
}
