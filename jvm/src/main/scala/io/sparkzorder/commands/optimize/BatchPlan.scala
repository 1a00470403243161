package io.sparkzorder.commands.optimize

import org.apache.spark.sql.sparkzorder.SparkLine.Frame

import io.sparkzorder.cluster.{
  FolderGrid,
  FolderSample,
  Grid,
  InputFrame,
  Layout,
  RankedColumn,
  RowSizes,
  Sampler
}
import io.sparkzorder.commands.Phases
import io.sparkzorder.conf.Settings
import io.sparkzorder.table.TableFiles
import io.sparkzorder.table.stats.{FileRange, Footer}

/**
 * What one batch will do: which files it replaces and how their rows are dealt.
 *
 * @param inputs files that are replaced; ordinals are their own
 * @param footers of `inputs`, in their order
 * @param folderOfFile folder of each file that will be written
 * @param grid None for a compaction
 * @param samples of each folder; empty for a compaction
 * @param planMillis what the plan took: sample and cuts
 */
final case class BatchPlan(
    inputs: TableFiles,
    footers: IndexedSeq[Footer],
    folderOfFile: IndexedSeq[Int],
    grid: Option[Grid],
    samples: IndexedSeq[FolderSample],
    rowsOfFolder: IndexedSeq[Long],
    frame: () => Frame,
    planMillis: Long = 0L) {

  def sampledRows: Long = samples.map(_.rows.toLong).sum

  /** Samples of an ordering column by folder, with the rows that each sampled row stands for. */
  def weighted(column: Int): Seq[(RankedColumn, Double)] =
    samples.zip(rowsOfFolder).filter(_._1.rows > 0).map { case (s, rows) =>
      (s.ranked(column), rows.toDouble / s.rows)
    }

  /** Bytes that each file will have about, from the share of rows that it gets. */
  def expectedBytes: Seq[Long] = {
    val perRow = inputs.files.map(_.length).sum.toDouble / math.max(1L, rowsOfFolder.sum)
    grid match {
      case Some(g) => g.rowsOfFiles.map(r => (r * perRow).toLong)
      case None => Seq.fill(folderOfFile.size)(
          inputs.files.map(_.length).sum / math.max(1, folderOfFile.size))
    }
  }

  /** Grid and sample of each folder that has rows, for one ordering column. */
  def cells(column: Int): Seq[(FolderGrid, RankedColumn)] =
    grid.toSeq.flatMap(_.folders.zip(samples)).collect {
      case (Some(f), s) if s.rows > 0 => (f, s.ranked(column))
    }
}

/**
 * Plans a batch: samples and cuts, or chooses what to compact. Reads, but writes nothing.
 *
 * @param copyAll every row must come out, because the result lies elsewhere (INTO)
 */
final class BatchPlanner(p: Prepared, phases: Phases, copyAll: Boolean) {

  def plan(batch: TableFiles, footers: IndexedSeq[Footer]): BatchPlan = {
    val begun = System.nanoTime()
    val (files, kept) = withRows(batch, footers)
    val plan = if (p.columns.isEmpty) compaction(files, kept) else ordered(files, kept)
    plan.copy(planMillis = (System.nanoTime() - begun) / 1000000L)
  }

  /** A folder without any row is left as it is: there is nothing to write in its place. */
  private def withRows(
      batch: TableFiles,
      footers: IndexedSeq[Footer]): (TableFiles, IndexedSeq[Footer]) = {
    val rows = footers.groupBy(_.file.folder).map { case (f, fs) => f -> fs.map(_.rows).sum }
    val files = batch.onlyFolders(f => rows.getOrElse(f.ordinal, 0L) > 0)
    (files, matched(files, footers))
  }

  private def ordered(files: TableFiles, footers: IndexedSeq[Footer]): BatchPlan = {
    val rows = perFolder(files, footers, _.rows)
    val bytes = perFolder(files, footers, _.file.length)
    val targets = rows.zip(bytes).map { case (r, b) => p.targetRows(r, b) }
    val expected = rows.zip(targets).map { case (r, t) => math.ceil(r / t).toLong }.sum
    val wanted = p.settings.get(Settings.SampleRows).getOrElse(Sampler.rowsFor(expected))
    val input = new InputFrame(p.session, files, p.schema, p.target.format)
    val samples = phases("sample") {
      Sampler.sample(input, files, p.columns, rows, wanted).zip(sizes(files, footers))
        .map { case (sample, size) => sample.copy(sizes = size) }
    }
    val grid = phases("cuts") {
      Grid.build(p.columns.map(c => (c.name, c.dataType)), rows, targets, samples)
    }
    BatchPlan(
      files,
      footers,
      grid.folderOfFile,
      Some(grid),
      samples,
      rows,
      () => Layout.byGrid(p.session, input, p.schema, p.columns, grid))
  }

  /** Bytes of a row of each folder, and of a value of each ordering column, by the footers. */
  private def sizes(files: TableFiles, footers: IndexedSeq[Footer]): IndexedSeq[RowSizes] = {
    val sameName = p.session.sessionState.conf.resolver
    val byFolder = footers.groupBy(_.file.folder)
    files.folders.map { folder =>
      val own = byFolder.getOrElse(folder.ordinal, IndexedSeq.empty)
      val rows = own.map(_.rows).sum.toDouble
      val columns = p.columns.map { c =>
        val leaves = own.flatMap(f => FileRange.leaf(c, f, sameName).map(i => (f, f.leaves(i))))
        val bytes = leaves.map(_._2.bytes).sum.toDouble
        val values = leaves.map { case (f, l) => f.rows - math.max(0L, l.nulls) }.sum
        (bytes, bytes / math.max(1L, values))
      }
      val rest = own.map(_.file.length).sum - columns.map(_._1).sum
      RowSizes(math.max(0.0, rest) / math.max(1.0, rows), columns.map(_._2).toIndexedSeq)
    }
  }

  private def compaction(files: TableFiles, footers: IndexedSeq[Footer]): BatchPlan = {
    val c = Compaction.plan(files, p.settings(Settings.TargetFileSize), copyAll)
    val kept = matched(c.chosen, footers)
    BatchPlan(
      c.chosen,
      kept,
      c.folderOfFile,
      None,
      IndexedSeq.empty,
      perFolder(c.chosen, kept, _.rows),
      () =>
        Layout.byFile(
          p.session,
          new InputFrame(p.session, c.chosen, p.schema, p.target.format),
          p.schema,
          c.fileOf,
          c.folderOfFile.size))
  }

  /** The footers of some of the files, with the files' new ordinals. */
  private def matched(files: TableFiles, footers: IndexedSeq[Footer]): IndexedSeq[Footer] = {
    val byPath = footers.map(f => f.file.path -> f).toMap
    files.files.map(f => byPath(f.path).copy(file = f))
  }

  private def perFolder(
      files: TableFiles,
      footers: IndexedSeq[Footer],
      value: Footer => Long): IndexedSeq[Long] = {
    val sums = footers.groupBy(_.file.folder).map { case (f, fs) => f -> fs.map(value).sum }
    files.folders.map(f => sums.getOrElse(f.ordinal, 0L))
  }
}
