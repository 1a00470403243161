package io.sparkzorder.commands.auto

import io.sparkzorder.cluster.{CutGoal, FolderGrid, FolderSample, Grid, QueryBox, RankedColumn}
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{FileRange, ScannedFile}

/**
 * The files of one folder of the table, and a sample of its rows.
 *
 * @param sample of all columns that may become ordering columns
 * @param targetRows rows that a new file should have
 */
private[auto] final case class SampledFolder(
    files: IndexedSeq[ScannedFile],
    sample: FolderSample,
    targetRows: Double) {
  val rows: Long = files.map(_.rows).sum
  lazy val ranked: IndexedSeq[RankedColumn] = sample.ranked
}

/** Predicts what recorded scans read of a layout, as the sum of their weights. */
private[auto] final class PredictedReads(
    columns: IndexedSeq[OrderingColumn],
    folders: Seq[SampledFolder],
    queries: RecordedQueries,
    sameName: (String, String) => Boolean) {

  private val rows = folders.map(_.rows).sum.toDouble
  private val all = queries.boxesOf(columns.indices)

  /** Reads of a candidate: its files are cut as OPTIMIZE would cut them, but by this sample. */
  def of(candidate: Candidate): Double = {
    val boxes = queries.boxesOf(candidate.columns)
    val goal =
      CutGoal(candidate.weights.toIndexedSeq, if (folders.size == 1) boxes else IndexedSeq.empty)
    folders.filter(f => f.rows > 0 && f.sample.rows > 0).map { f =>
      val own = FolderSample(candidate.columns.map(f.sample.columns(_)).toIndexedSeq)
      val grid = Grid.build(
        candidate.columns.map(c => (columns(c).name, columns(c).dataType)),
        IndexedSeq(f.rows),
        IndexedSeq(f.targetRows),
        IndexedSeq(own),
        goal)
      grid.folders.flatten.map(cells(_, boxes, candidate.columns.map(f.ranked(_)))).sum
    }.sum / rows
  }

  private def cells(grid: FolderGrid, boxes: Seq[QueryBox], ranked: Seq[RankedColumn]): Double = {
    // rows of a file that holds several cells are read together
    val files = grid.cells.groupBy(_.file).values.toSeq
    boxes.map { b =>
      val sides = b.sides.zip(ranked).map { case (s, c) => s.map(ranges(_, c)) }
      val read = files.filter(_.exists(cell =>
        sides.indices.forall(c =>
          sides(c).forall(_.exists { case (low, high) =>
            low <= cell.box.highest(c) && high >= cell.box.lowest(c)
          }))))
      b.weight * read.map(_.map(_.rows).sum).sum
    }.sum
  }

  /** Reads of the files as they are, by their footers. */
  lazy val today: Double =
    folders.filter(f => f.rows > 0 && f.sample.rows > 0).map { f =>
      val spans = columns.zip(f.ranked).map { case (c, ranked) =>
        f.files.map(file => span(c, file, ranked))
      }
      all.map { b =>
        val sides = b.sides.zip(f.ranked).map { case (s, c) => s.map(ranges(_, c)) }
        val read = f.files.indices.filter(i =>
          sides.indices.forall(c =>
            sides(c).forall(_.exists { case (low, high) =>
              low <= spans(c)(i)._2 && high >= spans(c)(i)._1
            })))
        b.weight * read.map(i => f.files(i).rows.toDouble).sum
      }.sum
    }.sum / rows

  /** The ranks between which the values of a file lie; all ranks if that is not known. */
  private def span(column: OrderingColumn, file: ScannedFile, c: RankedColumn): (Int, Int) =
    FileRange.ofFooters(column, Seq(file), sameName).headOption match {
      case None => (0, -1)
      case Some(None) => (0, Int.MaxValue)
      case Some(Some(r)) =>
        // an odd slot is that of a sampled value, an even slot lies between two of them
        val low = (c.distinct.slotOf(r.min) >> 1) + 1
        // if no sampled value lies in the file, the value after it stands for the file
        (low, math.max(low, (c.distinct.slotOf(r.max) + 1) >> 1))
    }

  private def ranges(side: Seq[(Double, Double)], c: RankedColumn): Seq[(Int, Int)] =
    side.map { case (from, until) => (c.rankAt(from), c.rankUntil(from, until)) }
}
