package io.sparkzorder.workload

import java.io.FileNotFoundException
import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, Executors, ThreadFactory, TimeUnit}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.util.ShutdownHookManager

import org.apache.spark.internal.Logging

import io.sparkzorder.index.FileTable
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.skipping.predicate.{ColumnDomains, FilterOnFiles}

/**
 * Notes what scans ask for, in the memory of the driver. Every five minutes, at the end of the
 * driver, and before a statement of this driver needs it, the notes are written to the tables.
 *
 * An error in here does not reach a query. A table that cannot be written gets one log line, and its
 * scans are not noted any more.
 */
private[sparkzorder] object WorkloadCapture extends Logging {
  private val MaxTables = 1000
  private val MinutesBetweenWrites = 5L
  private val tables = new ConcurrentHashMap[Path, NotedTable]

  /**
   * Notes a scan.
   *
   * @param root directory of the table
   * @param filters the filters of the scan, as the index of the table understands them; at least one
   * @param excluded columns that must not be noted
   * @param listed number of files before skipping, if it is known
   * @param share the share of the files' bytes that the columns have which the scan reads
   */
  def note(
      root: Path,
      conf: => Configuration,
      filters: Seq[FilterOnFiles],
      excluded: String => Boolean,
      listed: Option[Long],
      share: Double): Unit =
    try {
      start
      tableOf(root, conf).foreach(_.note(filters, excluded, listed, share))
    } catch { case NonFatal(e) => logDebug(s"a scan of $root was not noted", e) }

  private def tableOf(root: Path, conf: => Configuration): Option[NotedTable] =
    Option(tables.get(root)).orElse {
      if (tables.size >= MaxTables) None
      else Some(tables.computeIfAbsent(root, r => new NotedTable(r, conf)))
    }

  /** Writes what was noted since the last time. */
  def flush(): Unit = tables.values.asScala.foreach(_.flush(WorkloadStore.today))

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

/** The notes of this driver about one table. */
private[workload] final class NotedTable(root: Path, conf: Configuration) extends Logging {
  // made by the thread of a query, because it belongs to the user of the query
  private val store = new WorkloadStore(new StateDirectory(root, conf), conf)
  @volatile private var isOff = false
  private var id = UUID.randomUUID().toString
  private var day = WorkloadStore.today
  private var sketch = newSketch
  private var changed = false
  @volatile private var written: Option[Path] = None
  private val writing = new Object
  // of the index that the last scan has used
  private var curves = Curves(null, 0, 0.0)

  private def newSketch = new Sketch(new scala.util.Random().nextLong())

  def note(
      filters: Seq[FilterOnFiles],
      excluded: String => Boolean,
      listed: Option[Long],
      share: Double): Unit =
    if (!isOff) synchronized {
      val now = WorkloadStore.today
      if (now != day) nextDay(now)
      val files = filters.head.indexedFiles
      if (curves.identity != filters.head.indexIdentity) {
        curves = Curves.of(filters.head.indexIdentity, files)
      }
      val use = ScanUse.of(filters.flatMap(_.tested), excluded, curves.of(_, _, files))
      val ofFiles = listed.fold(1.0)(n => math.min(1.0, n.toDouble / math.max(1, curves.files)))
      sketch.add(use, curves.bytes * ofFiles * share)
      changed = true
    }

  private def nextDay(now: Long): Unit = {
    // what was not written until now goes with the notes of the old day
    write(take())
    day = now
    id = UUID.randomUUID().toString
    sketch = newSketch
    written = None
  }

  /** Writes what was noted. A scan that is noted meanwhile does not wait for the file. */
  def flush(now: Long): Unit = writing.synchronized {
    write(take())
    synchronized(if (now != day && !isOff) nextDay(now))
  }

  private def take(): Option[StoredSketch] = synchronized {
    val taken = if (changed && !isOff) Some(StoredSketch(id, day, sketch.content)) else None
    changed = false
    taken
  }

  private def write(notes: Option[StoredSketch]): Unit =
    try {
      notes.foreach(n => written = Some(store.write(n, written)))
    } catch {
      // the table was dropped or overwritten, and has no index any more
      case _: FileNotFoundException => written = None
      case NonFatal(e) =>
        isOff = true
        logWarning(s"the workload of $root is not recorded any more by this driver: $e")
    }
}

/**
 * The distributions of columns by one index.
 *
 * @param identity of the index
 * @param files number of files that the index knows
 * @param bytes of all these files
 */
private[workload] final case class Curves(identity: AnyRef, files: Int, bytes: Double) {
  private val known = scala.collection.mutable.HashMap.empty[String, Option[RankCurve]]

  def of(name: String, column: ColumnDomains, table: FileTable): Option[RankCurve] =
    known.getOrElseUpdate(name, RankCurve.of(column, table))
}

private[workload] object Curves {
  def of(identity: AnyRef, table: FileTable): Curves = {
    // entries of files that are gone do not count
    var (files, bytes) = (0, 0.0)
    var i = 0
    while (i < table.size) {
      if (table.isLive(i)) {
        files += 1
        bytes += table.lengths(i)
      }
      i += 1
    }
    Curves(identity, files, bytes)
  }
}
