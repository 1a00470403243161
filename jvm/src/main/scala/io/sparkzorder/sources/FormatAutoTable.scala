// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.io.IOException

import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.cluster.Sampler
import io.sparkzorder.commands.{OrderingColumns, SampledCuts}
import io.sparkzorder.commands.auto.{
  AutoTable,
  JudgedFile,
  LayoutInForce,
  RecentChange,
  Sampled,
  SampledFolder
}
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.workload.{LaterNotes, Workload, WorkloadStore}

/**
 * A table of another format, for the choice of its columns by its recorded workload.
 *
 * @param session the session that reads; it is the active one
 */
private[sources] final class FormatAutoTable(
    session: Session,
    format: SnapshotFormat,
    settings: Settings)
    extends AutoTable
    with Logging {
  private val conf = session.sessionState.newHadoopConf()
  private val resolver = new OrderingColumns(format.name, session.sessionState.conf.resolver)
  private lazy val last = format.lastLayout

  override def workload(): Workload = {
    LaterNotes.await()
    try Workload.sinceChange(
        new StateDirectory(new Path(format.location), conf),
        conf,
        WorkloadStore.today)
    catch {
      // a location without a file system of Hadoop: nothing could be recorded there
      case e: IOException =>
        logWarning(s"the workload of ${format.name} cannot be read: $e")
        Workload(Map.empty)
    }
  }

  override def inForce: Option[LayoutInForce] =
    last.filter(l => resolved(l.columns).isDefined).map(l => LayoutInForce(l.columns, l.weights))

  // the format's own rollback takes the layout and its time back together, so no undo is known
  override def daysSinceChange(bytes: Long): Option[Long] =
    RecentChange.daysAgo(last.map(_.sinceMs).filter(_ > 0).toSeq, System.currentTimeMillis())

  override def sampled(workload: Workload): Option[Sampled] = {
    val columns = workload.columns.flatMap(c => resolved(Seq(Seq(c._1))).toSeq.flatten)
      .filter(format.hasBounds).take(Sampled.MaxColumns).toIndexedSeq
    val snapshot = if (columns.isEmpty) None else Some(format.snapshot(columns, None))
    for {
      s <- snapshot if s.files.exists(rowsOf(_) > 0)
      folders = sample(s, columns)
      // all rows may be deleted
      if folders.exists(_.sample.rows > 0)
    } yield Sampled.of(
      columns,
      folders,
      workload,
      s.files.map(_.bytes).sum,
      isPartitioned = folders.size > 1)
  }

  private def resolved(names: Seq[Seq[String]]): Option[Seq[OrderingColumn]] =
    Try(resolver.resolve(names, format.schema, format.partitionSchema)).toOption

  private def sample(
      snapshot: FormatSnapshot,
      columns: IndexedSeq[OrderingColumn]): IndexedSeq[SampledFolder] = {
    val byFolder = snapshot.files.groupBy(_.folder)
    val rows = byFolder.map { case (f, own) => f -> own.map(rowsOf).sum }
    val targets = byFolder.map { case (f, own) =>
      val stored = math.max(rows(f), own.map(_.storedRecords).sum)
      f -> SampledCuts.targetRows(settings, stored, own.map(_.bytes).sum)
    }
    val all = snapshot.files.map(_.folder).distinct
    val wanted = Sampled.rowsFor(Sampled.filesOf(all.map(rows), all.map(targets)))
    val share = wanted.toDouble / math.max(1L, rows.values.sum)
    // a frame has the rows of one group
    snapshot.files.groupBy(_.folder.group).toIndexedSeq.sortBy(_._1).flatMap { case (_, files) =>
      val input = snapshot.rows(session, files)
      try {
        val own = input.folders.map(rows)
        val samples = Sampler.sample(input, columns, own, math.ceil(own.sum * share).toLong)
        input.folders.zip(samples).map { case (folder, sample) =>
          val judged = byFolder(folder).map(f => JudgedFile(rowsOf(f), f.columns.map(_.range)))
          SampledFolder(judged, sample, targets(folder))
        }
      } finally input.close()
    }
  }

  /** Number of rows; for a file whose rows the format has not counted a guess by its bytes. */
  private def rowsOf(file: FormatFile): Long =
    if (file.records > 0 || !file.isUncounted) file.records
    else math.max(1L, file.bytes / FormatAutoTable.GuessedRowBytes)
}

private object FormatAutoTable {
  private val GuessedRowBytes = 50L
}
