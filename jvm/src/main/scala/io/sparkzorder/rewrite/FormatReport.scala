package io.sparkzorder.rewrite

import org.apache.commons.io.FileUtils.byteCountToDisplaySize

import io.sparkzorder.sources.{FormatFile, TableSnapshot}
import io.sparkzorder.report.{PointQueries, ValueDistribution}
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.FileRange

/** Builds the result row of OPTIMIZE from the metadata of the format. */
private[rewrite] final class FormatReport(
    snapshot: TableSnapshot,
    columns: Seq[OrderingColumn],
    weights: Seq[Double],
    done: Seq[BatchDone],
    dryRun: Boolean) {

  private val rewritten = done.flatMap(_.inputs)
  private lazy val added = done.flatMap(_.added).flatMap(_.files)

  /** Files that stay in folders of which others are rewritten. */
  private lazy val kept: Seq[FormatFile] = {
    val (paths, folders) = (rewritten.map(_.path).toSet, rewritten.map(_.folder).toSet)
    snapshot.files.filter(f => folders(f.folder) && !paths(f.path))
  }

  def result(
      path: String,
      startMs: Long,
      phases: => Map[String, Long],
      reasons: Seq[String]): OptimizeResult = {
    val gains = columns.indices.map(gain)
    OptimizeResult(
      path = path,
      added = if (dryRun) expectedBytes else added.map(_.bytes),
      removed = rewritten.map(_.bytes),
      partitionsOptimized = done.map(_.rows.count(_ > 0).toLong).sum,
      batches = done.size.toLong,
      considered = snapshot.files.size.toLong,
      skipped = snapshot.files.size.toLong - rewritten.size,
      startMs = startMs,
      endMs = System.currentTimeMillis(),
      rows = done.map(_.rows.sum).sum,
      sampledRows = done.flatMap(_.samples.map(_.rows.toLong)).sum,
      shuffleBytes =
        if (dryRun) rewritten.map(_.bytes).sum else done.flatMap(_.added.map(_.shuffleBytes)).sum,
      publishMs = 0L,
      retainedBytes = 0L,
      retainedUntilMs = None,
      columns = gains,
      phases = phases,
      dryRun = dryRun,
      reason = (reasons ++ effort).reduceOption(_ + "; " + _))
  }

  private def effort: Option[String] = {
    val files = done.map(_.grid.files).sum
    if (!dryRun || files == 0) None
    else {
      Some(s"a run writes $files files in as many tasks and needs about " +
        s"${byteCountToDisplaySize(rewritten.map(_.bytes).sum)} of free space until the " +
        "format deletes the old files")
    }
  }

  private def expectedBytes: Seq[Long] = done.flatMap { batch =>
    val stored = math.max(batch.rows.sum, batch.inputs.map(_.storedRecords).sum)
    val perRow = batch.inputs.map(_.bytes).sum.toDouble / math.max(1L, stored)
    batch.grid.rowsOfFiles.map(r => (r * perRow).toLong)
  }

  private def gain(c: Int): ColumnGain = {
    val values = ValueDistribution.of(
      for {
        batch <- done
        (sample, rows) <- batch.samples.zip(batch.rows)
        if sample.rows > 0
      } yield (sample.ranked(c), rows.toDouble / sample.rows))
    def mean(files: Seq[FormatFile]): Double = {
      val ranges: Seq[Option[FileRange]] =
        files.filter(f => f.records > 0 || f.isUncounted).flatMap(_.columns(c).range)
      PointQueries.meanFiles(ranges, values)
    }
    val stays = mean(kept)
    val after =
      if (dryRun) PointQueries.predicted(cells(c), c, values) else mean(added)
    ColumnGain.rounded(columns(c).name, mean(rewritten) + stays, after + stays, ideal(c))
  }

  private def cells(c: Int) = for {
    batch <- done
    (folder, sample) <- batch.grid.folders.zip(batch.samples)
    grid <- folder
    if sample.rows > 0
  } yield (grid, sample.ranked(c))

  private def ideal(c: Int): Double = {
    val stay = kept.groupBy(_.folder).map { case (f, files) => f -> files.size }
    val perFolder = done.flatMap { batch =>
      val made = batch.added match {
        case Some(staged) => staged.files.map(_.folder)
        case None => batch.grid.folderOfFile.map(batch.folders(_))
      }
      made.groupBy(identity).map { case (f, own) => own.size + stay.getOrElse(f, 0) }
    }
    val all = if (weights.isEmpty) columns.map(_ => 1.0) else weights
    PointQueries.ideal(perFolder, all.toIndexedSeq, c)
  }
}
