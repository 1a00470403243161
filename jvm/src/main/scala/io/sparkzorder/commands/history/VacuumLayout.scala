// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.{InterruptedIOException, IOException}
import java.net.SocketTimeoutException
import java.nio.channels.ClosedByInterruptException
import java.sql.Timestamp
import java.util.concurrent.TimeUnit

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._

import io.sparkzorder.commands.{TableState, WorkloadAction}
import io.sparkzorder.conf.Settings
import io.sparkzorder.index.IndexStore
import io.sparkzorder.log._
import io.sparkzorder.log.publish.{Cleanup, Leftover, Leftovers, Markers}
import io.sparkzorder.snapshot.Shadowed
import io.sparkzorder.sources.plain.TrustedStores
import io.sparkzorder.table.Target
import io.sparkzorder.util.{Directories, ManyFiles}
import io.sparkzorder.workload.{WorkloadCapture, WorkloadStore}

/**
 * VACUUM LAYOUT: removes files that are kept for a limited time when this time is over: replaced files,
 * leftovers of dead runs, and old files in `_zorder/`.
 *
 * @param hours the hours of RETAIN, in place of the retention of each run and of the table
 * @param dryRun true to report what would be removed and change nothing
 */
private[sparkzorder] final case class VacuumLayout(hours: Option[Long], dryRun: Boolean)
    extends WorkloadAction {
  override def statement: String = "VACUUM LAYOUT"
  override def schema: StructType = VacuumLayout.schema

  override def description(target: Target): String =
    s"VacuumLayout ${target.name}" + hours.map(h => s" RETAIN $h HOURS").getOrElse("") +
      (if (dryRun) " DRY RUN" else "")

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.checkPublishing()
    val nowMs = System.currentTimeMillis()
    // The publish of these runs hides the files that they replace. This statement keeps these files, however short the
    // retention is.
    val unfinished = TableLog.read(table.state).unfinished.map(_._2.run).toSet
    val failures = new LaterFailures
    // if a full disk keeps a run from being published, this statement is still to free space: see `LaterFailures`
    if (!dryRun && unfinished.nonEmpty) failures.after(()) {
      val _ = table.exchanging(table.rollForward())
    }
    val user = session.sparkContext.sparkUser
    val cleanup = new Cleanup(table.state, user)
    if (!dryRun) TrustedStores.require(target.name, table.state)
    val atOnce = hours.contains(0L)
    // While a run is half published, its inputs are hidden, and a shadow of them seems to be out of use. A DRY RUN
    // publishes no run first.
    val isHalf = if (dryRun) unfinished.nonEmpty else failures.nonEmpty
    val shadows = if (isHalf) Nil
    else new ShadowCleanup(table, user).expired(hours, nowMs).map { s =>
      val removed =
        if (dryRun) s.isRemovable(atOnce) else failures.removing(s.remove(atOnce))
      row(s.path, Leftover.Shadow.name, s.files, s.bytes, s.sinceMs, removed)
    }
    def others = leftovers(table, nowMs).filterNot(l => unfinished(l.run)).map { l =>
      val removed = if (dryRun) !l.kind.stays else failures.removing(cleanup.remove(l))
      row(l.path, l.kind.name, l.files, l.bytes, l.sinceMs, removed)
    }
    // a failure at files of one kind must not keep the files of the other kinds
    val rows = shadows ++ failures.after(Seq.empty[Row])(others) ++
      failures.after(Seq.empty[Row])(ofIndex(table, failures)) ++
      failures.after(Seq.empty[Row])(ofWorkload(table.state, table.conf, failures))
    failures.throwFirst()
    rows
  }

  private def row(
      path: Path,
      kind: String,
      files: Long,
      bytes: Long,
      sinceMs: Long,
      removed: Boolean): Row =
    Row(path.toString, kind, files, bytes, new Timestamp(sinceMs), removed)

  /** Removes parts of the index of values that the newest generation of the index does not need. */
  private def ofIndex(table: TableState, failures: LaterFailures): Seq[Row] = {
    val store = new IndexStore(table.state.root, table.conf)
    store.superseded(hours.fold(IndexStore.AbandonedMs)(TimeUnit.HOURS.toMillis)).map { f =>
      val inside = store.filesOf(f)
      val bytes = inside.map(_.getLen).sum
      val removed = dryRun || failures.removing(store.remove(f))
      row(f.getPath, "index", inside.size.toLong, bytes, f.getModificationTime, removed)
    }
  }

  override def runOnWorkload(
      state: StateDirectory,
      conf: Configuration,
      properties: => Map[String, String]): Seq[Row] = {
    val failures = new LaterFailures
    val rows = ofWorkload(state, conf, failures)
    failures.throwFirst()
    rows
  }

  /** Removes old files of the recorded workload. With RETAIN 0 HOURS, all files of the workload are removed. */
  private def ofWorkload(
      state: StateDirectory,
      conf: Configuration,
      failures: LaterFailures): Seq[Row] = {
    val store = new WorkloadStore(state, conf)
    val all = hours.contains(0L)
    // This driver must forget its workload, or it would write it again. Other drivers notice that their files are gone.
    if (all && !dryRun) WorkloadCapture.forget(state)
    store.expired(WorkloadStore.today, all).map { f =>
      val removed = dryRun || failures.removing(store.remove(f))
      row(f.getPath, "workload", 1L, f.getLen, f.getModificationTime, removed)
    }
  }

  private def leftovers(table: TableState, nowMs: Long): Seq[Leftover] = {
    val asked = hours.map(TimeUnit.HOURS.toMillis)
    val retainMs = asked.getOrElse(table.settings(Settings.Retention))
    val found = new Leftovers(table.state, nowMs)
    def isOver(l: Leftover) = l.kind.stays || found.isOver(l, retainMs)
    // Of runs with an intent, RETAIN 0 looks at no time. Another statement may be writing the other directories and
    // files now, so they go only if they are older than this statement.
    found.expired(asked) ++ found.conflicts ++
      found.uncommitted.filter(l => asked.contains(0L) || isOver(l)) ++
      (found.unreferenced ++ found.temporary).filter(isOver)
  }
}

