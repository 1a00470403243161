// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.util.ConcurrentModificationException

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.delta.{DeltaCommitTag, DeltaLog, DeltaOperations, RowTracking}
import org.apache.spark.sql.delta.actions.{AddFile, DeletionVectorDescriptor}
import org.apache.spark.sql.delta.commands.OptimizeTableStrategy.DummyBinInfo
import org.apache.spark.sql.delta.commands.ZOrderStrategy
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources.LayoutTag

/** Replaces files of a Delta table by one commit, which says that it changes no data. */
private[delta] final class DeltaCommit(log: DeltaLog, name: String) extends Logging {

  def commit(rows: DeltaRows, staged: DeltaStaged, layout: LayoutTag): Unit = {
    val session = SparkSession.active
    val state = rows.snapshot.state
    val columns = rows.snapshot.columns.map(_.name).toList
    val strategy = ZOrderStrategy(session, columns)
    val tags = DeltaLayouts.tags(layout, state, rows.snapshot.firstVersion(layout.run))
    val added = staged.files.map { f =>
      // Delta's own marks `dataChange = false`: the constructor differs between versions
      val add = strategy.tagAddFile(f.add, DummyBinInfo())
      add.copyWithTags(add.tagsOrEmpty ++ tags)
    }
    val now = System.currentTimeMillis()
    val removed = rows.files.map(_.add.removeWithTimestamp(now, false))
    val operation = DeltaOperations.Optimize(
      rows.snapshot.where.toList,
      columns,
      false,
      None,
      false)
    try {
      rows.transaction.registerSQLMetrics(session, metrics(added, rows.files.map(_.add)))
      val _ = rows.transaction.commit((added ++ removed).toList, operation, commitTags(rows))
    } catch {
      case e: ConcurrentModificationException =>
        // A commit whose answer was lost is repeated, and then conflicts with itself. Such a commit has
        // taken place, and its files must stay.
        isCommitted(staged) match {
          case Some(true) =>
            logWarning(s"the commit of OPTIMIZE on $name took place, although Delta reported $e")
          case Some(false) =>
            delete(staged)
            throw ZOrderErrors.conflict(name, firstLine(e).stripSuffix("."), Some(e))
          case None =>
            unknown(layout)
            throw e
        }
      case e: Exception =>
        unknown(layout)
        throw e
    }
  }

  private def unknown(layout: LayoutTag): Unit =
    logWarning(
      s"it is not known whether OPTIMIZE on $name was committed, so its new files stay. It was if " +
        s"files of the table have the tag zorder.run=${layout.run}. Otherwise VACUUM deletes them")

  /** Deletes written files. What cannot be deleted is left to VACUUM. */
  def delete(staged: DeltaStaged): Unit = delete(staged.files.map(_.add))

  def delete(written: Seq[AddFile]): Unit = written.foreach { add =>
    val path = add.absolutePath(log)
    try { val _ = path.getFileSystem(log.newDeltaHadoopConf()).delete(path, false) }
    catch { case NonFatal(e) => logWarning(s"$path was written and could not be deleted", e) }
  }

  /** Whether a version since has had one of the files; None if nobody can tell. */
  private def isCommitted(staged: DeltaStaged): Option[Boolean] =
    try {
      val now = log.update()
      val paths = staged.files.map(_.add.path)
      Some(Seq(now.allFiles.toDF(), now.tombstones.toDF())
        .exists(files => !files.where(files("path").isin(paths: _*)).isEmpty))
    } catch {
      case NonFatal(e) =>
        logWarning(s"the log of $name cannot be read", e)
        None
    }

  private def commitTags(rows: DeltaRows): Map[String, String] = {
    val state = rows.snapshot.state
    if (!RowTracking.isEnabled(state.protocol, state.metadata)) Map.empty
    else Map(DeltaCommitTag.PreservedRowTrackingTag.key -> "true")
  }

  /** The metrics of the table's history, by the names of Delta's OPTIMIZE. */
  private def metrics(added: Seq[AddFile], removed: Seq[AddFile]): Map[String, SQLMetric] = {
    val sizes = added.map(_.size).sorted.toIndexedSeq
    def percentile(p: Int): Long = sizes((p * (sizes.size - 1) + 50) / 100)
    val vectors: Seq[DeletionVectorDescriptor] = removed.map(_.deletionVector).filter(_ != null)
    Seq(
      "numAddedFiles" -> added.size.toLong,
      "numRemovedFiles" -> removed.size.toLong,
      "numAddedBytes" -> sizes.sum,
      "numRemovedBytes" -> removed.map(_.size).sum,
      "minFileSize" -> sizes.head,
      "p25FileSize" -> percentile(25),
      "p50FileSize" -> percentile(50),
      "p75FileSize" -> percentile(75),
      "maxFileSize" -> sizes.last,
      "numDeletionVectorsRemoved" -> vectors.size.toLong).map { case (key, value) =>
      val metric = SQLMetrics.createMetric(SparkSession.active.sparkContext, key)
      metric.set(value)
      key -> metric
    }.toMap
  }

  private def firstLine(e: Throwable): String = String.valueOf(e.getMessage).linesIterator.next()
}
