// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import org.apache.hadoop.fs.Path

import io.sparkzorder.errors.ZOrderErrors

/**
 * A copy of the record, reduced to the change of one folder, in the run's hidden directory of that folder. The
 * copy identifies the folder after another program has renamed, moved or exchanged it, when the path in the record
 * no longer leads there.
 *
 * The name holds the run and a hash of the folder's name, so a listing of the directory tells whether the
 * directory is where it was made.
 */
private[sparkzorder] object ChangeCopy {
  private val Prefix = "_change_"
  private val HashBytes = 8

  def isOne(name: String): Boolean = name.startsWith(Prefix)

  /** @param folder relative to the table's root */
  def name(run: String, folder: String): String = s"$Prefix${run}_${hash(folder)}"

  /** The copies of a run among the names in a directory. */
  def of(run: String, names: Iterable[String]): Iterable[String] =
    names.filter(_.startsWith(s"$Prefix${run}_"))

  /** Writes the copy of one change. Must be called before the record is committed. */
  def write(state: StateDirectory, record: Record, change: FolderChange): Unit =
    state.write(
      new Path(state.own(change.folder, record.run), name(record.run, change.folder)),
      Record.toJson(record.copy(changes = Seq(change))))

  /**
   * The record of a copy, which has one change. None when the copy is gone.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE
   */
  def read(state: StateDirectory, path: Path): Option[Record] =
    state.content(path).map { json =>
      try {
        val record = Record.fromJson(json)
        if (record.changes.size != 1 || path.getName != name(
            record.run,
            record.changes.head.folder))
          throw new IOException(
            "its name is not that of its run and folder, or it has several changes")
        record
      } catch {
        case e: IOException => throw ZOrderErrors.stateUnreadable(path.toString, e.getMessage)
      }
    }

  private def hash(folder: String): String =
    MessageDigest.getInstance("SHA-256").digest(folder.getBytes(UTF_8)).take(HashBytes)
      .map(b => f"$b%02x").mkString
}