private[sparkzorder] object VacuumLayout {

  /** The limit of RETAIN, which is small enough that no sum of milliseconds overflows. */
  val MaxHours: Long = Int.MaxValue.toLong
  private val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("kind", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("bytes", LongType, nullable = false)
    .add("since", TimestampType, nullable = false)
    .add("removed", BooleanType, nullable = false)
}

/**
 * Failures of a file system that do not end a statement at once. On a full disk, no mark and no record can be written,
 * so a run cannot be published, and a dead run cannot be declared dead. But the replaced files of other runs can be
 * removed, which makes room. Our own errors end the statement: they need a user.
 */
private[history] final class LaterFailures extends Logging {
  private var first = Option.empty[IOException]

  /** Runs `body`; returns `otherwise` if the file system fails. */
  def after[T](otherwise: T)(body: => T): T =
    try body
    catch {
      // a user has cancelled the statement
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException)
          if !e.isInstanceOf[SocketTimeoutException] => throw e
      case e: IOException =>
        logWarning(s"going on after a failure, which this statement reports at its end: $e")
        first.fold { first = Some(e) }(f => if (f ne e) f.addSuppressed(e))
        otherwise
    }

  /** Runs a removal; false if this user may not remove the files, or if the file system fails. */
  def removing(body: => Boolean): Boolean = after(false) {
    try body
    catch {
      case e if Directories.isDenied(e) =>
        logInfo(s"this user may not remove some files: $e")
        false
    }
  }

  def nonEmpty: Boolean = first.nonEmpty

  def throwFirst(): Unit = first.foreach(throw _)
}

/**
 * Finds and removes hidden files of shadows that no reader reads any more. Either the shadow is abandoned, or a
 * later shadow has replaced the files, or another program has changed a visible file for which they stand.
 *
 * @param user for the records that tell readers that the files are gone
 */
