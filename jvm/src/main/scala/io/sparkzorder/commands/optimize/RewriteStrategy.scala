package io.sparkzorder.commands.optimize

import scala.collection.mutable.ArrayBuffer

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.sparkzorder.SparkLine.Frame

import io.sparkzorder.cluster.{FolderGrid, FolderSample, Grid, InputFrame, Layout, RankedColumn}
import io.sparkzorder.commands.Phases
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.Record
import io.sparkzorder.table.Folder
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.write.OutputSpec

/** How rows come to their files: [[Cluster]] by ordering columns, [[Compact]] as they stand. */
private[optimize] abstract class RewriteStrategy {

  /** Refuses what the strategy cannot do with files of this kind. */
  def check(spec: OutputSpec): Unit

  /**
   * Which of the files that a statement without FULL chooses are worth rewriting.
   *
   * @param chosen paths, at least one
   * @param records of the table, ascending
   */
  def select(chosen: Set[Path], records: => Seq[Record]): RewriteSelection

  /** Plans one batch. It may read the files, but writes nothing. */
  final def plan(batch: ScannedFiles): BatchPlan = {
    val begun = System.nanoTime()
    // a folder without any row is left as it is: there is nothing to write in its place
    val made = planned(batch.onlyFolders(batch.in(_).exists(_.rows > 0)))
    made.copy(planMillis = (System.nanoTime() - begun) / 1000000L)
  }

  protected def planned(batch: ScannedFiles): BatchPlan

  /** Why no file is written although files were selected. */
  def nothingToDo: String
}

private[optimize] object RewriteStrategy {

  /** @param copyAll every row must come out, because the result lies elsewhere */
  def of(inputs: RewriteInputs, copyAll: Boolean, phases: Phases): RewriteStrategy =
    if (inputs.columns.isEmpty) new Compact(inputs, copyAll) else new Cluster(inputs, phases)
}

/**
 * What one batch will do: which files it replaces and how their rows are dealt.
 *
 * @param inputs files that are replaced
 * @param outputs folder of each file that will be written, by the file's number
 * @param frame rows of the new files: its partition `i` holds the rows of file `i`
 * @param grid None for a compaction
 * @param samples of each folder; empty for a compaction
 * @param planMillis what the plan took: sample and cuts
 */
private[optimize] final case class BatchPlan(
    inputs: ScannedFiles,
    outputs: IndexedSeq[Folder],
    frame: () => Frame,
    grid: Option[Grid] = None,
    samples: IndexedSeq[FolderSample] = IndexedSeq.empty,
    planMillis: Long = 0L) {

  def sampledRows: Long = samples.map(_.rows.toLong).sum

  /** Samples of an ordering column by folder, with the rows that each sampled row stands for. */
  def weighted(column: Int): Seq[(RankedColumn, Double)] =
    samples.zip(inputs.folders).filter(_._1.rows > 0).map { case (s, folder) =>
      (s.ranked(column), inputs.in(folder).map(_.rows).sum.toDouble / s.rows)
    }

  /** Bytes that each file will have about, from the share of rows that it gets. */
  def expectedBytes: Seq[Long] = grid match {
    case Some(g) =>
      val perRow = inputs.bytes.toDouble / math.max(1L, inputs.rows)
      g.rowsOfFiles.map(r => (r * perRow).toLong)
    case None => Seq.fill(outputs.size)(inputs.bytes / math.max(1, outputs.size))
  }

  /** Grid and sample of each folder that has rows, for one ordering column. */
  def cells(column: Int): Seq[(FolderGrid, RankedColumn)] =
    grid.toSeq.flatMap(_.folders.zip(samples)).collect {
      case (Some(f), s) if s.rows > 0 => (f, s.ranked(column))
    }
}

/**
 * Puts small files together; for tables without ordering columns.
 *
 * @param copyAll every file must come out, because the result lies elsewhere
 */
private[optimize] final class Compact(inputs: RewriteInputs, copyAll: Boolean)
    extends RewriteStrategy {
  private val targetBytes = inputs.settings(Settings.TargetFileSize)

  override def check(spec: OutputSpec): Unit = ()

  // the plan decides, by the sizes of the files
  override def select(chosen: Set[Path], records: => Seq[Record]): RewriteSelection =
    RewriteSelection(chosen, None)

  override def nothingToDo: String = "there are no small files to put together"

  /**
   * Neighbours are put together until they fill a file, so that rows stay near the rows that they
   * were written with. A file that would stay alone is left as it is, unless `copyAll`.
   */
  override protected def planned(batch: ScannedFiles): BatchPlan = {
    val groups = batch.folders.flatMap { folder =>
      val (small, large) =
        batch.in(folder).partition(_.file.length < Compact.SmallShare * targetBytes)
      val joined = grouped(small)
      if (copyAll) joined ++ large.map(Seq(_)) else joined.filter(_.size > 1)
    }
    val output = groups.zipWithIndex.flatMap { case (g, i) => g.map(_.file.path -> i) }.toMap
    val chosen = batch.onlyFiles(f => output.contains(f.file.path))
    BatchPlan(
      chosen,
      groups.map(_.head.file.folder),
      () => {
        val input =
          new InputFrame(inputs.session, chosen.listed, inputs.schema, inputs.target.format)
        val fileOf = chosen.files.map(f => output(f.file.path))
        Layout.byFile(inputs.session, input, inputs.schema, fileOf, groups.size)
      })
  }

  private def grouped(files: Seq[ScannedFile]): Seq[Seq[ScannedFile]] = {
    val groups = ArrayBuffer(ArrayBuffer.empty[ScannedFile])
    var bytes = 0L
    files.foreach { f =>
      if (bytes > 0 && bytes + f.file.length > targetBytes) {
        groups += ArrayBuffer.empty
        bytes = 0
      }
      groups.last += f
      bytes += f.file.length
    }
    groups.filter(_.nonEmpty).map(_.toSeq).toSeq
  }
}

private object Compact {
  // a file of three quarters of the wanted size is not worth rewriting
  val SmallShare = 0.75
}
