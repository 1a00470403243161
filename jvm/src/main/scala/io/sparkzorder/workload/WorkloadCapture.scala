// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.security.PrivilegedAction
import java.util.concurrent.{
  ArrayBlockingQueue,
  ConcurrentHashMap,
  CountDownLatch,
  Executors,
  ThreadFactory,
  ThreadPoolExecutor,
  TimeUnit
}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.security.UserGroupInformation
import org.apache.hadoop.util.ShutdownHookManager

import org.apache.spark.internal.Logging
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.{Setting, Settings}
import io.sparkzorder.log.StateDirectory

/**
 * Notes the filters of scans in the memory of the driver. The notes are written to the tables every five
 * minutes, when the driver ends, and before a statement of this driver needs them.
 *
 * An error in this object does not reach a query. If the file system refuses to write the notes of a table, or if
 * writing fails several times in a row, a warning is logged and this driver notes no more scans of the table
 * ([[NotedTable]]).
 */
private[sparkzorder] object WorkloadCapture extends Logging {
  private val MaxTables = 1000
  private val MinutesBetweenWrites = 5L
  private val hasWarned = new AtomicBoolean
  private[workload] val tables = new ConcurrentHashMap[Path, NotedTable]

  /**
   * Notes a scan.
   *
   * @param root directory of the table
   * @param filters the filters of the scan
   * @param excluded columns that must not be noted
   * @param rules finds further such columns before the notes are written; None if the scan knew the properties
   * @param listed number of files before skipping, if it is known
   * @param share the share of the bytes of the files that belongs to the columns of the scan
   */
  def note(
      root: Path,
      conf: => Configuration,
      filters: NotedFilters,
      excluded: ExcludedColumns,
      rules: Option[() => RecordRules],
      listed: Option[Long],
      share: Double): Unit =
    noting(root, conf)(_.note(filters, excluded, rules, listed, share))

  /**
   * Notes a scan without filters.
   *
   * @param bytes the size of the columns that the scan reads
   */
  def noteUnfiltered(
      root: Path,
      conf: => Configuration,
      excluded: ExcludedColumns,
      rules: Option[() => RecordRules],
      bytes: Double): Unit =
    noting(root, conf)(_.noteUnfiltered(excluded, rules, bytes))

  private def noting(root: Path, conf: => Configuration)(note: NotedTable => Unit): Unit =
    try {
      start
      tableOf(root, conf).foreach(note)
    } catch { case NonFatal(e) => logDebug(s"a scan of $root was not noted", e) }

  private def tableOf(root: Path, conf: => Configuration): Option[NotedTable] =
    Option(tables.get(root)).orElse {
      if (tables.size >= MaxTables) {
        if (!hasWarned.getAndSet(true)) {
          logWarning(s"scans of $MaxTables tables are noted, so those of other tables are not")
        }
        None
      } else Some(tables.computeIfAbsent(root, r => new NotedTable(r, conf)))
    }

  /**
   * Writes the notes of all tables since the last write, and forgets tables that are not queried any more. An error at
   * one table does not stop the others.
   */
  def flush(): Unit = tables.asScala.toSeq.foreach { case (root, table) =>
    try {
      table.flush()
      // a scan that is noted at this moment is lost, which the record allows
      if (table.isIdle) tables.remove(root, table)
    }
    // the timer would end if an error left this method
    catch { case e: Throwable => logWarning(s"a workload was not written: ${e.getClass.getName}") }
  }

  /** Writes the notes of one table since the last write. */
  def flush(state: StateDirectory): Unit = notesOf(state).foreach(_.flush())

  /** Forgets the notes of this driver on a table. Written files stay until VACUUM LAYOUT removes them. */
  def forget(state: StateDirectory): Unit = notesOf(state).foreach(_.forget())

  private def notesOf(state: StateDirectory): Option[NotedTable] =
    Option(tables.get(state.fs.makeQualified(state.root)))

  /** Forgets everything that was not written; for tests. */
  def clear(): Unit = tables.clear()

  private[workload] def daemons(name: String): ThreadFactory = (body: Runnable) => {
    val thread = new Thread(body, name)
    thread.setDaemon(true)
    thread
  }

  // runs once, when the first scan is noted
  private lazy val start: Unit = {
    val timer = Executors.newSingleThreadScheduledExecutor(daemons("zorder-workload"))
    val write: Runnable = () => flush()
    timer.scheduleWithFixedDelay(
      write,
      MinutesBetweenWrites,
      MinutesBetweenWrites,
      TimeUnit.MINUTES)
    // with this priority, the hook runs before Hadoop closes its file systems
    ShutdownHookManager.get().addShutdownHook(write, FileSystem.SHUTDOWN_HOOK_PRIORITY + 10)
  }
}