private[history] final class ShadowCleanup(table: TableState, user: String) {
  private val state = table.state
  private val log = TableLog.read(state)
  private val shadows = log.shadows
  // listed after the log was read: if somebody commits a record meanwhile, `announce` removes nothing
  private val (inUse, closed) = Shadowed.inUse(state, shadows)
  // the number of the last record that this class has read or written
  private var lastSeen = log.last

  /**
   * Unused files of one run in one folder.
   *
   * @param isAnnounced true when the records already tell readers of each of these files that the file is gone, or
   *   that a later run has replaced the file
   * @param sinceMs when the last of these files went out of use
   */
  private case class UnusedFiles(
      change: FolderChange,
      directory: Path,
      files: Seq[FileStatus],
      isAnnounced: Boolean,
      sinceMs: Long)

  /**
   * Hidden files of one run that no reader reads any more. They are all announced, or none of them is.
   *
   * @param isAll true if these are all hidden files of the run
   * @param isAnnounced see [[UnusedFiles]]
   * @param sinceMs when the last of these files went out of use
   */
  private[history] final class UnusedShadow private[ShadowCleanup] (
      record: Record,
      unused: Seq[UnusedFiles],
      isAll: Boolean,
      isAnnounced: Boolean,
      val sinceMs: Long) {
    def path: Path =
      if (unused.size == 1) unused.head.directory else state.intent(record.run)
    // If no later shadow replaces this one, the marker ends the whole shadow. If the shadow is published somewhere, its
    // record still tells how the files there are laid out, and the marker names the files of the other folders.
    private lazy val isAbandoned =
      isAll && unused.nonEmpty && !isOver(record) && replacing(record).isEmpty
    def files: Long = unused.map(_.files.size.toLong).sum
    def bytes: Long = unused.flatMap(_.files).map(_.getLen).sum

    /**
     * False for files of which no record says yet that they are out of use. A running query may read such files, so
     * they are left to a later VACUUM.
     *
     * @param atOnce true if running queries do not count
     */
    def isRemovable(atOnce: Boolean): Boolean = isAnnounced || atOnce

    /**
     * Announces by a record that the files are gone, and then deletes them if they are removable. A reader that knows
     * the record does not use the files, even if the visible files for which they stand are put back.
     *
     * @return false if the files stay
     */
    def remove(atOnce: Boolean): Boolean = announce() && isRemovable(atOnce) && {
      val isGone = ManyFiles.map(unused) { u =>
        val all = ManyFiles.map(u.files)(f =>
          Directories.remove(state.fs, f.getPath, recursive = false))
        Directories.removeEmpty(state.fs, u.directory)
        all.forall(identity)
      }.forall(identity)
      if (isGone && isAll && (isAbandoned || isOver(record))) new Intents(state).remove(record.run)
      isGone
    }

    /**
     * Commits the record that announces the deletion, if such a record is needed. False if other statements have
     * committed records since the files were found to be unused: the files may be in use now.
     */
    private def announce(): Boolean =
      shadows.abandonOf(record.run).isDefined || unused.isEmpty || commitMarker()

    private def commitMarker(): Boolean = {
      val marker =
        if (isAbandoned) Record.marker(Record.Abandon, record.run, user)
        else Record.marker(Record.Expired, record.run, user).copy(
          version = Record.ShadowVersion,
          changes = unused.map { u =>
            val names = u.files.map(_.getPath.getName).toSet
            // An earlier VACUUM has announced some files, and could not remove them. A marker belongs to no pass, and
            // RecordCheck refuses a region in it.
            val gone = u.change.added.filter(a =>
              names(a.staged) && !shadows.isExpired(record.run, u.change.folder, a.name))
              .map(_.copy(region = 0))
            u.change.copy(replaced = Nil, added = gone)
          }.filter(_.added.nonEmpty))
      // Without files to announce, no marker is needed. No record names the files that failed attempts of tasks have left,
      // so nobody reads these.
      val isNeeded = marker.kind == Record.Abandon || marker.changes.nonEmpty
      !isNeeded || Markers.commit(state, marker)(_.last != lastSeen) && {
        lastSeen += 1
        true
      }
    }
  }

  /**
   * True for a shadow that is abandoned, or published somewhere, or was taken back with what was published: its intent
   * goes with the last of its hidden files.
   */
  private def isOver(record: Record): Boolean =
    shadows.abandonOf(record.run).isDefined || log.isUndone(record.run) ||
      record.changes.exists(c => shadows.isPublished(record.run, c.folder))

  /** @param hours the retention, instead of that of each run */
  def expired(hours: Option[Long], nowMs: Long): Seq[UnusedShadow] = {
    val withIntent = new Intents(state).runs()
    for {
      known <- shadows.all
      record = known.record
      if withIntent(record.run) || shadows.abandonOf(record.run).isEmpty
      retainMs = hours.fold(record.retainMs)(TimeUnit.HOURS.toMillis)
      // with RETAIN 0 HOURS no time counts: see `Leftovers.expired`
      isOverSince = (ms: Long) => hours.contains(0L) || nowMs - ms > retainMs
      // no file of a run goes out of use before the run, so the folders of a new run need not be listed
      if isOverSince(record.createdMs)
      own <- ownOf(record).toSeq
      unused = own.map { case (c, d, files) => unusedIn(record, c, d, files) }
        .filter(_.files.nonEmpty)
      all = own.map(_._3.size).sum
      // files that are only announced now stay, while others of the same run may go
      group <-
        if (unused.nonEmpty) {
          unused.filter(u => isOverSince(u.sinceMs))
            .groupBy(u => u.isAnnounced || hours.contains(0L)).toSeq.sortBy(_._1).map(_._2)
        } else if (all == 0 && isOver(record) && withIntent(record.run)) Seq(Nil)
        else Nil
    } yield new UnusedShadow(
      record,
      group,
      isAll = group.map(_.files.size).sum == all,
      isAnnounced = group.forall(_.isAnnounced),
      sinceMs = group.map(_.sinceMs).foldLeft(record.createdMs)(math.max))
  }

  /**
   * The hidden directories of a run with their files. None if this user may not list one of the folders: its files may
   * be in use, and the other files alone must not be announced as the whole shadow.
   */
  private def ownOf(record: Record): Option[Seq[(FolderChange, Path, Seq[FileStatus])]] = {
    def isClosed(folder: String) = closed(folder) || state.isClosed(folder)
    try {
      if (record.changes.exists(c => isClosed(c.folder))) None
      else {
        Some(record.changes.map { c =>
          val own = state.own(c.folder, record.run)
          (c, own, state.files(own).filter(_.isFile))
        })
      }
    } catch { case e if Directories.isDenied(e) => None }
  }

  /**
   * The unused files among the files of a run in a folder. At first no record says of an inert shadow that its files
   * are out of use, so its retention counts from the time of the run. When this retention is over, VACUUM LAYOUT only
   * announces the deletion. When a second retention is over, VACUUM LAYOUT deletes the files.
   */
  private def unusedIn(
      record: Record,
      change: FolderChange,
      directory: Path,
      files: Seq[FileStatus]): UnusedFiles = {
    val unused = files.filterNot(f => inUse(f.getPath))
    val names = unused.map(_.getPath.getName).toSet
    // no reader knows a file that no record names, so nothing need be announced of such a file
    val since = change.added.filter(a => names(a.staged)).map(unusedSince(record, change.folder, _))
    val isAnnounced = since.forall(_.isDefined)
    val announced = if (isAnnounced) since.flatten else Nil
    val last = announced.foldLeft(record.createdMs)(math.max)
    UnusedFiles(change, directory, unused, isAnnounced, last)
  }

  /** When the records told readers that a hidden file is out of use; None if they do not say so yet. */
  private def unusedSince(record: Record, folder: String, file: Added): Option[Long] = {
    def named = shadows.expiredOf(record.run).filter(
      _.changes.exists(c => c.folder == folder && c.added.exists(_.name == file.name)))
    val markers = shadows.abandonOf(record.run).map(_.record).toSeq ++ named
    // the first marker, because nobody reads the file since then
    if (markers.nonEmpty) Some(markers.map(_.createdMs).min)
    else replacers.getOrElse(folder -> file.name, Nil).map(_.createdMs).reduceOption(_ max _)
  }

  // by folder and name of a file, the records of the shadows that replace it and are not abandoned
  private lazy val replacers: Map[(String, String), Seq[Record]] = {
    val all = for {
      record <- shadows.all.map(_.record) if shadows.abandonOf(record.run).isEmpty
      change <- record.changes
      file <- change.replaced
    } yield (change.folder -> file.name) -> record
    all.groupBy(_._1).map { case (file, runs) => file -> runs.map(_._2) }
  }

  /** The records of those shadows that replace files of this run and are not abandoned, one for each such file. */
  private def replacing(record: Record): Seq[Record] =
    record.changes.flatMap(c =>
      c.added.flatMap(a => replacers.getOrElse(c.folder -> a.name, Nil)))
}
