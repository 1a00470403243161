// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import io.sparkzorder.commands.{Phases, TableState}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Record, Replaced, RunCost, StateDirectory, TableLog}
import io.sparkzorder.snapshot.{ShadowUse, Snapshot}
import io.sparkzorder.sources.{BatchPlan, LayoutTag}
import io.sparkzorder.table.{DataFile, Folder, TableFiles, TableLister}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.{Etags, ManyFiles, ObjectStore, Paths}

/**
 * Leaves the inputs where they are: writes the new files beside them under hidden names, and commits a
 * record by which sessions with the extension read the new files. Nothing is renamed, so this works on
 * object stores, and other programs go on to read the inputs.
 */
private[plain] final class Beside(table: TableState, recovery: Recovery)
    extends InPlace(table, recovery) {
  private lazy val isStore = ObjectStore.isOne(state.fs)
  // true where modification times may be whole seconds: on every object store, and where all listed times are
  private var hasCoarseTimes = false
  private var etags = Map.empty[Path, String]
  // the time of the newest file of the run, by the clock of the store
  private var writtenMs = 0L

  // lists the hidden files of earlier shadows, which are inputs of this run, too
  override def listing: ShadowUse = ShadowUse.of(state)

  override def remarks: Seq[String] = Seq(
    "the new files lie beside the old ones, which other engines go on to read; UNDO LAYOUT drops them")

  override def check(): Unit = table.checkShadow()

  /**
   * Where times are whole seconds, a file that was written in this second may be overwritten by a file with the same
   * time and length. Only the ETag shows this change. Spark's listing has no ETags, so this method reads the ETags of
   * recent files.
   */
  override def checkListed(files: TableFiles): Unit = {
    super.checkListed(files)
    hasCoarseTimes = isStore || files.files.forall(_.modified % 1000 == 0)
    if (hasCoarseTimes) {
      val recent = System.currentTimeMillis() - Beside.RecentMs
      val known = ManyFiles.map(files.files.filter(_.modified > recent)) { f =>
        val now = if (Etags.of(f.status).isEmpty) state.status(f.path) else Some(f.status)
        f.path -> now.fold("")(Etags.of)
      }
      etags = known.filter(_._2.nonEmpty).toMap
    }
  }

  /**
   * Checks the room for copies of all `files`, not only for `bytes`: the hidden files stay until VACUUM LAYOUT,
   * whatever the retention.
   */
  override def checkRoom(files: Seq[ScannedFile], bytes: Long): Unit = {
    val check = new DestinationCheck(name, state.fs, table.root)
    if (!isStore) check.written(files.map(_.file))
    check.space(files.map(_.file.length).sum)
    TrustedStores.require(name, state)
  }

  // nothing is free before VACUUM LAYOUT
  override def free(phases: Phases): Unit = ()

  override protected def hiddenFor(inputs: TableFiles): HiddenFiles =
    new HiddenFiles(table, inputs)

  override protected def recordOf(
      rows: PlainRows,
      plan: BatchPlan,
      output: BatchOutput,
      runId: String,
      layout: LayoutTag,
      cost: RunCost): Record = {
    val record = super.recordOf(rows, plan, output, runId, layout, cost)
    writtenMs = output.footers.map(_.file.modified).foldLeft(0L)(_ max _)
    val shadows = TableLog.read(state).shadows
    val inputs = rows.listed.files.groupBy(f => Paths.relative(table.root, f.folder.path))
    def replaced(folder: String) = inputs.getOrElse(folder, Nil).map(f =>
      Replaced(
        shadows.nameOf(folder, f.path),
        f.length,
        f.modified,
        retained = "",
        etag = etagOf(f)))
    record.copy(
      version = Record.ShadowVersion,
      mode = Record.Shadow,
      changes = record.changes.map(c => c.copy(replaced = replaced(c.folder))))
  }

  private def etagOf(f: DataFile): String = etags.getOrElse(f.path, Etags.of(f.status))

  // Marks the record done. This release does not need the mark. Releases that cannot read the record skip it if it
  // has the mark, and otherwise fail.
  override protected def publish(number: Long, record: Record, phases: Phases): Long = {
    try state.markDone(number, record.run)
    catch { case NonFatal(e) => logWarning(s"record $number of $name has no mark", e) }
    0L
  }

  /** The old files stay. */
  override protected def retainedUntil(record: Record): Option[Long] = None

  /** The files from which a reader with the extension would take the rows now. */
  override protected def inputsNow(
      listed: TableFiles,
      folders: Seq[Folder],
      isFew: Boolean): Map[Path, DataFile] = {
    awaitLaterTimes(listed)
    // whether a shadow applies depends on other files of its folder, so the whole folders are listed
    val visible = super.inputsNow(listed, folders, isFew = false).values.toSeq
      .filter(f => TableLister.isData(f.status))
    val now = listed.copy(folders = folders.toIndexedSeq, files = visible.toIndexedSeq)
    Snapshot.of(state, now, whole = false, listing).files.map(f => f.path -> f).toMap
  }

  /** Waits until a file that overwrites an input gets a later time than the input. */
  private def awaitLaterTimes(inputs: TableFiles): Unit =
    if (hasCoarseTimes && inputs.files.exists(_.modified >= writtenMs)) Thread.sleep(Beside.TickMs)

  override protected def isSame(listed: DataFile, now: DataFile): Boolean =
    super.isSame(listed, now) && Etags.mayHave(etagOf(listed), now.status)
}

private object Beside {

  /** How far the clocks of a driver and of a store may be apart. */
  val RecentMs: Long = TimeUnit.MINUTES.toMillis(10)

  /** A little more than the unit of a store's times. */
  val TickMs = 1100L
}

/** The object stores that, when this process tested them, refused to create an object that already existed. */
private[sparkzorder] object TrustedStores {
  private val trusted = ConcurrentHashMap.newKeySet[String]()

  /** For tests: the state of a process that has tested no store. */
  private[sparkzorder] def forget(): Unit = trusted.clear()

  /**
   * Tests an object store that was not tested yet. Leaves nothing on the store.
   *
   * @param target the table, for the message
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STORE_UNSAFE
   */
  def require(target: String, state: StateDirectory): Unit = {
    val store = state.fs.getUri.toString
    if (ObjectStore.isOne(state.fs) && !trusted.contains(store)) {
      val isNew = !state.fs.exists(state.home)
      val problem =
        try ObjectStore.whyUnsafe(state.fs, state.runs)
        finally if (isNew) {
            // not recursively: another driver may have begun to use the directories
            Seq(state.runs, state.home).foreach(d => Try(state.fs.delete(d, false)))
          }
      problem.foreach(p => throw ZOrderErrors.storeUnsafe(target, store, p))
      trusted.add(store)
    }
  }
}
