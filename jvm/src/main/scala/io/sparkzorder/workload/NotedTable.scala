// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.FileNotFoundException
import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.index.FileTable
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.skipping.predicate.ColumnDomains
import io.sparkzorder.util.Directories

/**
 * The scans of one table that this driver has noted. A query only changes memory. The thread that calls `flush`
 * writes the files.
 *
 * @param today days since 1970 in UTC
 */
private[workload] final class NotedTable(
    root: Path,
    conf: Configuration,
    today: () => Long = () => WorkloadStore.today)
    extends Logging {
  import NotedTable._

  // created by the thread that notes the first scan: the store keeps the rights of the user of this thread
  private val store = new WorkloadStore(new StateDirectory(root, conf), conf)
  @volatile private var isOff = false

  // guarded by the lock of this object
  private var id = UUID.randomUUID().toString
  private var day = today()
  private var lastNote = today()
  private var sketch = newSketch
  private var changed = false
  // the sketches of days that are over
  private var unwritten = Vector.empty[StoredSketch]
  // all columns that a scan or the catalog has excluded: a scan by path, and a session that still has old properties,
  // must not put a column back
  private var excluded = ExcludedColumns.none
  // finds the properties of the table after scans that named it by its path
  private var unasked = Option.empty[() => RecordRules]
  // the distributions of the values of columns, estimated from the index that the last scan used
  private[workload] var distributions = Distributions(null, 0, 0.0)

  // guarded by the lock `writing`, which is taken before the lock of this object
  private val writing = new Object
  private var written = Map.empty[String, Path]
  private var failures = 0

  private def newSketch = new Sketch(new scala.util.Random().nextLong())

  /**
   * Notes a scan. Its weight is an estimate of the bytes that it would read if no file were skipped.
   *
   * @param excluded columns that must not be noted
   * @param rules finds further such columns before the notes are written; None if the scan knew the properties
   * @param listed number of files before skipping, if it is known
   * @param share the share of the bytes of the files that belongs to the columns of the scan
   */
  def note(
      filters: NotedFilters,
      excluded: ExcludedColumns,
      rules: Option[() => RecordRules],
      listed: Option[Long],
      share: Double): Unit =
    if (!isOff) synchronized {
      learn(excluded, rules)
      if (distributions.identity != filters.identity) {
        distributions = Distributions.of(filters.identity, filters.files)
      }
      val use = ScanUse.of(filters.tested, this.excluded, distributions.of(_, _, filters.files))
      val all = math.max(1, distributions.files)
      val ofFiles = listed.fold(1.0)(n => math.min(1.0, n.toDouble / all))
      add(use, distributions.bytes * ofFiles * share)
    }

  def noteUnfiltered(
      excluded: ExcludedColumns,
      rules: Option[() => RecordRules],
      bytes: Double): Unit =
    if (!isOff) synchronized {
      // the scan itself has no column, but the notes of the day may have one that was excluded meanwhile
      learn(excluded, rules)
      add(ScanUse(Sketch.Unskippable, RankBox(Nil), unused = 0), bytes)
    }

  private def learn(excluded: ExcludedColumns, rules: Option[() => RecordRules]): Unit = {
    this.excluded ++= excluded
    // the newest: an earlier one may ask the catalog of a session that has ended
    unasked = rules.orElse(unasked)
  }

  private def add(use: ScanUse, weight: Double): Unit = {
    endDay()
    sketch.add(use, weight)
    changed = true
    lastNote = day
  }

  private def endDay(): Unit = {
    val now = today()
    if (now != day) {
      if (changed) unwritten :+= stored()
      begin()
      day = now
    }
  }

  private def begin(): Unit = {
    id = UUID.randomUUID().toString
    sketch = newSketch
    changed = false
  }

  private def stored(): StoredSketch = {
    // a column may have been excluded after scans with a filter on it were noted
    sketch.leaveOut(excluded)
    StoredSketch(id, day, sketch.content)
  }

  /** Writes what was noted. A scan that is noted meanwhile does not wait for the file. */
  def flush(): Unit = writing.synchronized {
    if (askCatalog()) take().foreach(write)
    val live = synchronized(unwritten.map(_.id).toSet + id)
    written = written.filter { case (of, _) => live(of) }
  }

  /**
   * Asks the catalog for the properties of a table that was scanned by its path.
   *
   * @return false if the catalog does not answer. The notes then wait, because they may name an excluded column
   */
  private def askCatalog(): Boolean = isOff || synchronized(unasked).forall { ask =>
    try {
      val rules = ask()
      synchronized {
        excluded ++= rules.excluded
        unasked = None
      }
      if (rules.isOff) forget()
      true
    } catch {
      case NonFatal(e) =>
        logDebug(s"the workload of $root is not written before the catalog answers", e)
        false
    }
  }

  /** True if all notes are written and no scan was noted for a whole day, so that the memory may be freed. */
  private[workload] def isIdle: Boolean =
    synchronized(!changed && unwritten.isEmpty && today() - lastNote > 1)

  private def take(): Seq[StoredSketch] = synchronized {
    endDay()
    // a sketch of an earlier day may wait since before a column was excluded
    val taken = unwritten.map(_.without(excluded)) ++ (if (changed) Some(stored()) else None)
    unwritten = Vector.empty
    changed = false
    taken
  }

  private def write(notes: StoredSketch): Unit = if (!isOff) {
    try {
      written += notes.id -> store.write(notes, written.get(notes.id))
      failures = 0
    } catch {
      // the table was dropped or overwritten, or its workload was removed
      case _: FileNotFoundException | _: NoSuchFileException => forget(notes.id)
      case NonFatal(e) => failed(notes, e)
    }
  }

  private def failed(notes: StoredSketch, e: Throwable): Unit =
    if (!endsRecord(e)) synchronized {
      if (notes.id == id) changed = true
      // if the day has ended meanwhile, `unwritten` may have a later sketch of the same id, with all scans of `notes`
      else if (!unwritten.exists(_.id == notes.id)) unwritten :+= notes
    }

  /** Counts a failure; true if this driver records the table no more. */
  private def endsRecord(e: Throwable): Boolean = {
    failures += 1
    logDebug(s"the workload of $root was not written", e)
    if (Directories.isDenied(e) || failures >= MaxFailures) {
      isOff = true
      forget()
      // the message of the error may name a user
      logWarning(s"the workload of $root is not recorded any more by this driver: " +
        e.getClass.getName)
    }
    isOff
  }

  private def forget(of: String): Unit = {
    written -= of
    synchronized(if (id == of) begin())
  }

  /** Forgets everything. */
  def forget(): Unit = writing.synchronized {
    written = Map.empty
    synchronized {
      unwritten = Vector.empty
      begin()
    }
  }
}

private object NotedTable {
  // recording ends after this many failures in a row; one is too few, because a file system may fail for a while
  private val MaxFailures = 3
}

/**
 * The distributions of the values of columns, estimated from one index.
 *
 * @param identity identifies the loaded index
 * @param files the number of files that the index knows
 * @param bytes the size of all these files
 */
private[workload] final case class Distributions(identity: AnyRef, files: Int, bytes: Double) {
  private val known = scala.collection.mutable.HashMap.empty[String, Option[RankCurve]]

  def of(name: String, column: ColumnDomains, table: FileTable): Option[RankCurve] =
    known.getOrElseUpdate(name, RankCurve.of(column, table))
}

private[workload] object Distributions {
  def of(identity: AnyRef, table: FileTable): Distributions = {
    // entries of files that are gone do not count
    val lengths = table.lengths.filter(_ != FileTable.Gone)
    Distributions(identity, lengths.length, lengths.map(_.toDouble).sum)
  }
}
