// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.util.{Etags, Json}

/**
 * A file that a run replaces, as it was listed.
 *
 * @param retained name under which it is kept in the directory of the run in its folder; a run that
 *   makes a shadow keeps none
 * @param etag version of the content, where the file system has such a thing; else empty
 */
private[sparkzorder] final case class Replaced(
    name: String,
    length: Long,
    modified: Long,
    retained: String,
    etag: String = "") {

  /** True for the file as it was listed, under whatever name. */
  def is(s: FileStatus): Boolean =
    s.getLen == length && s.getModificationTime == modified && Etags.mayHave(etag, s)
}

/**
 * A file that a run adds.
 *
 * @param staged name in the directory of the run in the folder, until it is visible
 * @param name final name
 * @param modified modification time in milliseconds of the file as written, which renames keep; 0 or
 *   less in a record that does not say
 * @param region for a file of a first pass: the number, from 1, of the region of the plan that holds its rows,
 *   until the second pass has rewritten the region; 0 for any other file
 */
private[sparkzorder] final case class Added(
    staged: String,
    name: String,
    length: Long,
    rows: Long,
    modified: Long = -1L,
    region: Int = 0)

/** What a run does to one folder; `folder` is relative to the table's root, empty for the root. */
private[sparkzorder] final case class FolderChange(
    folder: String,
    replaced: Seq[Replaced],
    added: Seq[Added])

/**
 * What a run took, by which DRY RUN predicts the next one.
 *
 * @param inputBytes bytes of the files that it replaced
 * @param shuffleBytes bytes that its shuffle wrote
 * @param millis from its first sampled row to its verified files
 */
private[sparkzorder] final case class RunCost(inputBytes: Long, shuffleBytes: Long, millis: Long)

/**
 * A numbered record of `_zorder/_commits/`. Its exclusive appearance with complete content is the
 * commit of a run, or the end of a dead run that was cleaned up.
 *
 * @param version format of the record; another one is not touched
 * @param kind one of five. `optimize` and `undo` commit run `run`. `abort` forbids run `run` to commit. `abandon`
 *   restores the inputs of run `run` in every folder that is not published, and ends its shadow. `expired`
 *   announces that the files of the shadow of run `run` are about to be deleted that `changes` lists as added
 * @param retainMs how long the replaced files are kept after the run was published
 * @param undone the run that an `undo` undoes
 * @param targetFileSize bytes of a file that the run aimed at; 0 in a record that does not say
 * @param cost None in a record that does not say
 * @param weights how many point queries the layout expects on each of `columns`; empty if equally many
 * @param suffix of the table's data files, such as `.parquet`
 * @param layoutSinceMs when the layout of `columns` and `weights` took the place of another one; 0 for the
 *   first layout, and in a record that does not say
 * @param mode `shadow` if the new files stay hidden beside the replaced ones; empty if names are exchanged
 * @param published the runs whose shadows get visible names by this run
 * @param plan the id of the plan in two passes that the run is a part of; empty for other runs
 * @param level `dealt` for a run of the first pass, `final` for one of the second; empty without a plan
 */
private[sparkzorder] final case class Record(
    version: Int,
    kind: String,
    run: String,
    createdMs: Long,
    user: String,
    columns: Seq[String],
    retainMs: Long,
    changes: Seq[FolderChange],
    undone: Option[String] = None,
    targetFileSize: Long = 0L,
    cost: Option[RunCost] = None,
    suffix: String = "",
    weights: Seq[java.lang.Double] = Nil,
    layoutSinceMs: Long = 0L,
    mode: String = "",
    published: Seq[String] = Nil,
    plan: String = "",
    level: String = "") {

  /** The plan that the run is a part of. */
  def planId: Option[String] = Option(plan).filter(_.nonEmpty)

  /** The weights of the columns; empty if all are equal. */
  def columnWeights: Seq[Double] = weights.map(_.doubleValue)

  /** True when the record is the commit of a run. */
  def commitsRun: Boolean = kind == Record.Optimize || kind == Record.Undo

  /** True when its new files stay hidden beside the replaced ones. */
  def makesShadow: Boolean = kind == Record.Optimize && mode == Record.Shadow

  /** True when the record replaces files of the table by others, which get visible names. */
  def exchangesFiles: Boolean = commitsRun && !makesShadow

  /** The runs whose shadows this run gives visible names. */
  def publishedRuns: Set[String] = Option(published).toSeq.flatten.toSet
}

private[sparkzorder] object Record {

  /** The format of records that older releases understand, too. */
  val Version = 2

  /** The format of records that make a shadow, or let files of one expire. Older releases refuse them. */
  val ShadowVersion = 3
  val Versions: Set[Int] = Set(Version, ShadowVersion)

  val Optimize = "optimize"
  val Undo = "undo"
  val Abort = "abort"
  val Abandon = "abandon"
  val Expired = "expired"

  val Shadow = "shadow"

  val Dealt = "dealt"
  val Final = "final"

  def toJson(record: Record): Array[Byte] = Json.mapper.writeValueAsBytes(record)

  /** A record that says something of run `run` and changes no files. */
  def marker(kind: String, run: String, user: String): Record = Record(
    Version,
    kind,
    run,
    System.currentTimeMillis(),
    user,
    columns = Nil,
    retainMs = 0L,
    changes = Nil)

  def toBytes(intent: Intent): Array[Byte] = Json.mapper.writeValueAsBytes(intent)

  /** @throws java.io.IOException when it is none */
  def intent(json: Array[Byte]): Intent =
    RecordCheck.require(Json.mapper.readValue(json, classOf[Intent]))

  /**
   * A record of a known version, all of whose names lead to where a run would have put them.
   *
   * @throws java.io.IOException when it is none
   */
  def fromJson(json: Array[Byte]): Record = {
    val version = Json.mapper.readTree(json).path("version").asInt(-1)
    if (!Versions(version)) {
      throw new java.io.IOException(
        s"its format version is $version, known are ${Versions.toSeq.sorted.mkString(" and ")}")
    }
    RecordCheck.require(Json.mapper.readValue(json, classOf[Record]))
  }
}
