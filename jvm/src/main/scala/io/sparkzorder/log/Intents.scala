// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException
import java.util.UUID

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.{ExclusiveFile, Json, ManyFiles, ObjectStore}

/**
 * The folders in which a run makes its hidden directories. The intent is written before the first directory
 * is made, and stays until the run keeps no files there. Clean-up searches only folders that an intent
 * names.
 *
 * @param folders the paths of these folders, relative to the table
 * @param undone for an UNDO, the run whose retained files it claims
 */
private[sparkzorder] final case class Intent(
    run: String,
    folders: Seq[String],
    undone: Option[String] = None)

/**
 * The intents of runs that are working, have died, or keep replaced files: the files
 * `_zorder/_runs/_<run>`.
 */
private[sparkzorder] final class Intents(state: StateDirectory) {

  /**
   * Writes an intent. Other processes read intents, so the file appears with its whole content.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_CONFLICT if the table was dropped, so that its directory
   *   is not made again
   */
  def write(intent: Intent): Unit = {
    if (!ObjectStore.isOne(state.fs) && !state.fs.exists(state.root)) {
      throw ZOrderErrors.conflict(state.root.toString, "the directory of the table was removed")
    }
    state.create()
    val (file, id) = (state.intent(intent.run), UUID.randomUUID().toString)
    val json = Json.mapper.writeValueAsBytes(intent)
    val _ = ExclusiveFile.create(state.fs, file, id, json, state.conf)
  }

  /** The ids of the runs that have an intent. */
  def runs(): Set[String] = files().map(_.getPath.getName.stripPrefix("_")).toSet

  /**
   * True if a file that the run replaced lies in a hidden directory of the run. Then the run was committed, even
   * if its record is gone. The directory of an undo also has the files of the undone run, which the undo claims
   * before its commit, so these prove nothing.
   */
  def hasReplaced(intent: Intent): Boolean = {
    val prefix = if (intent.undone.isEmpty) RunFolder.Retained else RunFolder.RetainedByUndo
    ManyFiles.map(intent.folders) { f =>
      state.hidden(f, intent.run).exists(d =>
        state.openByName(d).keys.exists(_.startsWith(prefix)))
    }.contains(true)
  }

  /** True while the run has an intent: until it keeps no files any more, or was cleaned up. */
  def holds(run: String): Boolean = state.status(state.intent(run)).isDefined

  def remove(run: String): Unit = {
    val _ = state.fs.delete(state.intent(run), false)
  }

  /** The intents, with their files; intents that are removed meanwhile are left out. */
  def all(): Seq[(FileStatus, Intent)] =
    ManyFiles.map(files())(s => state.parsed(s.getPath)(parse(s.getPath, _)).map(s -> _)).flatten

  private def files() = state.files(state.runs)
    .filter(s => RecordCheck.isRun(s.getPath.getName.stripPrefix("_")))

  private def parse(path: Path, json: Array[Byte]): Intent = {
    val intent = RecordCheck.require(Json.mapper.readValue(json, classOf[Intent]))
    if (path.getName != s"_${intent.run}") throw new IOException("it is of another run")
    intent
  }
}
