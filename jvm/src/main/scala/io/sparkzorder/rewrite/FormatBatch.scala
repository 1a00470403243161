package io.sparkzorder.rewrite

import org.apache.spark.sql.functions.{col, count => rowCount, lit}
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.cluster.{
  CutGoal,
  DealingTasks,
  FolderSample,
  Grid,
  Layout,
  QueryBox,
  RowSizes
}
import io.sparkzorder.commands.{Phases, SampledCuts}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn

/**
 * What a batch did, or will do.
 *
 * @param inputs the files that are replaced
 * @param rows of each folder, without those that are deleted
 * @param added the new files; None in a DRY RUN
 */
private[rewrite] final case class BatchDone(
    inputs: IndexedSeq[FormatFile],
    folders: IndexedSeq[FormatFolder],
    rows: IndexedSeq[Long],
    grid: Grid,
    samples: IndexedSeq[FolderSample],
    added: Option[StagedFiles])

/**
 * Samples, cuts, writes and commits one batch.
 *
 * @param queries recorded queries, for which a batch of the whole table is cut
 */
private[rewrite] final class FormatBatch(
    session: Session,
    format: TableFormat,
    snapshot: TableSnapshot,
    columns: Seq[OrderingColumn],
    layout: LayoutTag,
    queries: IndexedSeq[QueryBox],
    settings: Settings,
    phases: Phases,
    dryRun: Boolean) {
  private val dealing = new DealingTasks(session)

  /** None if the files hold no row. */
  def rewrite(chosen: IndexedSeq[FormatFile]): Option[BatchDone] = {
    val counted = phases("count")(count(chosen))
    // a folder without any row is left as it is: there is nothing to write in its place
    val files = chosen.filter(f => counted(f.folder) > 0)
    if (files.isEmpty) None
    else {
      val input = format.frame(snapshot, session, files)
      try Some(rewrite(input, input.folders.map(counted)))
      finally input.close()
    }
  }

  private def rewrite(input: FormatRows, rows: IndexedSeq[Long]): BatchDone = {
    val byFolder = input.files.groupBy(_.folder)
    val own = input.folders.map(byFolder(_))
    // the count may be unknown and 0
    val targets = own.zip(rows).map { case (files, live) =>
      val stored = math.max(live, files.map(_.storedRecords).sum)
      SampledCuts.targetRows(settings, stored, files.map(_.bytes).sum)
    }
    val (samples, grid) = new SampledCuts(columns, settings, phases)
      .of(input, rows, targets, i => sizes(own(i))) { samples =>
        val isSmall = samples.map(_.rows.toLong).sum <= CutGoal.MaxRowsForQueries
        CutGoal(layout.weights.toIndexedSeq, if (isSmall) queries else IndexedSeq.empty)
      }
    val added =
      if (dryRun) None
      else {
        dealing.limit(rows.sum, input.files.map(_.bytes).sum, grid.files)
        val frame = Layout.byGrid(session, input, input.schema, columns, grid)
        val staged = phases("write")(format.write(input, frame))
        phases("commit") {
          try guard(input, rows, staged)
          catch {
            case e: Throwable =>
              format.abort(staged)
              throw e
          }
          format.commit(input, staged, layout)
        }
        Some(staged)
      }
    BatchDone(input.files.toIndexedSeq, input.folders, rows, grid, samples, added)
  }

  /** Refuses a commit unless every folder has as many rows as before. */
  private def guard(input: FormatRows, rows: IndexedSeq[Long], staged: StagedFiles): Unit = {
    val written = staged.files.groupBy(_.folder).map { case (f, own) =>
      f -> own.map(_.records).sum
    }
    input.folders.zip(rows).foreach { case (folder, expected) =>
      val found = written.getOrElse(folder, 0L)
      if (found != expected) {
        throw ZOrderErrors.verificationFailed(
          format.name,
          s"$found rows were written for $expected of the partition '$folder'")
      }
    }
  }

  /**
   * Rows of each folder: by the format's own counts, or by a pass over the files of which the format
   * does not know how many rows are left.
   */
  private def count(files: IndexedSeq[FormatFile]): Map[FormatFolder, Long] = {
    val (uncounted, whole) = files.partition(_.isUncounted)
    val counts = whole.groupBy(_.folder).map { case (f, own) => f -> own.map(_.records).sum }
    val read = if (uncounted.isEmpty) Map.empty[FormatFolder, Long] else readCounts(uncounted)
    files.map(_.folder).distinct.map(f => f -> (counts.getOrElse(f, 0L) + read.getOrElse(f, 0L)))
      .toMap
  }

  private def readCounts(files: IndexedSeq[FormatFile]): Map[FormatFolder, Long] = {
    val input = format.frame(snapshot, session, files)
    try {
      input.frame.groupBy(col(input.folderColumn)).agg(rowCount(lit(1))).collect()
        .map(r => input.folders(r.getInt(0)) -> r.getLong(1)).toMap
    } finally input.close()
  }

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
