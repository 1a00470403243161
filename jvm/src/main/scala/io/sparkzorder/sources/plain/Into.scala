// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.collection.mutable
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import org.apache.spark.sql.catalyst.util.DateTimeUtils

import io.sparkzorder.commands.{Phases, TableState, WhereClause}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.sources.{BatchPlan, FormatFile, LayoutTag, Rewritten}
import io.sparkzorder.table.{FileChecks, PathTarget, SameDirectory, TableFiles, TargetChecks}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.{Directories, ExclusiveFile, Paths, RawFiles}
import io.sparkzorder.write.IntoPlaces

/**
 * Writes a copy of the table, or of the partitions that WHERE chooses, into an empty directory. The table does not
 * change.
 *
 * @param named the directory as the statement names it
 */
private[plain] final class Into(
    table: TableState,
    named: String,
    recovery: Recovery)
    extends PlainCommitter {
  private val runIds = mutable.ArrayBuffer.empty[String]
  // true when `_SUCCESS` is written, by which readers take the copy as complete; then nothing is removed any more
  private var isMarked = false
  // true when `_SUCCESS` may be there: the write of a file may fail after the file was made
  private var mayBeMarked = false
  private lazy val directory =
    new IntoDirectory(PathTarget(named, table.target.format).root(table.conf), table.conf)

  override def path: String = directory.root.toString

  override def check(): Unit = {
    table.check()
    directory.requireEmpty()
    TargetChecks.checkAncestors(directory.fs, directory.root)
    if (new SameDirectory(table.root, table.conf).contains(directory.root)) {
      throw ZOrderErrors.pathInTable(
        directory.root.toString,
        table.root.toString,
        "the source's files")
    }
  }

  // With a WHERE on data columns, the copy would have all rows of the files that may hold a matching row. That is
  // neither the table nor the set of matching rows.
  override def checkWhere(where: WhereClause, files: TableFiles): Unit =
    where.requireOnPartitions("OPTIMIZE ... INTO")

  override def checkListed(files: TableFiles): Unit = {
    files.outside.headOption.foreach { o =>
      throw ZOrderErrors.partitionOutsideTable(table.target.name, o.spec, o.location)
    }
    val zone = DateTimeUtils.getZoneId(table.user.sessionState.conf.sessionLocalTimeZone)
    FileChecks.checkNames(table.target, files, zone)
    // the records of a nested table tell which of its files count, and this statement does not read these records
    TargetChecks.checkNested(
      table.target.name,
      table.root.getFileSystem(table.conf),
      table.root,
      files.files.map(_.folder.path).distinct)
  }

  override def checkRoom(files: Seq[ScannedFile], bytes: Long): Unit = {
    val check = new DestinationCheck(table.target.name, directory.fs, directory.root)
    check.directory()
    check.space(bytes)
  }

  override def replace(rows: PlainRows, plan: BatchPlan, layout: LayoutTag, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): Rewritten = {
    val runId = UUID.randomUUID().toString
    if (runIds.isEmpty) claim(runId) else runIds += runId
    val folders = rows.outputs(plan).map(f => Paths.relative(table.root, f.path)).toArray
    val places = IntoPlaces(
      directory.root.toString,
      folders,
      runId,
      directory.claimed.toString,
      claimedBy = runIds.head)
    val output = rows.write(plan, places, phases)(guard)
    Rewritten(rows.added(output.footers), output.shuffleBytes)
  }

  private def claim(runId: String): Unit = {
    directory.claim(runId)
    runIds += runId
  }

  override def finish(inputs: PlainInputs, added: Seq[ScannedFile], phases: Phases): Unit = {
    // a table without rows has no batch that has claimed the directory
    if (runIds.isEmpty) claim(UUID.randomUUID().toString)
    val own = runIds.toSet
    directory.removeOwn(own, keep = added.map(_.file.path.getName).toSet)
    directory.foreign(own).foreach { f =>
      throw ZOrderErrors.targetNotEmpty(directory.root.toString, f)
    }
    requireUntouched()
    val (rows, copied) = (inputs.rows, added.map(_.rows).sum)
    if (rows != copied) {
      throw ZOrderErrors.verificationFailed(table.target.name, s"$copied of $rows rows were copied")
    }
    // An attempt that Spark has not killed yet may have completed a file since the removal above, and may begin another
    // file as long as the claim is there. So the claim is removed first, and then the removal is repeated.
    directory.release()
    directory.removeOwn(own, keep = added.map(_.file.path.getName).toSet)
    mayBeMarked = true
    directory.markSuccess()
    isMarked = true
    if (added.nonEmpty) {
      phases("index")(IndexUpdate.ofCopy(
        table.user,
        new StateDirectory(directory.root, table.conf),
        added,
        inputs.columns.map(_.parts),
        table.root,
        table.target.format))
    }
  }

  /**
   * Fails if another run has exchanged files since this statement began. A listing that was made during the
   * exchange may lack rows, or have rows twice.
   */
  private def requireUntouched(): Unit =
    // The records of all folders count, and not only those of the listed folders: a folder was not listed
    // if all its files were moved out at that moment.
    TableLog.read(table.state).after(recovery.lastAtStart) match {
      case Some(newer) => newer.map(_._2).find(_.exchangesFiles).foreach { r =>
          conflict(s"run ${r.run} exchanged files while they were being copied")
        }
      case None => conflict("many runs exchanged files while they were being copied")
    }

  private def conflict(problem: String): Nothing =
    throw ZOrderErrors.conflict(table.target.name, problem)

  override def abandon(cause: Throwable): Unit =
    if (runIds.nonEmpty && !isMarked) {
      Try {
        // first, because a copy whose files are being removed must not look complete
        if (mayBeMarked) directory.unmark()
        try directory.clearOwn(runIds.toSet)
        finally directory.giveUp()
      }.failed.foreach(cause.addSuppressed)
    }
}

