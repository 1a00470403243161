// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import scala.util.Try

import io.sparkzorder.table.stats.ColumnRange

/**
 * One partition of a table. Folders are compared by identity: another object is another folder.
 *
 * @param name as messages show it
 * @param group folders of one group can be rewritten by one job
 */
private[sparkzorder] class FormatFolder(val name: String, val group: Int) {
  override def toString: String = name
}

/** A data file as the format's own metadata, or its footer, describes it. */
private[sparkzorder] trait FormatFile {
  def path: String
  def folder: FormatFolder
  def bytes: Long

  /** Grows with the time at which the file was written; 0 if that is not known. */
  def writtenAt: Long = 0L

  /** Number of rows in the file by the format's own count, which may include deleted rows. */
  def records: Long

  /** Number of rows that the bytes of the file hold, deleted rows included; 0 if the number is not known. */
  def storedRecords: Long = records

  /** True if readers may see another number of rows than `records`, so that the rows must be read and counted. */
  def isUncounted: Boolean = false

  /** The least number of rows of the file. A reader that returns fewer rows has left rows out. */
  def leastRecords: Long = 0L

  /** What is known of each ordering column. */
  def columns: IndexedSeq[FileColumnInfo]

  /**
   * A number for the commit or the job that added the file; None if unknown. Files with the same number count as
   * added together. A later commit has a greater number only if the format numbers its commits.
   */
  def commit: Option[Long]

  /** The layout that this commit made; None for files of other writers. */
  def layout: Option[LayoutTag]

  /** The region that the first of two passes has put the file into. */
  def dealt: Option[DealtTo] = None

  /** The plan in two passes whose second pass has made the file. */
  def finishedPlan: Option[String] = None

  /** True if the table's history no longer has this commit. */
  def isForgotten: Boolean = false
}

/**
 * A region of a plan.
 *
 * @param region the number of the region, from 1. It is 0 if all rows of the region have one key, so that there
 *   is nothing left to lay out
 */
private[sparkzorder] final case class DealtTo(plan: String, region: Int)

/**
 * What is known of one column of a file.
 *
 * @param range the range of the values
 * @param bytes the bytes of the column in the file; 0 if they are not known
 * @param values the number of values that are not NULL
 */
private[sparkzorder] final case class FileColumnInfo(range: ColumnRange, bytes: Long, values: Long)

/**
 * The layout of the files of one commit of OPTIMIZE.
 *
 * @param columns names of the ordering columns, for messages
 * @param key the same columns as [[TableSnapshot.layoutKey]]
 * @param weights the weights of the columns; empty if all are equal
 * @param run id of the statement, which may make several commits
 * @param sinceMs the time at which this layout took the place of another layout; 0 if it was the first one
 */
private[sparkzorder] final case class LayoutTag(
    columns: String,
    key: String,
    targetFileSize: Long,
    weights: Seq[Double],
    run: String,
    sinceMs: Long = 0L) {

  /** True if files with these two tags have the same layout. A column may have been renamed in between. */
  def isSame(other: LayoutTag): Boolean =
    key == other.key && targetFileSize == other.targetFileSize && weights == other.weights
}

/** The keys under which the metadata of a format keep the fields of a [[LayoutTag]]. */
private[sources] final class LayoutKeys(
    columns: String,
    fields: String,
    size: String,
    weights: String,
    val run: String,
    since: String) {

  def write(tag: LayoutTag): Map[String, String] = Map(
    columns -> tag.columns,
    fields -> tag.key,
    size -> tag.targetFileSize.toString,
    run -> tag.run,
    since -> tag.sinceMs.toString) ++
    (if (tag.weights.isEmpty) None else Some(weights -> tag.weights.mkString(",")))

  /** The layout; None if there is no layout, or if it cannot be read. */
  def read(get: String => Option[String]): Option[LayoutTag] =
    for {
      names <- get(columns)
      key <- get(fields)
      bytes <- get(size).flatMap(t => Try(t.toLong).toOption)
      ofColumns <- Try(LayoutKeys.listed(get(weights)).map(_.toDouble)).toOption
      sinceMs = get(since).flatMap(t => Try(t.toLong).toOption).getOrElse(0L)
    } yield LayoutTag(names, key, bytes, ofColumns, get(run).getOrElse(""), sinceMs)
}

private[sources] object LayoutKeys {
  def listed(text: Option[String]): Seq[String] =
    text.toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
}

/**
 * The layout of the last run of OPTIMIZE.
 *
 * @param columns name parts of the columns as they are named now; empty if it was a compaction
 * @param weights of the columns; empty if all are equal
 * @param sinceMs as in [[LayoutTag]]
 */
private[sparkzorder] final case class LastLayout(
    columns: Seq[Seq[String]],
    targetFileSize: Long,
    weights: Seq[Double],
    sinceMs: Long)
