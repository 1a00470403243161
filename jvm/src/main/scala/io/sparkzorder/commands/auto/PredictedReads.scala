// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import io.sparkzorder.cluster._
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{ColumnRange, FileRange}
import io.sparkzorder.workload.Workload

/**
 * What AUTO knows of an existing file.
 *
 * @param ranges the range of each column in the file
 */
private[sparkzorder] final case class JudgedFile(rows: Long, ranges: IndexedSeq[ColumnRange])

/**
 * The files of one folder of the table, and a sample of its rows.
 *
 * @param sample a sample of all columns that may become ordering columns
 * @param targetRows the wanted number of rows of a new file
 */
private[sparkzorder] final case class JudgedFolder(
    files: IndexedSeq[JudgedFile],
    sample: FolderSample,
    targetRows: Double) {
  val rows: Long = files.map(_.rows).sum
  lazy val ranked: IndexedSeq[RankedColumn] = sample.ranked
}

/**
 * Predicts how many bytes the recorded scans would read in a layout. The filters of a recorded scan are given as a
 * ''box'': for each column, the intervals of values that match.
 *
 * @param all the folders of the table
 * @param cutByQueries true if OPTIMIZE will cut the files along the edges of the recorded boxes
 */
private[sparkzorder] final class PredictedReads(
    columns: IndexedSeq[OrderingColumn],
    all: Seq[JudgedFolder],
    queries: RecordedQueries,
    cutByQueries: Boolean) {
  import PredictedReads._

  private val folders = all.filter(f => f.rows > 0 && f.sample.rows > 0)
  private val rows = all.map(_.rows).sum.toDouble
  private val boxes = queries.boxesOf(columns.indices)

  /** For each folder and box, the ranks that match in each column. */
  private lazy val sides: Seq[IndexedSeq[Sides]] = {
    val whole = columns.indices.map(new WholeColumn(folders, _))
    folders.map { f =>
      boxes.map(_.sides.zipWithIndex.map { case (side, c) =>
        side.map(_.flatMap { case (from, until) => whole(c).ranksIn(f, from, until) })
      })
    }
  }

  /**
   * The bytes that the scans would read if OPTIMIZE laid out the table by `candidate`, estimated from the sample.
   */
  def of(candidate: Candidate): Double = {
    val cut = if (cutByQueries) queries.boxesOf(candidate.columns) else IndexedSeq.empty
    val goal = CutGoal(candidate.weights.toIndexedSeq, cut)
    reads(folders.zip(sides).map { case (f, sides) =>
      val own = FolderSample(candidate.columns.map(f.sample.columns(_)).toIndexedSeq)
      val grid = Grid.build(
        candidate.columns.map(c => (columns(c).name, columns(c).dataType)),
        IndexedSeq(f.rows),
        IndexedSeq(f.targetRows),
        IndexedSeq(own),
        goal)
      grid.folders.flatten.map(cells(_, sides.map(only(_, candidate.columns)))).reduce(plus)
    })
  }

  /**
   * The sides of a box in some columns. If the folder has no matching value in any one column of the box, a scan reads
   * nothing of the folder, even if that column is not among `some`. The result then matches no rank.
   */
  private def only(sides: Sides, some: Seq[Int]): Sides =
    some.map(c => if (sides.exists(_.exists(_.isEmpty))) Some(Nil) else sides(c)).toIndexedSeq

  /** For each box, the number of rows in those files of a folder that a scan with this box reads. */
  private def cells(grid: FolderGrid, boxes: IndexedSeq[Sides]): IndexedSeq[Double] = {
    // a file may hold several cells, and is read as a whole
    val files = grid.cells.groupBy(_.file).values.toSeq
    boxes.map { sides =>
      files.filter(_.exists(cell =>
        meets(sides, c => (cell.box.leastValue(c), cell.box.highest(c)))))
        .map(_.map(_.rows).sum).sum
    }
  }

  /** The bytes that the scans read of the present files, judged by the ranges of these files. */
  lazy val today: Double = reads(folders.zip(sides).map { case (f, boxes) =>
    val spans = columns.indices.map(c => f.files.map(file => span(file.ranges(c), f.ranked(c))))
    boxes.map { sides =>
      f.files.indices.filter(i => meets(sides, c => spans(c)(i)))
        .map(i => f.files(i).rows.toDouble).sum
    }
  })

  private def reads(ofFolders: Seq[IndexedSeq[Double]]): Double =
    boxes.zip(ofFolders.reduce(plus)).map { case (b, read) => b.weight * read / rows }.sum

  /** The ranks between which the values of a file lie; all ranks if the range of the file is not known. */
  private def span(range: ColumnRange, c: RankedColumn): (Int, Int) =
    range match {
      case ColumnRange.Empty => (0, -1)
      case ColumnRange.Unknown => (0, Int.MaxValue)
      case r: FileRange =>
        val (low, high) = c.ranksIn(r)
        // if no sampled value lies in the range, the next greater sampled value stands for the file
        (low, math.max(low, high))
    }
}

