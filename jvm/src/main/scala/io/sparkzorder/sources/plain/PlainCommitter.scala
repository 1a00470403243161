// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import io.sparkzorder.commands.{Phases, WhereClause}
import io.sparkzorder.snapshot.ShadowUse
import io.sparkzorder.sources.{BatchPlan, FormatFile, LayoutTag, Rewritten}
import io.sparkzorder.table.TableFiles
import io.sparkzorder.table.stats.ScannedFile

/**
 * Where the rewritten files of a plain table go, and how readers come to see them: [[InPlace]] of their
 * inputs, [[Beside]] them, or [[Into]] another directory. The methods are called in the order in which they stand here.
 */
private[plain] trait PlainCommitter {

  /** The directory that the result row names. */
  def path: String

  /** How the files are listed that the run may replace. */
  def listing: ShadowUse = ShadowUse.Off

  /** True if a run may leave a folder half laid out, for a later run to go on with. */
  def canPlan: Boolean = false

  /** What else the result row says; parts of a sentence. */
  def remarks: Seq[String] = Nil

  /** Refuses a target that must not be touched, before anything is listed. */
  def check(): Unit

  /** Refuses a WHERE clause that the committer cannot follow. */
  def checkWhere(where: WhereClause, files: TableFiles): Unit

  /** Refuses files that must not be touched. */
  def checkListed(files: TableFiles): Unit

  /**
   * Refuses to begin where the result cannot be written or has no room.
   *
   * @param bytes that the run needs at once, beside what is there
   */
  def checkRoom(files: Seq[ScannedFile], bytes: Long): Unit

  /** Writes and commits one batch, see [[io.sparkzorder.sources.FormatRows.replace]]. */
  def replace(rows: PlainRows, plan: BatchPlan, layout: LayoutTag, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): Rewritten

  /** Removes replaced files whose time is over, between two batches. */
  def free(phases: Phases): Unit = { val _ = phases }

  /**
   * Ends the statement after all batches.
   *
   * @param added footers of the new files
   */
  def finish(inputs: PlainInputs, added: Seq[ScannedFile], phases: Phases): Unit

  /** Cleans up after a failure; what fails here is added to `cause`. */
  def abandon(cause: Throwable): Unit
}
