// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException
import java.util.UUID

import scala.util.Try

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.util.{Etags, Json}

/**
 * A file that a run replaces, as it was listed.
 *
 * @param retained the name under which the file is kept in the hidden directory of the run; empty for a run
 *   that makes a shadow, because such a run leaves the file where it is
 * @param etag the version of the content, where the file system has ETags; else empty
 */
private[sparkzorder] final case class Replaced(
    name: String,
    length: Long,
    modified: Long,
    retained: String,
    etag: String = "") {

  /** True if a file has the recorded length, time and, if both are known, ETag. Its name may differ. */
  def is(s: FileStatus): Boolean =
    s.getLen == length && s.getModificationTime == modified && Etags.mayHave(etag, s)
}

/**
 * A file that a run adds.
 *
 * @param staged the name of the file in the hidden directory of the run, until the file is visible
 * @param name the final name
 * @param modified the modification time of the written file in milliseconds, which renames keep; 0 or less
 *   in a record that does not have it
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

/** What a run does to one folder. `folder` is relative to the table's root, and empty for the root. */
private[sparkzorder] final case class FolderChange(
    folder: String,
    replaced: Seq[Replaced],
    added: Seq[Added]) {

  /** The path of a file of the folder, relative to the table's root. */
  def path(name: String): String = if (folder.isEmpty) name else s"$folder/$name"
}

/**
 * The cost of a run, by which DRY RUN predicts the cost of the next run.
 *
 * @param inputBytes bytes of the files that it replaced
 * @param shuffleBytes bytes that its shuffle wrote
 * @param millis the time from its first sampled row to its verified files
 */
private[sparkzorder] final case class RunCost(inputBytes: Long, shuffleBytes: Long, millis: Long)

/**
 * A numbered record of `_zorder/_commits/`. A record appears with its complete content, and only one record can
 * get a number. What a record says is in force from the moment when its file appears: a run is committed, or
 * is forbidden to commit, and so on for each kind.
 *
 * @param version the version of the format; a record of an unknown version is refused
 * @param kind one of five. `optimize` and `undo` commit run `run`. `abort` forbids run `run` to commit.
 *   `abandon` restores the inputs of run `run` in every folder that is not published, and ends its shadow.
 *   `expired` announces that files of the shadow of run `run` are about to be deleted: the files that
 *   `changes` lists as added
 * @param retainMs how long the replaced files are kept after the run was published
 * @param undone the run that an `undo` undoes
 * @param targetFileSize the target size of a file in bytes; 0 in a record that does not have it
 * @param cost None in a record that does not have it
 * @param weights the relative number of point queries that the layout expects on each of `columns`; empty if
 *   all columns have the same weight
 * @param suffix the suffix of the names of the table's data files, such as `.parquet`
 * @param layoutSinceMs when the layout of `columns` and `weights` replaced another layout; 0 for the first
 *   layout of the table, and in a record of an older release
 * @param mode `shadow` if the new files stay hidden beside the replaced ones; empty if names are exchanged
 * @param published the runs whose shadows this run gives visible names
 * @param plan for a run of two passes, the id of the plan of these passes; empty for other runs
 * @param level `dealt` for a run of the first pass, `final` for a run of the second; empty without a plan
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
  def planId: Option[String] = Option(plan).filter(_.nonEmpty)

  /** The weights of the columns; empty if all are equal. */
  def columnWeights: Seq[Double] = weights.map(_.doubleValue)

  /** True when the record is the commit of a run. */
  def commitsRun: Boolean = kind == Record.Optimize || kind == Record.Undo

  /** True for a run whose new files stay hidden beside the files that they stand for. */
  def makesShadow: Boolean = kind == Record.Optimize && mode == Record.Shadow

  /** True for a run whose new files get visible names, while the replaced files are hidden. */
  def exchangesFiles: Boolean = commitsRun && !makesShadow

  /** All files that the record adds. */
  def added: Seq[Added] = changes.flatMap(_.added)

  /** All files that the record replaces. */
  def replaced: Seq[Replaced] = changes.flatMap(_.replaced)

  /** [[published]] as a set. In a record of an older release, `published` is null. */
  def publishedRuns: Set[String] = Option(published).toSeq.flatten.toSet
}