/**
 * Notes scans in a thread of its own, where a note needs files to be read. If too many notes wait, new notes are
 * dropped, because the recorded workload need not have every scan.
 */
private[sparkzorder] object LaterNotes extends Logging {
  private val MaxWaiting = 1000

  /** How many values the filters of all waiting scans may have. */
  private[workload] val MaxValues = 1000000
  private val MaxWaitSeconds = 30L

  // lazy: most sessions make no notes
  private lazy val executor = new ThreadPoolExecutor(
    1,
    1,
    0L,
    TimeUnit.SECONDS,
    new ArrayBlockingQueue[Runnable](MaxWaiting),
    WorkloadCapture.daemons("zorder-workload-scans"),
    // called if the queue is full: drops a note, and lets `await` return at once
    (body: Runnable, _: ThreadPoolExecutor) =>
      body match {
        case marker: Marker => marker.run()
        case note: Note => note.end()
        case _ =>
      })

  // the number of values in the notes that wait and in the note that is being made
  private val values = new AtomicLong

  private final class Note(what: String, has: Int, make: () => Unit) extends Runnable {
    // the thread keeps the user whose query made the thread, and file systems are of one user
    private val user = UserGroupInformation.getCurrentUser

    override def run(): Unit =
      try user.doAs(new PrivilegedAction[Unit] { override def run(): Unit = make() })
      catch { case e @ (_: LinkageError | NonFatal(_)) => logDebug(s"$what was not noted", e) }
      finally end()

    def end(): Unit = { val _ = values.addAndGet(-has.toLong) }
  }

  private final class Marker extends Runnable {
    val reached = new CountDownLatch(1)
    override def run(): Unit = reached.countDown()
  }

  @volatile private var isUsed = false

  /**
   * @param what names the scan in a message of the log
   * @param has how many values the filters of the scan have
   */
  def add(what: String, has: Int)(note: => Unit): Unit = {
    isUsed = true
    val made = new Note(what, has, () => note)
    if (values.addAndGet(has.toLong) <= MaxValues) executor.execute(made) else made.end()
  }

  /**
   * Waits until all notes that were added before are made, but not longer than [[MaxWaitSeconds]]. If the queue is
   * full, the call does not wait.
   */
  def await(): Unit = if (isUsed) {
    val marker = new Marker
    executor.execute(marker)
    val _ = marker.reached.await(MaxWaitSeconds, TimeUnit.SECONDS)
  }
}

/** Whether and what to record of the scans of a table, by its properties and the session's settings. */
private[sparkzorder] object RecordSettings {

  /**
   * The table's property takes precedence over the setting of the session. A property with a wrong value turns
   * recording off, because a query must not fail by it. Nothing is recorded while spark-zorder is turned off.
   */
  def isOn(properties: Map[String, String]): Boolean =
    Settings.ofSession(Settings.Enabled) &&
      valueOf(Settings.WorkloadEnabled, properties).getOrElse(false)

  /** @return None if the value is wrong */
  def valueOf[T](setting: Setting[T], properties: Map[String, String]): Option[T] =
    Try(Settings.resolve(setting, properties)).toOption

  /** The share of a scan's columns in the bytes of all columns, estimated from the types of the columns. */
  def columnsShare(read: StructType, all: StructType): Double = {
    def size(schema: StructType) = schema.fields.map(_.dataType.defaultSize.toDouble).sum
    val whole = size(all)
    if (whole <= 0) 1.0 else math.min(1.0, math.max(1.0, size(read)) / whole)
  }
}
