// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException
import java.nio.file.{Files, Path => LocalPath, Paths => LocalPaths}
import java.util.UUID

import scala.util.Try

import org.apache.hadoop.fs.{FileSystem, Path}

import io.sparkzorder.errors.ZOrderErrors

/**
 * Checks a record before it is used. A record lies in the table's directory, where other users may write.
 * Its run, folders and file names become parts of paths that are renamed or deleted. So each path must be
 * one that a run of spark-zorder could have made.
 */
private[sparkzorder] object RecordCheck {

  // the name of a file in a hidden directory of a run: hidden itself, and without a directory
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
    if (record.undone == null || !record.undone.forall(isRun)) {
      wrong(s"the run ${record.undone} that it undoes is not an id of a run")
    }
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
    val saysShadow = record.makesShadow || record.kind == Record.Expired
    if (saysShadow != (record.version == Record.ShadowVersion)) {
      wrong(s"its format version ${record.version} does not fit its kind and mode")
    }
    twice(record.changes.map(_.folder)).foreach(f => wrong(s"it names the folder $f twice"))
    record
  }

  /** A wrong plan can only place rows badly, but the id of the plan becomes the name of a file. */
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
    if (intent.undone == null || !intent.undone.forall(isRun)) wrong("it undoes no run")
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
    Seq(
      change.replaced.map(_.name),
      change.added.map(_.name),
      change.replaced.map(_.retained).filter(_.nonEmpty) ++ change.added.map(
        _.staged)).flatMap(twice(_)).foreach(n =>
      wrong(s"it names $n twice"))
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

  private def twice(names: Seq[String]): Option[String] =
    names.diff(names.distinct).headOption

  private def wrong(problem: String): Nothing = throw new IOException(problem)
}

/**
 * Refuses symbolic links on local disk. A user who may write into a table could put a link there, through
 * which we would change files that this user may not change. spark-zorder itself never makes a link. So
 * neither a directory of ours, nor anything in it, nor a folder that a record names may be a link.
 *
 * @param root the table's directory, which may be reached through links
 */
private[sparkzorder] final class OwnPaths(fs: FileSystem, root: Path) {
  // the other file systems with tables of spark-zorder have no links
  private val isLocal = OwnPaths.LocalSchemes(fs.getUri.getScheme)
  private val top: LocalPath = if (isLocal) local(root) else null

  /**
   * @param path below the table
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when the path leads through a
   *   link
   */
  def require(path: Path): Path = {
    if (isLocal) {
      var part = local(path)
      while (part != null && part != top) {
        if (Files.isSymbolicLink(part)) {
          throw ZOrderErrors.stateUnreadable(path.toString, s"$part is a symbolic link")
        }
        part = part.getParent
      }
    }
    path
  }

  /** Like [[require]], for a directory and for each entry of the directory. */
  def requireIn(directory: Path): Unit =
    if (isLocal) {
      require(directory)
      val names = Option(local(directory).toFile.list()).toSeq.flatten
      names.foreach(n => requireNoLink(local(directory).resolve(n)))
    }

  /** True for a path that is a symbolic link itself. */
  def isLink(path: Path): Boolean = isLocal && Files.isSymbolicLink(local(path))

  private def requireNoLink(path: LocalPath): Unit =
    if (Files.isSymbolicLink(path)) {
      throw ZOrderErrors.stateUnreadable(path.toString, "it is a symbolic link")
    }

  private def local(path: Path): LocalPath = LocalPaths.get(path.toUri.getPath)
}

private object OwnPaths {

  /** The scheme of the local disk, and the one under which tests make it fail. */
  val LocalSchemes: Set[String] = Set("file", "faulty")
}
