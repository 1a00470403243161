// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import org.apache.hadoop.fs.Path

import io.sparkzorder.errors.ZOrderErrors

/**
 * The copy of a change in the hidden directory that the run has in the folder. It holds the record with
 * this one change. By its copy a folder tells what lies in it, also when the folder was renamed, moved or
 * exchanged with another one since, and the record names a folder that is not there.
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

  /** Writes the copy of each change, before the record is committed. */
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
          throw new IOException("it is of another folder or run")
        record
      } catch {
        case e: IOException => throw ZOrderErrors.stateUnreadable(path.toString, e.getMessage)
      }
    }

  private def hash(folder: String): String =
    MessageDigest.getInstance("SHA-256").digest(folder.getBytes(UTF_8)).take(HashBytes)
      .map(b => f"$b%02x").mkString
}
