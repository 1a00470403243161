// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.util.concurrent.{ConcurrentHashMap, Executors, ThreadFactory, TimeUnit}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.util.ShutdownHookManager

import org.apache.spark.internal.Logging

import io.sparkzorder.log.StateDirectory

/**
 * Notes what scans ask for, in the memory of the driver. Every five minutes, at the end of the
 * driver, and before a statement of this driver needs it, the notes are written to the tables.
 *
 * An error in here does not reach a query. A table that cannot be written gets one log line, and its
 * scans are not noted any more ([[NotedTable]]).
 */
private[sparkzorder] object WorkloadCapture extends Logging {
  private val MaxTables = 1000
  private val MinutesBetweenWrites = 5L
  private val tables = new ConcurrentHashMap[Path, NotedTable]

  /**
   * Notes a scan.
   *
   * @param root directory of the table
   * @param filters the filters of the scan
   * @param excluded columns that must not be noted
   * @param listed number of files before skipping, if it is known
   * @param share the share of the files' bytes that the columns have which the scan reads
   */
  def note(
      root: Path,
      conf: => Configuration,
      filters: NotedFilters,
      excluded: String => Boolean,
      listed: Option[Long],
      share: Double): Unit =
    noting(root, conf)(_.note(filters, excluded, listed, share))

  /**
   * Notes a scan without filters.
   *
   * @param bytes of the columns that the scan reads
   */
  def noteUnfiltered(root: Path, conf: => Configuration, bytes: Double): Unit =
    noting(root, conf)(_.noteUnfiltered(bytes))

  private def noting(root: Path, conf: => Configuration)(note: NotedTable => Unit): Unit =
    try {
      start
      tableOf(root, conf).foreach(note)
    } catch { case NonFatal(e) => logDebug(s"a scan of $root was not noted", e) }

  private def tableOf(root: Path, conf: => Configuration): Option[NotedTable] =
    Option(tables.get(root)).orElse {
      if (tables.size >= MaxTables) None
      else Some(tables.computeIfAbsent(root, r => new NotedTable(r, conf)))
    }

  /** Writes what was noted since the last time. An error at one table does not stop the others. */
  def flush(): Unit = tables.values.asScala.foreach { table =>
    try table.flush()
    // an error that went on would end the timer
    catch { case e: Throwable => logWarning(s"a workload was not written: ${e.getClass.getName}") }
  }

  /** Writes what was noted of one table since the last time. */
  def flush(state: StateDirectory): Unit = notesOf(state).foreach(_.flush())

  /** Forgets what this driver has noted of a table; what is written stays until a user removes the files. */
  def forget(state: StateDirectory): Unit = notesOf(state).foreach(_.forget())

  private def notesOf(state: StateDirectory): Option[NotedTable] =
    Option(tables.get(state.fs.makeQualified(state.root)))

  /** Forgets everything that was not written; for tests. */
  private[sparkzorder] def clear(): Unit = tables.clear()

  // runs once, when the first scan is noted
  private lazy val start: Unit = {
    val timer = Executors.newSingleThreadScheduledExecutor(new ThreadFactory {
      override def newThread(body: Runnable): Thread = {
        val thread = new Thread(body, "zorder-workload")
        thread.setDaemon(true)
        thread
      }
    })
    val write: Runnable = () => flush()
    timer.scheduleWithFixedDelay(
      write,
      MinutesBetweenWrites,
      MinutesBetweenWrites,
      TimeUnit.MINUTES)
    // before Hadoop closes its file systems
    ShutdownHookManager.get().addShutdownHook(write, FileSystem.SHUTDOWN_HOOK_PRIORITY + 10)
  }
}
