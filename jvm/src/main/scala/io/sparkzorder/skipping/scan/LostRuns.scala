// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{RunFolder, StateDirectory, StateSearch, TableLog}
import io.sparkzorder.table.TokenFile
import io.sparkzorder.util.ManyFiles

/**
 * Finds folders in which a run hides files of the table, and no record tells which ones: a person has removed the
 * records, or has moved the folder here from another table in the middle of a publish. A query of such a folder fails,
 * because it would lack rows. The token of the run tells of such a folder, so a read by names or times that leaves out
 * the token is not checked.
 *
 * @param roots the paths that the query reads
 */
private[scan] final class LostRuns(roots: Seq[Path], conf: Configuration) {

  /**
   * @param tokens the tokens in the listing of the query
   * @param logs the records that the query has read after the listing
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_RECORD_LOST
   */
  def check(tokens: Seq[Path], logs: Seq[TableLog]): Unit =
    // the listing may be of the middle of a publish that has ended since
    for {
      (token, hidden) <- ManyFiles.map(tokens)(t => halfPublished(t).map(t -> _)).flatten
      if !logs.exists(isKnown(_, token))
    } requireRecord(token, hidden)

  /** The directory of a run that hides files of the table; None if the visible files are all, or the token is gone. */
  private def halfPublished(token: Path): Option[Path] = {
    val state = new StateDirectory(token.getParent, conf)
    if (state.status(token).isEmpty) None
    else state.hidden("", TokenFile.runOf(token.getName)).find { d =>
      val names = state.openByName(d).keys
      val replaced = names.filter(_.startsWith(RunFolder.Retained))
      val (ofUndo, kept) = replaced.partition(_.startsWith(RunFolder.RetainedByUndo))
      // OPTIMIZE hides the replaced files before it shows the first new one; UNDO hides new files, and shows kept ones
      kept.nonEmpty && (ofUndo.nonEmpty || names.exists(_.startsWith(RunFolder.New)))
    }
  }

  // a record that cannot be read may be that of the run
  private def isKnown(log: TableLog, token: Path): Boolean =
    Try(log.commitOf(TokenFile.runOf(token.getName)).isDefined).getOrElse(true)

  private def requireRecord(token: Path, hidden: Path): Unit = {
    val folder = token.getParent
    // a folder may be, or lie in, a table of its own
    val above = StateSearch.above(Seq(folder), conf)
    // records that this user may not list explain the token
    if (!above.exists(s => CommittedOverlay.logOf(s).forall(isKnown(_, token)))) {
      val parents = Iterator.iterate(folder)(_.getParent).takeWhile(_ != null)
      val root = parents.find(roots.contains).getOrElse(folder)
      throw ZOrderErrors.recordLost(
        folder.toString,
        token.getName,
        above.headOption.getOrElse(new StateDirectory(root, conf)).commits.toString,
        hidden.toString,
        missing = None,
        isDone = false)
    }
  }
}