/** The directory of an INTO clause, which is empty when the statement begins. */
private[plain] final class IntoDirectory(val root: Path, conf: Configuration) {
  val fs: FileSystem = RawFiles.of(root, conf)

  /** The file by which the statement that writes into the directory keeps other statements out. */
  val claimed: Path = new Path(root, IntoDirectory.Claim)

  // true if this statement has made the directory
  private var isMade = false
  // true while the claim is that of this statement
  private var isHeld = false

  /**
   * Takes the directory for one statement. If two statements wrote at once, readers would see every row
   * twice until one of them fails. The claim of a statement that died stays in the directory, as its other
   * files do.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TARGET_NOT_EMPTY if another statement has the
   *   directory
   */
  def claim(runId: String): Unit = {
    isMade = !fs.exists(root)
    fs.mkdirs(root)
    if (!ExclusiveFile.create(fs, claimed, runId, runId.getBytes(UTF_8), conf)) {
      throw ZOrderErrors.targetNotEmpty(root.toString, claimed.getName)
    }
    isHeld = true
    // another statement may have filled the directory, and have released it, since it was found to be empty
    foreign(Set(runId)).foreach { name =>
      release()
      throw ZOrderErrors.targetNotEmpty(root.toString, name)
    }
  }

  /** Removes the claim of this statement. Afterwards another statement may have claimed the directory. */
  def release(): Unit = if (isHeld) {
    fs.delete(claimed, false)
    isHeld = false
  }

  /** Releases the directory after a failure, and removes the directory if this statement has made it. */
  def giveUp(): Unit = {
    release()
    if (isMade) Directories.removeEmpty(fs, root)
    ()
  }

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_TARGET_NOT_EMPTY */
  def requireEmpty(): Unit =
    if (fs.exists(root)) {
      if (!fs.getFileStatus(root).isDirectory) {
        throw ZOrderErrors.targetNotEmpty(root.toString, root.getName)
      }
      fs.listStatus(root).headOption.foreach { s =>
        throw ZOrderErrors.targetNotEmpty(root.toString, s.getPath.getName)
      }
    }

  /**
   * Removes files that this statement wrote and that must not stay. After success these are the files of
   * task attempts that the driver did not commit, after a failure all files. Files of other writers stay.
   *
   * @param keep names of the files that stay
   */
  def removeOwn(runIds: Set[String], keep: Set[String]): Unit =
    files().filter(p => isOwn(p, runIds) && !keep(p.getName)).foreach(fs.delete(_, false))

  /**
   * Removes all files that this statement wrote, after a failure. Tasks that Spark is killing may
   * still create a file and its folder for a moment. Therefore this method repeats the removal
   * until the directory has stayed empty for a while.
   */
  def clearOwn(runIds: Set[String]): Unit = {
    var rounds = 0
    var quiet = 0
    while (rounds < IntoDirectory.Rounds && quiet < IntoDirectory.QuietRounds) {
      if (rounds > 0) Thread.sleep(IntoDirectory.PauseMs)
      quiet = if (isEmpty) quiet + 1 else 0
      removeOwn(runIds, keep = Set.empty)
      if (fs.exists(root)) fs.listStatus(root).filter(_.isDirectory).foreach(d => prune(d.getPath))
      rounds += 1
    }
  }

  private def isEmpty: Boolean =
    !fs.exists(root) || fs.listStatus(root).forall(_.getPath.getName == IntoDirectory.Claim)

  /** Removes folders without files. Otherwise the directory is not empty, and INTO would refuse it. */
  private def prune(folder: Path): Unit = {
    fs.listStatus(folder).filter(_.isDirectory).foreach(d => prune(d.getPath))
    Directories.removeEmpty(fs, folder)
  }

  /**
   * The name of a file that another writer put into the directory during the statement. A statement that loses
   * the race for the claim has a temporary file there for a moment, which does not count.
   */
  def foreign(runIds: Set[String]): Option[String] =
    files().find(f => !isOwn(f, runIds) && !isClaim(f.getName)).map(_.getName)

  private def isClaim(name: String): Boolean =
    name == IntoDirectory.Claim || ExclusiveFile.isTemporaryOf(name, IntoDirectory.Claim)

  private def isOwn(path: Path, runIds: Set[String]): Boolean =
    runIds.exists(id => path.getName.contains(s"-$id-"))

  private def files(): Seq[Path] = {
    if (!fs.exists(root)) Nil
    else {
      // on a store one listing returns the files of all folders
      val listed = fs.listFiles(root, true)
      Iterator.continually(listed).takeWhile(_.hasNext).map(_.next().getPath).toVector
    }
  }

  /** Writes `_SUCCESS`, the marker that Spark leaves after a successful write. */
  def markSuccess(): Unit = ExclusiveFile.write(fs, success, Array.emptyByteArray)

  def unmark(): Unit = {
    val _ = fs.delete(success, false)
  }

  private def success: Path = new Path(root, "_SUCCESS")
}

private object IntoDirectory {

  /** The name of [[IntoDirectory.claimed]]. */
  val Claim = "_zorder_into"

  val Rounds = 30
  val QuietRounds = 5
  val PauseMs = 100L
}
