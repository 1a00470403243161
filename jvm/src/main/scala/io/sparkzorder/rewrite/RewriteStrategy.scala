package io.sparkzorder.rewrite

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

/**
 * Decides which new file each row goes to. [[Cluster]] decides it by the ordering columns.
 * [[Compact]] joins small files and keeps the order of their rows.
 */
private[rewrite] abstract class RewriteStrategy {

  /** Throws an error if the strategy cannot work with files that are written in this way. */
  def check(spec: OutputSpec): Unit

  /** Selects from the files that a statement with FULL chooses those that can be rewritten. */
  def selectAll(chosen: Set[Path]): RewriteSelection = RewriteSelection(chosen, None)

  /**
   * Selects the files that are worth rewriting, for a statement without FULL.
   *
   * @param chosen paths of the files that the statement chooses, at least one
   * @param records the records of the table's runs, in ascending order
   */
  def select(chosen: Set[Path], records: => Seq[Record]): RewriteSelection

  /** Plans one batch. Planning may read the files, but it writes nothing. */
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

private[rewrite] object RewriteStrategy {

  /** @param copyAll true if every row must be written, because another directory gets the result */
  def of(inputs: RewriteInputs, copyAll: Boolean, phases: Phases): RewriteStrategy =
    if (inputs.columns.isEmpty) new Compact(inputs, copyAll) else new Cluster(inputs, phases)
}

/**
 * The plan of one batch: which files it replaces, and which new file each of their rows goes to.
 *
 * @param inputs the files that are replaced
 * @param outputs the folder of each file that will be written, by the file's number
 * @param frame the rows of the new files, which are written in this way: partition `i` holds the rows
 *   of file `i`. Columns after the data columns are not written
 * @param grid the grid that divides the rows among the files; None for a compaction
 * @param samples the sample of each folder; empty for a compaction
 * @param planMillis milliseconds that planning took, with sampling and cutting
 */
private[rewrite] final case class BatchPlan(
    inputs: ScannedFiles,
    outputs: IndexedSeq[Folder],
    frame: OutputSpec => Frame,
    grid: Option[Grid] = None,
    samples: IndexedSeq[FolderSample] = IndexedSeq.empty,
    planMillis: Long = 0L) {

  def sampledRows: Long = samples.map(_.rows.toLong).sum

  /**
   * The sample of an ordering column in each folder, with the number of rows that each sampled row
   * stands for.
   */
  def weighted(column: Int): Seq[(RankedColumn, Double)] =
    samples.zip(inputs.folders).filter(_._1.rows > 0).map { case (s, folder) =>
      (s.ranked(column), inputs.in(folder).map(_.rows).sum.toDouble / s.rows)
    }

  /**
   * The approximate bytes of each new file, from its share of the rows. For a compaction all new
   * files count as equal.
   */
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
 * Joins the small files of a table without ordering columns.
 *
 * @param copyAll true if large files must be written too, because another directory gets the result
 */
private[rewrite] final class Compact(inputs: RewriteInputs, copyAll: Boolean)
    extends RewriteStrategy {
  private val targetBytes = inputs.settings(Settings.TargetFileSize)

  override def check(spec: OutputSpec): Unit = ()

  /** Files that are left as they are need no room, and no right to replace them. */
  override def selectAll(chosen: Set[Path]): RewriteSelection =
    if (copyAll) super.selectAll(chosen)
    else {
      val scanned = inputs.scanned.onlyFiles(f => chosen(f.file.path))
      val joined = scanned.folders.flatMap(groups(scanned, _)).flatten.map(_.file.path).toSet
      RewriteSelection(joined, if (joined.isEmpty) Some(nothingToDo) else None)
    }

  override def select(chosen: Set[Path], records: => Seq[Record]): RewriteSelection =
    selectAll(chosen)

  override def nothingToDo: String = "there are no small files to put together"

  /**
   * Joins neighbouring small files until they fill a file. Rows therefore stay near the rows that
   * they were written with. A file that is joined with no other is left as it is, unless `copyAll`.
   */
  override protected def planned(batch: ScannedFiles): BatchPlan = {
    val outputs = batch.folders.flatMap(groups(batch, _))
    val output = outputs.zipWithIndex.flatMap { case (g, i) => g.map(_.file.path -> i) }.toMap
    val chosen = batch.onlyFiles(f => output.contains(f.file.path))
    BatchPlan(
      chosen,
      outputs.map(_.head.file.folder),
      _ => {
        val input =
          new InputFrame(inputs.session, chosen.listed, inputs.schema, inputs.target.format)
        val fileOf = chosen.files.map(f => output(f.file.path))
        Layout.byFile(inputs.session, input, inputs.schema, fileOf, outputs.size)
      })
  }

  /** The files that become one file, of one folder. */
  private def groups(scanned: ScannedFiles, folder: Folder): Seq[Seq[ScannedFile]] = {
    val (small, large) =
      scanned.in(folder).partition(_.file.length < Compact.SmallShare * targetBytes)
    val joined = grouped(small)
    if (copyAll) joined ++ large.map(Seq(_)) else joined.filter(_.size > 1)
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
  // a file of at least three quarters of the wanted size is not worth rewriting
  val SmallShare = 0.75
}