private[sparkzorder] object Record {

  /** The format of records that older releases understand, too. */
  val Version = 2

  /** The format of records that make a shadow, or let files of a shadow expire. Older releases refuse them. */
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

  /** A record that ends or limits run `run` and changes no files. */
  def marker(kind: String, run: String, user: String): Record = Record(
    Version,
    kind,
    run,
    System.currentTimeMillis(),
    user,
    columns = Nil,
    retainMs = 0L,
    changes = Nil)

  /**
   * Parses a record, and checks that its version is known and that a run could have made each of its paths.
   *
   * @throws java.io.IOException if the text is not such a record
   */
  def fromJson(json: Array[Byte]): Record = {
    val version = Json.mapper.readTree(json).path("version").asInt(-1)
    if (!Versions(version)) {
      throw new IOException(
        s"its format version is $version, known are ${Versions.toSeq.sorted.mkString(" and ")}")
    }
    RecordCheck.require(Json.mapper.readValue(json, classOf[Record]))
  }
}

/**
 * Checks a record before it is used. A record lies in the table's directory, where other users may write.
 * Its run, folders and file names become parts of paths that are renamed or deleted. So each path must be
 * one that a run of spark-zorder could have made.
 */
private[sparkzorder] object RecordCheck {

  // the names of files in the hidden directory of a run
  private val OwnName = "_[A-Za-z0-9_-]+".r.pattern
  private val Kinds =
    Set(Record.Optimize, Record.Undo, Record.Abort, Record.Abandon, Record.Expired)
  private val Levels = Set("", Record.Dealt, Record.Final)
  private val Suffix = "\\.[a-z]+".r.pattern

  /** @throws java.io.IOException whose message names the problem */
  def require(record: Record): Record = {
    if (record == null) wrong("it is empty")
    if (!Kinds.contains(record.kind)) wrong(s"its kind is ${record.kind}")
    if (!isRun(record.run)) wrong(s"its run ${record.run} is not an id of a run")
    if (record.columns == null || record.columns.contains(null)) wrong("it has no columns")
    if (record.weights == null || !record.weights.forall(isWeight) ||
      record.weights.nonEmpty && record.weights.size != record.columns.size) {
      wrong("its weights do not fit its columns")
    }
    if (record.retainMs < 0) wrong(s"its retention is ${record.retainMs}")
    if (record.changes == null || record.changes.contains(null)) wrong("it has no changes")
    checkUndone(record.undone)
    if (record.kind == Record.Undo && record.undone.isEmpty) wrong("it undoes no run")
    if (record.suffix == null ||
      record.commitsRun && !Suffix.matcher(record.suffix).matches()) {
      wrong(s"${record.suffix} is not a suffix of a file name")
    }
    // null in a record of an older release
    if (Option(record.mode).exists(_.nonEmpty) && !record.makesShadow) {
      wrong(s"its mode is ${record.mode}")
    }
    checkPlan(record)
    record.changes.foreach(require(_, record))
    record.publishedRuns.filterNot(isRun).foreach(r => wrong(s"$r is not an id of a run"))
    val isOfShadow = record.makesShadow || record.kind == Record.Expired
    if (isOfShadow != (record.version == Record.ShadowVersion)) {
      wrong(s"its format version ${record.version} does not fit its kind and mode")
    }
    repeated(record.changes.map(_.folder)).foreach(f => wrong(s"it names the folder $f twice"))
    record
  }

  private def checkUndone(undone: Option[String]): Unit = {
    if (undone == null) wrong("the run that it undoes is null")
    undone.filterNot(isRun).foreach(r =>
      wrong(s"the run $r that it undoes is not an id of a run"))
  }

  /**
   * Checks the form of the plan's id, because the id becomes a file name. The plan itself is not checked: with a
   * wrong plan the rows are only laid out badly.
   */
  private def checkPlan(record: Record): Unit = {
    // null in a record of an older release
    val level = Option(record.level).getOrElse("")
    if (!Levels(level) || level.isEmpty != record.planId.isEmpty) wrong(s"its level is $level")
    record.planId.filterNot(isRun).foreach(p => wrong(s"its plan $p is not an id of a plan"))
    if (record.planId.isDefined && record.kind != Record.Optimize) wrong("it has a plan")
  }

  /** @throws java.io.IOException whose message names the problem */
  def require(intent: Intent): Intent = {
    if (intent == null || !isRun(intent.run)) wrong("it names no run")
    if (intent.folders == null || !intent.folders.forall(isFolder))
      wrong("it names something that is not a folder of the table")
    checkUndone(intent.undone)
    intent
  }

  /** @throws java.io.IOException whose message names the problem */
  def require(past: PastFolder): Unit = {
    if (past == null || !isFolder(past.folder)) wrong(s"$past is not a folder of the table")
    if (past.files == null || past.files.exists(f => f == null || !isFile(f.name))) {
      wrong(s"${past.folder} has a past file without a valid name")
    }
  }

  private def isWeight(w: java.lang.Double): Boolean =
    w != null && w > 0 && !w.isInfinite

  /** True for an id of a run: a UUID in its canonical form. */
  def isRun(id: String): Boolean =
    id != null && Try(UUID.fromString(id).toString == id).getOrElse(false)

  private def require(change: FolderChange, record: Record): Unit = {
    if (!isFolder(change.folder)) wrong(s"${change.folder} is not a folder of the table")
    if (change.replaced == null || change.added == null) wrong("a folder has no files")
    change.replaced.foreach { r =>
      if (r == null || !isFile(r.name)) wrong(s"$r is not a file of a folder")
      if (!isOwnName(r.retained) && !(record.makesShadow && r.retained == "")) {
        wrong(s"${r.retained} cannot be the hidden name of a replaced file")
      }
      if (r.length < 0) wrong(s"${r.name} has ${r.length} bytes")
    }
    change.added.foreach { a =>
      if (a == null || !isFile(a.name)) wrong(s"$a is not a file of a folder")
      if (!isOwnName(a.staged)) wrong(s"${a.staged} cannot be the hidden name of a new file")
      if (a.length < 0 || a.rows < 0) wrong(s"${a.name} has ${a.length} bytes, ${a.rows} rows")
      if (a.region < 0 || a.region > 0 && record.level != Record.Dealt) {
        wrong(s"${a.name} lies in the region ${a.region}")
      }
      if (record.kind == Record.Optimize && isHidden(a.name)) wrong(s"${a.name} would be hidden")
    }
    val hidden = change.replaced.map(_.retained).filter(_.nonEmpty) ++ change.added.map(_.staged)
    Seq(change.replaced.map(_.name), change.added.map(_.name), hidden)
      .flatMap(repeated(_)).foreach(n => wrong(s"it names $n twice"))
  }

  /** True for the name of a file in a folder. A name such as `../a` would lead elsewhere. */
  private def isFile(name: String): Boolean =
    name != null && name.nonEmpty && name != "." && name != ".." &&
      !name.exists(c => c == '/' || c == '\u0000') && !name.startsWith(StateDirectory.Name)

  private def isHidden(name: String): Boolean = name.startsWith("_") || name.startsWith(".")

  private def isOwnName(name: String): Boolean =
    name != null && OwnName.matcher(name).matches() && !RunFolder.isToken(name)

  /**
   * True for a relative path that stays below the table: no part is empty, leads up, or begins like our own
   * directory `_zorder`. Only a partition directory may begin so, as in `_zorder_a=1`.
   */
  private def isFolder(folder: String): Boolean =
    folder != null && (folder.isEmpty || folder.split("/", -1).forall(part =>
      isFile(part) || (part.contains("=") && isFile(part.stripPrefix(StateDirectory.Name)))))

  /** A name that occurs more than once. */
  private def repeated(names: Seq[String]): Option[String] =
    names.diff(names.distinct).headOption

  private def wrong(problem: String): Nothing = throw new IOException(problem)
}
