// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.io.FileNotFoundException
import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileSystem, Path}

import org.apache.spark.internal.Logging

import io.sparkzorder.commands.TableState
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{ChangeCopy, Intent, Intents, Record, RunFolder, StateDirectory}
import io.sparkzorder.log.publish.Cleanup
import io.sparkzorder.table.{DataFile, TableFiles}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.{Directories, Durable, FileMove, ManyFiles, ObjectStore, Paths}
import io.sparkzorder.write.{EmptyDataFile, FileAttributes, HiddenPlaces}

/**
 * The hidden directories of one run, one in each folder, until the run commits. Its owner alone may
 * enter them while files are written.
 *
 * @param inputs the files that the run replaces
 */
private[plain] class HiddenFiles(table: TableState, inputs: TableFiles) extends Logging {
  val run: String = UUID.randomUUID().toString
  protected val state: StateDirectory = table.state
  protected val fs: FileSystem = state.fs
  protected val folders: Seq[Path] = inputs.files.map(_.folder.path).distinct
  private val attributes = new FileAttributes(table.conf)
  // a store has neither directories nor permissions of files
  private val isStore = ObjectStore.isOne(fs)
  private val intent = Intent(run, folders.map(Paths.relative(table.root, _)))

  protected def own(folder: Path): Path = state.own(Paths.relative(table.root, folder), run)

  /** Notes what the run is about to do, and makes the directories. */
  def prepare(): Unit = {
    new Intents(state).write(intent)
    if (!isStore) {
      ManyFiles.map(folders) { f =>
        Directories.make(fs, own(f), table.conf)
        attributes.makePrivate(own(f))
      }
      ()
    }
  }

  /** @param outputs folder of each file that the tasks write */
  def places(outputs: Seq[Path]): HiddenPlaces =
    HiddenPlaces(outputs.map(own(_).toString).toArray, RunFolder.newName, makesFolders = isStore)

  /**
   * Makes the written files ready for the commit: they get the protection that the inputs of their
   * folder have in common, and the directories are opened to those who may enter their folders, since
   * readers look there from the commit on.
   *
   * @param record that is about to be committed
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_CONFLICT when a file is gone: another program
   *   has removed an input, or taken the run for a dead one
   */
  def complete(written: Seq[ScannedFile], record: Record): Unit =
    try prepare(written, record)
    catch {
      case e @ (_: FileNotFoundException | _: NoSuchFileException) =>
        throw ZOrderErrors.conflict(table.target.name, s"a file is gone: ${e.getMessage}")
    }

  protected def prepare(written: Seq[ScannedFile], record: Record): Unit = {
    val _ = record
    if (!isStore) {
      attributes.copy(inputs, written.map(_.file) ++ notes)
      ManyFiles.map(folders)(f => attributes.protect(own(f), f))
      Durable.directories(fs, folders.flatMap(f => Seq(own(f), f)))
    }
  }

  /** Files of the run that are not data of the table, and will be seen beside it. */
  protected def notes: Seq[DataFile] = Nil

  /**
   * Deletes what attempts of tasks left that were killed with their executor. To be called when the run
   * is committed, and published if it is to be.
   */
  def sweep(committed: Record): Unit =
    try {
      val kept = stays(committed)
      ManyFiles.map(folders) { f =>
        state.files(own(f)).map(_.getPath)
          .filter(p => p.getName.startsWith(RunFolder.New) && !kept(p.getName))
          .foreach(fs.delete(_, false))
      }
      ()
    } catch { case NonFatal(e) => logWarning(s"files of lost tasks of run $run are left", e) }

  /** The new files that stay in the directories of the run. */
  protected def stays(committed: Record): Set[String] =
    committed.changes.flatMap(_.added.map(_.staged)).toSet

  /** A folder in which the run's directory is gone: the folder was dropped, overwritten or moved. */
  def lostFolder: Option[Path] =
    if (isStore) None
    else {
      ManyFiles.firstProblem(folders)(f =>
        if (fs.exists(own(f))) None else Some(f.toString)).map(new Path(_))
    }

  /**
   * Deletes what the run made, twice, because a task that is being killed may create a file after the
   * first time. Replaced files stay: they exist only if the run was committed and another process is
   * deleting its record.
   */
  def discard(): Unit =
    try {
      val cleanup = new Cleanup(state, table.user.sparkContext.sparkUser)
      cleanup.discard(intent)
      Thread.sleep(HiddenFiles.KilledTasksMs)
      cleanup.discard(intent)
    } catch {
      case NonFatal(e) => logWarning(s"cannot delete the files of run $run", e)
      case _: InterruptedException => Thread.currentThread().interrupt()
    }
}

private object HiddenFiles {
  val KilledTasksMs = 300L
}

/** The same for a run that gives its files visible names: each folder gets a token and a copy of its change. */
private[plain] final class RenamedFiles(table: TableState, inputs: TableFiles)
    extends HiddenFiles(table, inputs) {

  override protected def prepare(written: Seq[ScannedFile], record: Record): Unit = {
    ManyFiles.map(record.changes)(ChangeCopy.write(state, record, _))
    val model = written.headOption.map(_.file).getOrElse(inputs.files.head)
    val bytes =
      EmptyDataFile.bytes(model.path, token(folders.head), table.target.format, table.conf)
    ManyFiles.map(folders) { f =>
      state.write(token(f), bytes)
      tryRename(f)
    }
    super.prepare(written, record)
  }

  override protected def notes: Seq[DataFile] = inputs.files.map(_.folder).distinct
    .map(f => DataFile(f, fs.getFileStatus(token(f.path))))

  private def token(folder: Path) = new Path(own(folder), RunFolder.Waiting)

  /** A rename that is denied after the commit would leave the table half published. */
  private def tryRename(folder: Path): Unit = {
    val there = state.trial(Paths.relative(table.root, folder), run)
    if (!FileMove.rename(fs, token(folder), there) ||
      !FileMove.rename(fs, there, token(folder))) {
      throw new java.io.IOException(s"files of $folder cannot be renamed")
    }
  }

  // every new file is visible
  override protected def stays(committed: Record): Set[String] = Set.empty
}
