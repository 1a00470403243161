// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.commands.auto.{ClusteringSpec, RecentChange}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.table.OrderingColumn

/**
 * A table that OPTIMIZE can rewrite. Its implementations tell how the files of a table are listed, what
 * is known of them, how new files are written and how they replace the old ones. The choice of the
 * files, the sample, the places of the rows and the report are the same for all tables.
 *
 * One statement calls the methods of the lower part in the order in which they stand here, then those of
 * [[TableListing]], of [[TableSnapshot]] and, for each batch, of [[FormatRows]].
 */
private[sparkzorder] trait TableFormat {

  /** Full name, as messages show it. */
  def name: String

  def location: String

  /** The settings of a statement. */
  def settings(user: Session, options: Map[String, String]): Settings

  /** The latest layout; None if the table's history knows of none, or a column of it is gone. */
  def lastLayout: Option[LastLayout]

  /**
   * How many days ago the layout was changed, if that is too recent for AUTO to change it again.
   *
   * @param bytes of the table
   */
  def daysSinceChange(bytes: Long): Option[Long] = {
    val _ = bytes
    RecentChange.daysAgo(
      lastLayout.map(_.sinceMs).filter(_ > 0).toSeq,
      System.currentTimeMillis())
  }

  /** True for a table that is declared to be ordered as its recorded workload asks. */
  def isAuto: Boolean = false

  /** The order of a table without a layout, if the statement names no columns. */
  def orderWithoutLayout(statement: Statement): ClusteringSpec

  /** True if the new files are a copy, which must be whole, and the old files stay. */
  def isCopy: Boolean = false

  /** The directory that the result row names. */
  def resultPath: String = location

  /** Runs a statement in a session whose settings keep all values as they are. */
  def inSession[T](user: Session)(body: Session => T): T = body(PinnedSession.of(user))

  /** Refuses a table or a statement that must not be run, before anything is listed. */
  def check(statement: Statement): Unit

  /** True if an earlier run is committed and its files are not visible yet. */
  def isBehind: Boolean = false

  /** Brings the table to the state that its log describes. */
  def recover(): Unit = ()

  /** The table as it is now. */
  def list(statement: Statement): TableListing

  /** The statement by which the second of two passes lists files: it finds whatever the first pass has dealt. */
  def ofSecondPass(statement: Statement): Statement = statement

  /** Cleans up after a statement that has failed; what fails here is added to `cause`. */
  def abandon(cause: Throwable): Unit = { val _ = cause }
}

/** A table at one moment, before its ordering columns are known. */
private[sparkzorder] trait TableListing {

  /** True if the table has all these columns, and files can be ordered by them. */
  def canOrderBy(columns: Seq[Seq[String]]): Boolean

  /**
   * The whole table, for AUTO to sample. Its ordering columns are the first of `names` that the table
   * has, by which files can be ordered and whose bounds are known.
   *
   * @param most columns
   */
  def sampled(names: Seq[Seq[String]], most: Int): TableSnapshot

  /**
   * Reads what is known of the files.
   *
   * @param names name parts of the ordering columns; empty for a compaction
   * @param settings of a run by these columns
   */
  def snapshot(names: Seq[Seq[String]], settings: Seq[OrderingColumn] => Settings): TableSnapshot
}
