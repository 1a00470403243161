// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException

import org.apache.hadoop.fs.Path

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.Json

/** A file that an earlier run replaced, by the name, length and time with which it was listed. */
private[sparkzorder] final case class PastFile(name: String, length: Long, modified: Long)

/** Files of one folder that earlier runs replaced and whose rows are now in the files of a single run. */
private[sparkzorder] final case class PastFolder(folder: String, files: Seq[PastFile])

/**
 * A record in a checkpoint.
 *
 * @param whole true while the whole record is needed, and its file stays. False when the entry lists only
 *   the files that the run added and that no later run replaced; the file of the record is not needed then
 * @param conflict true when the run met a conflict; its record stays whole
 * @param past files that earlier runs replaced, and whose rows are now in the new files of this run. A whole record
 *   itself names the files that its run replaced. If the record is not whole, `past` has these files, too. By this
 *   list, a reader recognises old files that were restored from a backup beside the newer files
 */
private[sparkzorder] final case class CheckpointEntry(
    number: Long,
    whole: Boolean,
    record: Record,
    conflict: Boolean = false,
    past: Seq[PastFolder] = Nil)

/**
 * `_zorder/_commits/_checkpoint_<n>`: what is still needed of the records up to number n, in one file. No process
 * has to publish any of these runs.
 *
 * Readers ignore a record file up to n if the checkpoint does not hold the record whole. Such a file is about to
 * be removed, or was created by a process that did not know that its number had been used before.
 *
 * @param version the version of the format; a newer version is not read
 * @param upTo the number of the last record that the checkpoint covers
 * @param next the run of record upTo + 1. A checkpoint is valid only beside that record. If record upTo + 1 is
 *   of another run, a delayed process has written the checkpoint for a table that was overwritten since
 * @param checked the number of files that the records added, at the time when a writer of checkpoints last looked up
 *   which of these files still exist
 * @param records ascending by number
 */
private[sparkzorder] final case class Checkpoint(
    version: Int,
    upTo: Long,
    next: String,
    checked: Long,
    records: Seq[CheckpointEntry]) {

  /** Numbers of the records whose files are still needed. */
  def whole: Set[Long] = records.filter(_.whole).map(_.number).toSet
}

private[sparkzorder] object Checkpoint {
  val Version = 1

  private val Name = "_checkpoint_([1-9][0-9]{0,17})".r

  def name(upTo: Long): String = s"_checkpoint_$upTo"

  /** The last record that a checkpoint of this name covers; None for the name of another file. */
  def numberOf(name: String): Option[Long] = name match {
    case Name(number) => Some(number.toLong)
    case _ => None
  }

  def toJson(checkpoint: Checkpoint): Array[Byte] = Json.mapper.writeValueAsBytes(checkpoint)

  /**
   * Parses a checkpoint, and checks its version and each of its records.
   *
   * @throws java.io.IOException if the text is not such a checkpoint
   */
  def fromJson(json: Array[Byte], upTo: Long): Checkpoint = {
    val tree = Json.mapper.readTree(json)
    val version = if (tree == null) -1 else tree.path("version").asInt(-1)
    if (version < 1 || version > Version) {
      wrong(s"its format version is $version, known is $Version")
    }
    val read = Json.mapper.treeToValue(tree, classOf[Checkpoint])
    if (read.upTo != upTo) wrong(s"it says that it ends with record ${read.upTo}")
    if (!RecordCheck.isRun(read.next)) wrong(s"the run ${read.next} after it is no id of a run")
    // Jackson takes a missing list for an empty one
    if (!tree.path("records").isArray || read.records.contains(null)) wrong("it has no records")
    read.records.foreach { e =>
      RecordCheck.require(e.record)
      if (e.past == null) wrong(s"record ${e.number} has no list of past files")
      e.past.foreach(RecordCheck.require)
      if (!Record.Versions(e.record.version)) {
        wrong(s"record ${e.number} has the format version ${e.record.version}")
      }
    }
    val numbers = read.records.map(_.number)
    if (numbers.exists(n => n < 1 || n > upTo) || numbers != numbers.distinct.sorted) {
      wrong("its records are not in order")
    }
    read
  }

  /**
   * Reads the checkpoint up to a number; None when its file does not exist.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE
   */
  def read(state: StateDirectory, upTo: Long): Option[Checkpoint] = {
    val path = new Path(state.commits, name(upTo))
    try state.content(path).map(fromJson(_, upTo))
    catch {
      case e: IOException => throw ZOrderErrors.stateUnreadable(path.toString, e.getMessage)
    }
  }

  private def wrong(problem: String): Nothing = throw new IOException(problem)
}
