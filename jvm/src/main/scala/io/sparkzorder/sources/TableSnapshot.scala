// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.InputRows
import io.sparkzorder.commands.Phases
import io.sparkzorder.table.OrderingColumn

/** The files of a table at one moment. */
private[sparkzorder] trait TableSnapshot {

  /** The ordering columns; empty for a compaction. */
  def columns: Seq[OrderingColumn]

  /** Names the ordering columns in a way that a rename does not change. */
  def layoutKey: String

  /** In the order of their paths. */
  def files: IndexedSeq[FormatFile]

  /** The files that WHERE chooses, if `files` are more than these. */
  def chosen: Option[IndexedSeq[FormatFile]] = None

  /** True if a folder has another part of the values than the table. */
  def isPartitioned: Boolean = files.map(_.folder).distinct.size > 1

  /** Which parts of the table cannot be rewritten, and why. */
  def leftOut: Seq[String]

  /**
   * Refuses files that must not be rewritten. The caller asks before the first batch, so that no batch
   * is committed by a statement that is refused.
   *
   * @param room bytes that are needed at once for new files
   */
  def check(batches: Seq[IndexedSeq[FormatFile]], room: Long): Unit

  /** One of some files that is not there any more as it was listed; None also if nobody can tell. */
  def changed(files: Seq[FormatFile]): Option[String] = {
    val _ = files
    None
  }

  /**
   * The rows of some files of one group, with the format's deletes applied. The caller closes them.
   *
   * @param session the session that reads and writes
   */
  def rows(session: Session, files: IndexedSeq[FormatFile]): FormatRows

  /** Makes room between two batches. */
  def free(): Unit = ()

  /** Ends a statement that has replaced the files of all batches. */
  def finish(done: Seq[Rewritten], statement: Statement): Unit

  /**
   * What readers may see otherwise in the new files; parts of a sentence.
   *
   * @param plans of all batches
   * @param rewritten the files of all batches
   */
  def changes(plans: Seq[BatchPlan], rewritten: Seq[FormatFile]): Seq[String] = {
    val _ = (plans, rewritten)
    Nil
  }

  /** Where plans in two passes are kept; None if each folder must be rewritten by one shuffle. */
  def plans: Option[RegionPlans] = None

  /** What a run of these batches would cost; for a DRY RUN. */
  def effort(plans: Seq[BatchPlan]): Effort
}

/** Some rows of a table, prepared for a rewrite. Closing them forgets the preparation. */
private[sparkzorder] trait FormatRows extends InputRows with AutoCloseable {

  /** The columns to write. */
  def schema: StructType

  /** The folders of the files; the folder column has positions in this list. */
  def folders: IndexedSeq[FormatFolder]

  def files: IndexedSeq[FormatFile]

  /**
   * Writes the rows into new files, which take the place of the old ones in one commit. If that fails,
   * nothing has changed and the new files are deleted; they stay only if nobody can know whether the
   * commit succeeded.
   *
   * Writing and committing are one step, since a format may commit inside the code that writes.
   *
   * @param guard throws an error unless the new files have the rows of the old ones. To be called when
   *   all new files are written, before they are committed
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_CONFLICT if another writer was first
   */
  def replace(plan: BatchPlan, layout: LayoutTag, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): Rewritten
}

/**
 * What has taken the place of the files of a batch.
 *
 * @param dealt the region of each of `files`, for a batch of the first of two passes
 */
private[sparkzorder] final case class Rewritten(
    files: IndexedSeq[FormatFile],
    shuffleBytes: Long,
    publishMs: Long = 0L,
    retainedBytes: Long = 0L,
    retainedUntilMs: Option[Long] = None,
    dealt: IndexedSeq[DealtTo] = IndexedSeq.empty)

/** @param shuffleBytes that the shuffles of a run will write */
private[sparkzorder] final case class Effort(shuffleBytes: Long, text: Option[String])
