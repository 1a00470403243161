// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.InputRows
import io.sparkzorder.commands.Phases
import io.sparkzorder.commands.auto.{ClusteringSpec, RecentChange}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.table.OrderingColumn

/**
 * A table that OPTIMIZE can rewrite. An implementation lists the files of a table and their statistics, writes
 * new files, and replaces the old files by the new files. The choice of the files, the sample, the places of the
 * rows and the report are the same for all tables.
 *
 * A statement calls `inSession` and the methods after it in the order of this file, then the methods of
 * [[TableListing]], of [[TableSnapshot]] and, for each batch, of [[FormatRows]].
 */
private[sparkzorder] trait TableFormat {

  /** Full name, as messages show it. */
  def name: String

  def location: String

  def properties: Map[String, String]

  /** The settings of a statement. */
  def settings(user: Session, options: Map[String, String]): Settings

  /**
   * The latest layout; None if the table has no layout. For Delta and Iceberg, None also if a column of the layout
   * was dropped. The record of a plain table may still name such a column.
   */
  def lastLayout: Option[LastLayout]

  /**
   * The number of days since the layout was changed; None if AUTO may change the layout again.
   *
   * @param bytes the size of the table
   */
  def daysSinceChange(bytes: Long): Option[Long] =
    RecentChange.daysAgo(
      lastLayout.map(_.sinceMs).filter(_ > 0).toSeq,
      System.currentTimeMillis())

  /** True if the declared order of the table is AUTO, which chooses the columns by the recorded workload. */
  def isAuto: Boolean = false

  /** The order of a table without a layout, if the statement names no columns. */
  def orderWithoutLayout(statement: Statement): ClusteringSpec

  /** True for INTO: the new files are a copy of all chosen files, and the old files stay. */
  def isCopy: Boolean = false

  /** True if scans of the table are recorded only while the table has a skipping index. */
  def isRecordedByIndex: Boolean = false

  /** The directory that the result row names. */
  def resultPath: String = location

  /** Runs `body` in a session whose settings are pinned, so that reading and writing change no value. */
  def inSession[T](user: Session)(body: Session => T): T = body(PinnedSession.of(user))

  /** Refuses a table or a statement that must not be run, before anything is listed. */
  def check(statement: Statement): Unit

  /** True if an earlier run is committed and its files are not visible yet. */
  def isBehind: Boolean = false

  /** Brings the table to the state that its log describes. */
  def recover(): Unit = ()

  /** The table as it is now. */
  def list(statement: Statement): TableListing

  /** The statement by which the second of two passes lists files. Its WHERE leaves out no file of the first pass. */
  def ofSecondPass(statement: Statement): Statement = statement

  /** Cleans up after a statement that has failed. Errors of the clean-up are added to `cause`. */
  def abandon(cause: Throwable): Unit = ()
}

/** A table at one moment, before its ordering columns are known. */
private[sparkzorder] trait TableListing {

  /** True if the table has all these columns, and files can be ordered by them. */
  def canOrderBy(columns: Seq[Seq[String]]): Boolean

  /**
   * The whole table, for AUTO to sample. The ordering columns are the first of `names` by which files can be
   * ordered and whose bounds are known.
   *
   * @param most the greatest number of ordering columns
   */
  def sampled(names: Seq[Seq[String]], most: Int): TableSnapshot

  /**
   * Reads the statistics of the files.
   *
   * @param names name parts of the ordering columns; empty for a compaction
   * @param settings returns the settings of a run by the columns that were found
   */
  def snapshot(names: Seq[Seq[String]], settings: Seq[OrderingColumn] => Settings): TableSnapshot
}

/** The files of a table at one moment. */
private[sparkzorder] trait TableSnapshot {

  /** The ordering columns; empty for a compaction. */
  def columns: Seq[OrderingColumn]

  /** Identifies the ordering columns. In Delta and Iceberg, a rename of a column does not change the key. */
  def layoutKey: String

  /** In the order of their paths. */
  def files: IndexedSeq[FormatFile]

  /** The files that WHERE chooses, if `files` are more than these. */
  def chosen: Option[IndexedSeq[FormatFile]] = None

  /** True if the table has partitions, so that a folder may lack some of the values of the table. */
  def isPartitioned: Boolean = files.map(_.folder).distinct.size > 1

  /** Which parts of the table cannot be rewritten, and why. */
  def leftOut: Seq[String]

  /**
   * Refuses files that must not be rewritten. It is called before the first batch, so that a statement that is
   * refused commits no batch.
   *
   * @param room bytes that are needed at once for new files
   */
  def check(batches: Seq[IndexedSeq[FormatFile]], room: Long): Unit

  /** One of the files that was removed or overwritten since it was listed; None also if the files cannot be listed. */
  def changed(files: Seq[FormatFile]): Option[String] = None

  /**
   * The rows of some files of one group, with the format's deletes applied. The caller closes them.
   *
   * @param session the session that reads and writes
   */
  def rows(session: Session, files: IndexedSeq[FormatFile]): FormatRows

  /** Deletes replaced files whose retention is over, to make room for the next batch. */
  def free(): Unit = ()

  /** Ends a statement that has replaced the files of all batches. */
  def finish(done: Seq[Rewritten], statement: Statement): Unit

  /**
   * What readers may see differently in the new files; parts of a sentence.
   *
   * @param plans of all batches
   * @param rewritten the files of all batches
   */
  def changes(plans: Seq[BatchPlan], rewritten: Seq[FormatFile]): Seq[String] = Nil

  /** Where plans in two passes are kept; None if each folder must be rewritten by one shuffle. */
  def plans: Option[RegionPlans] = None

  /** What a run of these batches would cost; for a DRY RUN. */
  def effort(plans: Seq[BatchPlan]): Effort
}

/** The rows of some files, prepared for a rewrite. `close` takes back the preparation. */
private[sparkzorder] trait FormatRows extends InputRows with AutoCloseable {

  /** The columns to write. */
  def schema: StructType

  /** The folders of the files; the folder column has positions in this list. */
  def folders: IndexedSeq[FormatFolder]

  def files: IndexedSeq[FormatFile]

  /**
   * Writes the rows into new files, which take the place of the old ones in one commit. If that fails, the
   * table has not changed and the new files are deleted. They stay if it is unknown whether the commit
   * succeeded.
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
 * The result of one batch.
 *
 * @param files the new files
 * @param publishMs the time that the exchange of old and new files took
 * @param retainedBytes the size of the replaced files, which are kept until `retainedUntilMs`
 * @param dealt the region of each of `files`, for a batch of the first of two passes
 */
private[sparkzorder] final case class Rewritten(
    files: IndexedSeq[FormatFile],
    shuffleBytes: Long,
    publishMs: Long = 0L,
    retainedBytes: Long = 0L,
    retainedUntilMs: Option[Long] = None,
    dealt: IndexedSeq[DealtTo] = IndexedSeq.empty)

/**
 * @param shuffleBytes the bytes that the shuffles of a run will write
 * @param text a part of a sentence for the report; None if nothing would be written
 */
private[sparkzorder] final case class Effort(shuffleBytes: Long, text: Option[String])

/**
 * An OPTIMIZE statement while it runs.
 *
 * @param user the user's session
 * @param session the session with pinned settings, which reads and writes
 * @param ownStatement the format's own statement for the same purpose, for messages
 */
private[sparkzorder] final case class Statement(
    user: Session,
    session: Session,
    settings: Settings,
    where: Option[Expression],
    clauses: OptimizeClauses,
    ownStatement: String,
    phases: Phases)
