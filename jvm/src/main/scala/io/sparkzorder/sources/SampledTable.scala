// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.io.IOException

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.cluster.Sampler
import io.sparkzorder.commands.SampledCuts
import io.sparkzorder.commands.auto.{AutoTable, JudgedFile, JudgedFolder, LayoutInForce, Sampled}
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.workload.{ExcludedColumns, LaterNotes, Workload, WorkloadStore}

/**
 * A table as AUTO sees it, which chooses ordering columns by the recorded workload. The format lists the files and
 * their statistics. AUTO judges layouts by a sample of the rows.
 */
private[sparkzorder] final class SampledTable(
    format: TableFormat,
    listing: TableListing,
    statement: Statement)
    extends AutoTable
    with Logging {
  import statement.{session, settings}

  override def needsIndex: Boolean = format.isRecordedByIndex

  override def workload(): Workload = {
    LaterNotes.await()
    val conf = session.sessionState.newHadoopConf()
    val state =
      try Some(new StateDirectory(new Path(format.location), conf))
      catch {
        // no file system of Hadoop reads the location, so nothing was recorded there
        case e: IOException =>
          logWarning(s"the workload of ${format.name} cannot be read: $e")
          None
      }
    val excluded = ExcludedColumns.of(format.properties)
    state.fold(Workload(Map.empty))(
      Workload.sinceChange(_, conf, WorkloadStore.today, excluded))
  }

  override def inForce: Option[LayoutInForce] =
    // the table may have lost a column, or have it with another type
    format.lastLayout.filter(l => l.columns.nonEmpty && listing.canOrderBy(l.columns))
      .map(l => LayoutInForce(l.columns, l.weights))

  override def daysSinceChange(bytes: Long): Option[Long] = format.daysSinceChange(bytes)

  override def sampled(workload: Workload): Option[Sampled] = {
    val snapshot = listing.sampled(workload.columns.map(c => Seq(c._1)), Sampled.MaxColumns)
    val columns = snapshot.columns.toIndexedSeq
    val folders =
      if (columns.isEmpty || !snapshot.files.exists(rowsOf(_) > 0)) IndexedSeq.empty
      else sample(snapshot, columns)
    // the sample is empty if all rows are deleted
    if (folders.exists(_.sample.rows > 0)) {
      val bytes = snapshot.files.map(_.bytes).sum
      val isWhole = !snapshot.isPartitioned && bytes <= settings(Settings.BatchSize)
      val known =
        workload.spelledAs(columns.map(_.parts.head), session.sessionState.conf.resolver)
      Some(Sampled.of(columns, folders, known, bytes, isWhole))
    } else None
  }

  private def sample(
      snapshot: TableSnapshot,
      columns: IndexedSeq[OrderingColumn]): IndexedSeq[JudgedFolder] = {
    val byFolder = snapshot.files.groupBy(_.folder)
    val rows = byFolder.map { case (f, own) => f -> own.map(rowsOf).sum }
    val targets = byFolder.map { case (f, own) =>
      val stored = math.max(rows(f), own.map(_.storedRecords).sum)
      f -> SampledCuts.targetRows(settings, stored, own.map(_.bytes).sum)
    }
    val all = snapshot.files.map(_.folder).distinct
    val wanted = Sampled.rowsFor(Sampled.filesOf(all.map(rows), all.map(targets)))
    val share = wanted.toDouble / math.max(1L, rows.values.sum)
    // the rows of one frame are of one group, because an Iceberg job has one partition spec
    snapshot.files.groupBy(_.folder.group).toIndexedSeq.sortBy(_._1).flatMap { case (_, files) =>
      val input = snapshot.rows(session, files)
      try {
        val own = input.folders.map(rows)
        val samples = Sampler.sample(input, columns, own, math.ceil(own.sum * share).toLong)
        input.folders.zip(samples).map { case (folder, sample) =>
          val judged = byFolder(folder).map(f => JudgedFile(rowsOf(f), f.columns.map(_.range)))
          JudgedFolder(judged, sample, targets(folder))
        }
      } finally input.close()
    }
  }

  /** Number of rows; estimated from the bytes if the format has not counted the rows of the file. */
  private def rowsOf(file: FormatFile): Long =
    if (file.records > 0 || !file.isUncounted) file.records
    else math.max(1L, file.bytes / SampledTable.EstimatedRowBytes)
}

private object SampledTable {
  private val EstimatedRowBytes = 50L
}
