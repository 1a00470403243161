// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException
import java.util.UUID

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.{ExclusiveFile, ManyFiles}

/**
 * The folders in which a run makes its hidden directories. The intent is written before the first of them is
 * made, and stays until the run keeps nothing there. Clean-up looks only into folders that an intent names.
 *
 * @param folders relative names of the folders in which the run makes a directory
 * @param undone the run whose files an undo takes
 */
private[sparkzorder] final case class Intent(
    run: String,
    folders: Seq[String],
    undone: Option[String] = None)

/** The intents of runs that are under way, died, or keep replaced files: `_zorder/_runs/_<run>`. */
private[sparkzorder] final class Intents(state: StateDirectory) {

  private def path(run: String): Path = state.intent(run)

  /** The file of an intent appears with all its content, because other processes read intents meanwhile. */
  def write(intent: Intent): Unit = {
    state.create()
    val (file, id) = (path(intent.run), UUID.randomUUID().toString)
    val _ = ExclusiveFile.create(state.fs, file, id, Record.toBytes(intent), state.conf)
  }

  /** Runs that have an intent. */
  def runs(): Set[String] = files().map(_.getPath.getName.stripPrefix("_")).toSet

  /** True until the run has been cleaned up. */
  def holds(run: String): Boolean = state.status(path(run)).isDefined

  def remove(run: String): Unit = {
    val _ = state.fs.delete(path(run), false)
  }

  /** The intents, with their files; intents that are removed meanwhile are left out. */
  def all(): Seq[(FileStatus, Intent)] =
    ManyFiles.map(files()) { s =>
      state.content(s.getPath).map(bytes => s -> parse(s.getPath, bytes))
    }.flatten

  private def files() = state.files(state.runs)
    .filter(s => RecordCheck.isRun(s.getPath.getName.stripPrefix("_")))

  private def parse(path: Path, bytes: Array[Byte]): Intent =
    try {
      val intent = Record.intent(bytes)
      if (path.getName != s"_${intent.run}") throw new IOException("it is of another run")
      intent
    } catch {
      case e: IOException => throw ZOrderErrors.stateUnreadable(path.toString, e.getMessage)
    }
}
