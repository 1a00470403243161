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
import io.sparkzorder.log.{ChangeCopy, Intent, Intents, Record, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.log.publish.Cleanup
import io.sparkzorder.table.{DataFile, TableFiles}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.{Durable, FileMove, ManyFiles, ObjectStore, Paths}
import io.sparkzorder.write.{EmptyDataFile, FileAttributes, HiddenPlaces}

/**
 * The hidden directories of one run, one in each folder. This class makes the directories, and removes the
 * files that are not needed after the run. While files are written, only the owner of a directory may enter it.
 *
 * @param inputs the files that the run replaces
 */
private[plain] class HiddenFiles(table: TableState, inputs: TableFiles) extends Logging {
  val run: String = UUID.randomUUID().toString
  protected val state: StateDirectory = table.state
  protected val fs: FileSystem = state.fs
  protected val folders: Seq[Path] = inputs.files.map(_.folder.path).distinct
  private val attributes = new FileAttributes(table.conf)
  // an object store has neither directories nor permissions of files
  private val isStore = ObjectStore.isOne(fs)
  private val intent = Intent(run, folders.map(Paths.relative(table.root, _)))

  protected def own(folder: Path): Path = state.own(Paths.relative(table.root, folder), run)

  /**
   * Writes the intent, and then makes the directories. If the run dies, other processes find them by the intent.
   */
  def prepare(): Unit = {
    new Intents(state).write(intent)
    if (!isStore) {
      ManyFiles.map(folders)(f => attributes.makePrivate(own(f)))
    }
  }

  /** @param outputs the folder of each file that the tasks write */
  def places(outputs: Seq[Path]): HiddenPlaces =
    HiddenPlaces(outputs.map(own(_).toString).toArray, RunFolder.newName, makesFolders = isStore)

  /**
   * Makes the written files ready for the commit. They get the permissions that the inputs of their folder
   * have in common. The directories get the permissions of their folders, because readers list the directories
   * from the commit on.
   *
   * @param record the record that is about to be committed
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_CONFLICT when a file is gone: another program
   *   has removed an input, or a clean-up has removed the new files as those of a dead run
   */
  def complete(written: Seq[ScannedFile], record: Record): Unit =
    try makeReady(written, record)
    catch {
      case e @ (_: FileNotFoundException | _: NoSuchFileException) =>
        throw ZOrderErrors.conflict(table.target.name, s"a file is gone: ${e.getMessage}")
    }

  protected def makeReady(written: Seq[ScannedFile], record: Record): Unit =
    if (!isStore) {
      attributes.copy(inputs, written.map(_.file) ++ tokens)
      ManyFiles.map(folders)(f => attributes.protect(own(f), f))
      Durable.directories(fs, folders.flatMap(f => Seq(own(f), f)))
    }

  /** The empty files of the run that become visible beside the data files while the run is published. */
  protected def tokens: Seq[DataFile] = Nil

  /**
   * Deletes the files of failed task attempts, such as attempts that died with their executor. Called after the
   * commit. A run that gives its files visible names calls this after the publish: then every new file that is still
   * hidden is of a failed attempt.
   */
  def sweep(committed: Record): Unit =
    try {
      val kept = namesToKeep(committed)
      ManyFiles.map(folders) { f =>
        state.files(own(f)).map(_.getPath)
          .filter(p => p.getName.startsWith(RunFolder.New) && !kept(p.getName))
          .foreach(fs.delete(_, false))
      }
    } catch {
      case NonFatal(e) => logWarning(s"cannot delete the files of failed tasks of run $run", e)
    }

  /** Names of the new files that must stay in the directories of the run. */
  protected def namesToKeep(committed: Record): Set[String] =
    committed.changes.flatMap(_.added.map(_.staged)).toSet

  /** True if the run is committed, or if the records cannot be read, so that no file of a commit is deleted. */
  def isCommitted: Boolean =
    try TableLog.read(state).commitOf(run).isDefined
    catch { case NonFatal(_) => true }

  /**
   * A folder in which the directory of the run is gone, because the folder was dropped, overwritten or moved. None if
   * no directory of the run is gone.
   */
  def lostFolder: Option[Path] =
    if (isStore) None
    else {
      ManyFiles.firstProblem(folders)(f =>
        if (fs.exists(own(f))) None else Some(f.toString)).map(new Path(_))
    }

  /**
   * Deletes the files of a run that did not commit. Deletes twice, because a task that is being killed may still create
   * a file after the first time. If the directories hold replaced files, nothing is deleted: such a run was committed,
   * and another process has deleted its record.
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

/**
 * The hidden directories of a run that gives its files visible names. Each directory also gets a token and
 * a copy of the change.
 */
private[plain] final class RenamedFiles(table: TableState, inputs: TableFiles)
    extends HiddenFiles(table, inputs) {

  override protected def makeReady(written: Seq[ScannedFile], record: Record): Unit = {
    ManyFiles.map(record.changes)(ChangeCopy.write(state, record, _))
    val model = written.headOption.map(_.file).getOrElse(inputs.files.head)
    val bytes =
      EmptyDataFile.bytes(model.path, token(folders.head), table.target.format, table.conf)
    ManyFiles.map(folders) { f =>
      state.write(token(f), bytes)
      tryRename(f)
    }
    super.makeReady(written, record)
  }

  override protected def tokens: Seq[DataFile] =
    ManyFiles.map(inputs.files.map(_.folder).distinct)(f =>
      DataFile(f, fs.getFileStatus(token(f.path))))

  private def token(folder: Path) = new Path(own(folder), RunFolder.Waiting)

  /** Tries a rename before the commit: a rename that is denied later would leave the table half published. */
  private def tryRename(folder: Path): Unit = {
    val there = state.trial(Paths.relative(table.root, folder), run)
    if (!FileMove.rename(fs, token(folder), there) ||
      !FileMove.rename(fs, there, token(folder))) {
      throw new java.io.IOException(s"files of $folder cannot be renamed")
    }
  }

  // publishing has moved every new file into the folder
  override protected def namesToKeep(committed: Record): Set[String] = Set.empty
}
