// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import io.sparkzorder.cluster._
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * A file as it is now.
 *
 * @param ranges of each column
 */
private[sparkzorder] final case class JudgedFile(
    rows: Long,
    ranges: IndexedSeq[ColumnRange])

/**
 * The files of one folder of the table, and a sample of its rows.
 *
 * @param sample of all columns that may become ordering columns
 * @param targetRows rows that a new file should have
 */
private[sparkzorder] final case class SampledFolder(
    files: IndexedSeq[JudgedFile],
    sample: FolderSample,
    targetRows: Double) {
  val rows: Long = files.map(_.rows).sum
  lazy val ranked: IndexedSeq[RankedColumn] = sample.ranked
}

/**
 * Predicts how many bytes recorded scans read of a layout.
 *
 * @param all the folders of the table
 * @param cutByQueries true if files will be cut along the recorded boxes
 */
private[sparkzorder] final class PredictedReads(
    columns: IndexedSeq[OrderingColumn],
    all: Seq[SampledFolder],
    queries: RecordedQueries,
    cutByQueries: Boolean) {
  import PredictedReads._

  private val folders = all.filter(f => f.rows > 0 && f.sample.rows > 0)
  private val rows = all.map(_.rows).sum.toDouble
  private val boxes = queries.boxesOf(columns.indices)

  /** For each folder and box the ranks that match in each column. */
  private lazy val sides: Seq[IndexedSeq[Sides]] = {
    val whole = columns.indices.map(new WholeColumn(folders, _))
    folders.map { f =>
      boxes.map(_.sides.zipWithIndex.map { case (side, c) =>
        side.map(_.flatMap { case (from, until) => whole(c).ranksIn(f, from, until) })
      })
    }
  }

  /** What they read of a candidate: its files are cut as OPTIMIZE would cut them, but by this sample. */
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

  /** A folder without any value of a box is not read, by whatever columns its files are cut. */
  private def only(sides: Sides, some: Seq[Int]): Seq[Option[Seq[(Int, Int)]]] =
    if (sides.exists(_.exists(_.isEmpty))) some.map(_ => Some(Nil)) else some.map(sides(_))

  /** @return the rows that each box reads */
  private def cells(grid: FolderGrid, boxes: IndexedSeq[Seq[Option[Seq[(Int, Int)]]]])
      : IndexedSeq[Double] = {
    // rows of a file that holds several cells are read together
    val files = grid.cells.groupBy(_.file).values.toSeq
    boxes.map { sides =>
      files.filter(_.exists(cell =>
        sides.indices.forall(c =>
          sides(c).forall(_.exists { case (low, high) =>
            low <= cell.box.highest(c) && high >= cell.box.lowest(c)
          })))).map(_.map(_.rows).sum).sum
    }
  }

  /** What they read of the files as they are, by their footers. */
  lazy val today: Double = reads(folders.zip(sides).map { case (f, boxes) =>
    val spans = columns.indices.map(c => f.files.map(file => span(file.ranges(c), f.ranked(c))))
    boxes.map { sides =>
      f.files.indices.filter(i =>
        sides.indices.forall(c =>
          sides(c).forall(_.exists { case (low, high) =>
            low <= spans(c)(i)._2 && high >= spans(c)(i)._1
          }))).map(i => f.files(i).rows.toDouble).sum
    }
  })

  private def reads(ofFolders: Seq[IndexedSeq[Double]]): Double =
    boxes.zip(ofFolders.reduce(plus)).map { case (b, read) => b.weight * read / rows }.sum

  /** The ranks between which the values of a file lie; all ranks if that is not known. */
  private def span(range: ColumnRange, c: RankedColumn): (Int, Int) =
    range match {
      case ColumnRange.Empty => (0, -1)
      case ColumnRange.Unknown => (0, Int.MaxValue)
      case r: FileRange =>
        // an odd slot is that of a sampled value, an even slot lies between two of them
        val low = (c.distinct.slotOf(r.min) >> 1) + 1
        // if no sampled value lies in the file, the value after it stands for the file
        (low, math.max(low, (c.distinct.slotOf(r.max) + 1) >> 1))
    }
}

private object PredictedReads {

  /** For each column the least and greatest rank of each interval; None without restriction. */
  private type Sides = IndexedSeq[Option[Seq[(Int, Int)]]]

  private def plus(a: IndexedSeq[Double], b: IndexedSeq[Double]): IndexedSeq[Double] =
    a.zip(b).map { case (x, y) => x + y }
}

/**
 * A column of the whole table, whose shares the record of the workload has. A folder may hold another
 * part of the values, such as those of one day.
 *
 * @param folders folders with sampled rows
 * @param c number of the column in the samples
 */
private[auto] final class WholeColumn(folders: Seq[SampledFolder], c: Int) {

  private val whole: RankedColumn =
    if (folders.size == 1) folders.head.ranked(c)
    else {
      // a small folder has more of its rows in its sample than a large one
      val share = folders.map(f => f.sample.rows.toDouble / f.rows).min
      KeyColumn.pooled(folders.map { f =>
        val all = f.sample.rows
        val n = math.max(1, math.min(all.toLong, math.round(share * f.rows)).toInt)
        (f.ranked(c), (0 until n).map(i => (i.toLong * all / n).toInt))
      }).ranked
    }

  /**
   * The ranks in a folder of an interval of shares of the whole table.
   *
   * @return None if the folder has no such values
   */
  def ranksIn(folder: SampledFolder, from: Double, until: Double): Option[(Int, Int)] = {
    val own = folder.ranked(c).distinct
    // a sample of NULLs alone has no value
    if (whole.distinct.length == 0 || own.length == 0) None
    else {
      // an odd slot is that of a sampled value, an even slot lies below it
      val low = (own.slotOfKey(key(whole.rankAt(from))) >> 1) + 1
      val high = (own.slotOfKey(key(whole.rankUntil(from, until))) + 1) >> 1
      // values between two sampled values lie in a file with one of them
      if (low > own.length || high < 1) None else Some((low, math.max(low, high)))
    }
  }

  private def key(rank: Int): AnyRef = whole.distinct.key(rank - 1)
}