private object PredictedReads {

  /** For each column, the least and greatest rank of each interval; None if the box does not restrict it. */
  private type Sides = IndexedSeq[Option[Seq[(Int, Int)]]]

  /** @param ranks for each column, the least and greatest rank of a file or cell */
  private def meets(sides: Sides, ranks: Int => (Int, Int)): Boolean =
    sides.indices.forall { c =>
      val (lowest, highest) = ranks(c)
      sides(c).forall(_.exists { case (low, high) => low <= highest && high >= lowest })
    }

  private def plus(a: IndexedSeq[Double], b: IndexedSeq[Double]): IndexedSeq[Double] =
    a.zip(b).map { case (x, y) => x + y }
}

/**
 * Translates values of a column from the recorded workload to the ranks of a folder. The workload records a
 * value as a share: how many of all rows of the table lie below the value. The ranks of a folder differ from
 * these shares, because a folder may hold only a part of the values, such as those of one day.
 *
 * @param folders folders with sampled rows
 * @param c number of the column in the samples
 */
private[auto] final class WholeColumn(folders: Seq[JudgedFolder], c: Int) {

  private val whole: RankedColumn =
    if (folders.size == 1) folders.head.ranked(c)
    else {
      // The sample of a small folder has a larger share of its rows, so the same share of each folder is taken.
      val share = folders.map(f => f.sample.rows.toDouble / f.rows).min
      KeyColumn.pooled(folders.map { f =>
        val all = f.sample.rows
        val n = math.max(1, math.min(all.toLong, math.round(share * f.rows)).toInt)
        (f.ranked(c), (0 until n).map(i => (i.toLong * all / n).toInt))
      })
    }

  /**
   * The least and the greatest rank in a folder of the values between two shares of the whole table.
   *
   * @return None if the folder has no such values
   */
  def ranksIn(folder: JudgedFolder, from: Double, until: Double): Option[(Int, Int)] = {
    val own = folder.ranked(c).distinct
    // a sample of NULLs alone has no value
    if (whole.distinct.length == 0 || own.length == 0) None
    else {
      // an odd slot is a sampled value, an even slot is the gap below one (see BoundsIndex)
      val low = (own.slotOfKey(key(whole.rankAt(from))) >> 1) + 1
      val high = (own.slotOfKey(key(whole.rankUntil(from, until))) + 1) >> 1
      // If no sampled value lies in the interval, the next greater sampled value stands for the interval. A file
      // with values of the interval likely has one of the two sampled values beside the interval, too.
      if (low > own.length || high < 1) None else Some((low, math.max(low, high)))
    }
  }

  private def key(rank: Int): AnyRef = whole.distinct.key(rank - 1)
}

/**
 * A sample of the columns by which recorded scans can skip files.
 *
 * @param values for each column, the greatest number of distinct values that the sample of one folder has
 * @param files the number of files that a layout of the whole table would have
 * @param bytes the size of all files
 */
private[sparkzorder] final case class Sampled private (
    columns: IndexedSeq[OrderingColumn],
    values: IndexedSeq[Int],
    files: Int,
    bytes: Long,
    queries: RecordedQueries,
    reads: PredictedReads)

private[sparkzorder] object Sampled {
  // of more columns, there would be too many sets to judge them all
  val MaxColumns = 8
  private val MinSample = 20000L
  private val RowsPerFile = 100L
  // the driver holds the sampled rows in memory, reduced to at most `MaxColumns` columns
  private val MaxSample = 1000000L

  /** The number of rows to sample if the layout has `files` files. */
  def rowsFor(files: Long): Long = math.max(MinSample, math.min(MaxSample, RowsPerFile * files))

  /** The number of files of all folders, from the rows and the target rows of each folder. */
  def filesOf(rows: Seq[Long], targets: Seq[Double]): Long =
    rows.zip(targets).map { case (r, t) => math.ceil(r / t).toLong }.sum

  /**
   * @param folders at least one folder
   * @param bytes the size of all files
   * @param isWhole true if one batch lays out the whole table: only then do cuts follow the recorded queries
   */
  def of(
      columns: IndexedSeq[OrderingColumn],
      folders: IndexedSeq[JudgedFolder],
      workload: Workload,
      bytes: Long,
      isWhole: Boolean): Sampled = {
    val files = filesOf(folders.map(_.rows), folders.map(_.targetRows))
    val queries =
      new RecordedQueries(workload, columns.map(_.parts.head), folders.map(_.files.size).sum)
    // the condition under which OPTIMIZE of the whole table cuts along the queries
    val cutByQueries = isWhole && Sampler.rowsFor(files) <= CutGoal.MaxRowsForQueries
    new Sampled(
      columns,
      columns.indices.map(c => folders.map(_.ranked(c).sorted.weights.length).max),
      math.max(1L, files).toInt,
      bytes,
      queries,
      new PredictedReads(columns, folders, queries, cutByQueries))
  }
}
