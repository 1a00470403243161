// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{AccessDeniedException, Files, NoSuchFileException}
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec
import scala.util.{Failure, Success, Try}

import org.apache.commons.io.IOUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util._

/**
 * `<table>/_zorder/`: what spark-zorder knows about a table. Every name below it begins with `_`, and none
 * ends in `.parquet`, so that other engines, which list by globs, take no file for a data file. Data files never
 * lie here: see [[RunFolder]].
 */
private[sparkzorder] final class StateDirectory(
    val root: Path,
    private[sparkzorder] val conf: Configuration) {
  val fs: FileSystem = RawFiles.of(root, conf)
  val home: Path = new Path(root, StateDirectory.Name)
  private[sparkzorder] val commits = new Path(home, "_commits")
  private val links = new OwnPaths(fs, root)
  // the number of files that `named` last listed in each folder
  private val sizes = new ConcurrentHashMap[Path, Int]

  private[sparkzorder] val runs = new Path(home, "_runs")

  private[sparkzorder] def intent(run: String): Path = links.require(new Path(runs, s"_$run"))
  private[sparkzorder] def own(folder: String, run: String): Path =
    links.require(Paths.child(this.folder(folder), RunFolder.directory(run)))

  /** The directory to which a conflict moves the files of [[own]]. */
  private[sparkzorder] def closed(folder: String, run: String): Path =
    links.require(Paths.child(this.folder(folder), s"${RunFolder.directory(run)}_closed"))

  /** The directories of a folder that may have hidden files of a run. */
  private[sparkzorder] def hidden(folder: String, run: String): Seq[Path] =
    Seq(own(folder, run), closed(folder, run))

  /**
   * True if this user may not enter a folder. On local disk, what lies in such a folder looks as if it did not exist.
   * Other file systems say that they deny the access.
   */
  private[sparkzorder] def isClosed(folder: String): Boolean =
    RawFiles.isLocal(fs) && RawFiles.isClosed(this.folder(folder), root)

  /** The name to which a run renames its token and back before its commit, to try whether it may rename files. */
  private[sparkzorder] def trial(folder: String, run: String): Path =
    links.require(Paths.child(this.folder(folder), s"${RunFolder.directory(run)}_trial"))

  /**
   * A folder of the table by its relative name.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when it is a symbolic link
   */
  def folder(relative: String): Path = links.require(Paths.folder(root, relative))

  def record(number: Long): Path = new Path(commits, s"_$number")
  private def done(number: Long): Path = new Path(commits, s"_${number}_done")
  private def conflict(number: Long): Path = new Path(commits, s"_${number}_conflict")

  /** Makes the directory and its README, if they do not exist. */
  def create(): Unit = {
    requireNoLinks()
    if (!ObjectStore.isOne(fs)) {
      val isNew = !fs.exists(home)
      fs.mkdirs(commits)
      fs.mkdirs(runs)
      // after a run of an administrator, the owner of the table must still be able to optimize and to drop it
      if (isNew) Seq(runs, commits, home).foreach(Directories.giveToOwnerOf(fs, root, _))
    }
    val readme = new Path(home, "_README")
    if (!fs.exists(readme)) write(readme, StateDirectory.Readme.getBytes(UTF_8))
  }

  /**
   * Refuses a `_zorder` directory that is a symbolic link or contains one, because a link may lead out of the
   * table.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE
   */
  def requireNoLinks(): Unit = links.requireIn(home)

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE */
  def read(number: Long): Record = {
    val path = record(number)
    parsed(path)(Record.fromJson)
      .getOrElse(throw ZOrderErrors.stateUnreadable(path.toString, "it is gone"))
  }

  /** True when the run of record `number` is marked done. */
  def isDone(number: Long): Boolean =
    readable(done(number))(content).exists(mark => holds(number, new String(mark, UTF_8)))

  /**
   * A user who may not list the records reads what readers without the extension read. If the user may not read a
   * single file of the records, the read fails: to pass over the file could hide rows.
   */
  private[log] def readable[T](path: Path)(body: Path => T): T =
    try body(path)
    catch {
      case e if Directories.isDenied(e) =>
        throw ZOrderErrors.stateUnreadable(path.toString, s"this user may not read it ($e)")
    }

  /**
   * Marks the run of a record done.
   *
   * @param run written into the mark. After the table was overwritten and optimized anew, the mark of a late
   *   publisher must not count for another run whose record has the same number
   */
  def markDone(number: Long, run: String): Unit =
    // a valid mark is not written again, and a new mark appears with its content: no reader may see it empty
    if (!isDone(number)) {
      ExclusiveFile.replace(fs, links.require(done(number)), run.getBytes(UTF_8), conf)
    }

  /** When a record was marked done, in milliseconds; None without a mark. */
  def doneSince(number: Long): Option[Long] = status(done(number)).map(_.getModificationTime)

  /**
   * The time in milliseconds from which the retention of a run counts; None when the run is not marked done. It is
   * the later one of two times: that of the mark, by the clock of the file system, and that of the record, by the
   * clock of the driver. So nothing expires early because one of the clocks is slow.
   */
  def replacedSince(number: Long, record: Record): Option[Long] =
    doneSince(number).map(math.max(_, record.createdMs))

  /** Marks a run that was not published in some folder. Its retained files may be the only copy of rows. */
  def markConflict(number: Long): Unit =
    // the mark may belong to another user, and writing it again would fail
    if (!hasConflict(number)) write(conflict(number), Array.emptyByteArray)

  /** True for the number of a run with a conflict. */
  def hasConflict(number: Long): Boolean = fs.exists(conflict(number))

  /** As [[hasConflict]], for many records. Lists the marks once. */
  def conflicts(): Long => Boolean = {
    val names = files(commits).map(_.getPath.getName).toSet
    number => names(conflict(number).getName)
  }

  /**
   * True while record `number` exists and is that of the run. Another program that overwrites the whole table
   * removes the record.
   */
  def holds(number: Long, run: String): Boolean =
    parsed(record(number))(Record.fromJson).exists(_.run == run)

  /** Length and modification time of a record; None when the record does not exist. */
  def identity(number: Long): Option[(Long, Long)] =
    status(links.require(record(number))).map(s => s.getLen -> s.getModificationTime)

  /** Creates record `number`, unless the number is or was in use. Of several creators exactly one succeeds. */
  def createRecord(number: Long, record: Record): Boolean = {
    create(number, Record.toJson(record), StateDirectory.Attempts) && {
      Durable.directories(fs, Seq(commits))
      // This process may have been suspended after it saw that the number was free. Meanwhile another process may
      // have used the number, and a checkpoint may have removed its record. The new record is void then.
      val isUsed =
        files(commits).exists(s => Checkpoint.numberOf(s.getPath.getName).exists(_ >= number)) &&
          new CommitLogReader(this).read().upTo >= number
      if (isUsed) fs.delete(this.record(number), false)
      !isUsed
    }
  }

  @tailrec
  private def create(number: Long, content: Array[Byte], left: Int): Boolean =
    // Several processes may write a marker about one run at once. A random id gives each its own temporary file.
    Try(
      ExclusiveFile.create(fs, record(number), UUID.randomUUID().toString, content, conf)) match {
      case Success(isFirst) => isFirst
      // VACUUM LAYOUT has removed the temporary file meanwhile
      case Failure(_: FileNotFoundException | _: NoSuchFileException)
          if left > 0 && fs.exists(commits) => create(number, content, left - 1)
      case Failure(e) => throw e
    }

  /** Temporary files of records and intents that are being created, or whose creation failed. */
  def temporary(): Seq[FileStatus] =
    (files(commits) ++ files(runs)).filter(_.getPath.getName.startsWith(ExclusiveFile.Temporary))

  /** Status of a file; None when it does not exist. */
  private[sparkzorder] def status(path: Path): Option[FileStatus] =
    try {
      val seen = fs.getFileStatus(path)
      // Hadoop's local file system reads existence, length and time one after the other. A file that is renamed in
      // between has modification time 0, so the file is looked at once more.
      if (seen.getModificationTime > 0 || !RawFiles.isLocal(fs)) Some(seen)
      else if (fs.exists(path)) Some(fs.getFileStatus(path))
      else None
    } catch { case _: FileNotFoundException => None }

  /** The files of a directory by name; empty when the directory does not exist. */
  private[sparkzorder] def byName(directory: Path): Map[String, FileStatus] =
    files(directory).filter(_.isFile).map(s => s.getPath.getName -> s).toMap

  /**
   * Files of a directory by name, among them all that have one of these names. Lists the directory, unless an
   * earlier listing had many more files: then each name is looked up. So a batch with a few files of a large
   * directory does not pay for a listing of the whole directory.
   */
  private[sparkzorder] def named(
      directory: Path,
      names: Seq[String]): Map[String, FileStatus] =
    if (names.isEmpty) Map.empty
    else if (ManyFiles.areFew(names.size, sizes.getOrDefault(directory, 0))) {
      ManyFiles.map(names) { name =>
        status(Paths.child(directory, name)).filter(_.isFile).map(name -> _)
      }.flatten.toMap
    } else {
      val found = byName(directory)
      sizes.put(directory, found.size)
      found
    }

  /**
   * The root and all directories below it that may have data files, each with its entries. A directory that is
   * a table with its own `_zorder` is left out, with everything below it. A directory that this user may not list is
   * left out, too: in a table with such a partition, users still work with the other partitions.
   *
   * @param denied called with the error for each directory that this user may not list, by several threads; may throw
   *   it
   */
  private[sparkzorder] def walk(denied: Throwable => Unit =
    _ => ()): Seq[(Path, Seq[FileStatus])] = {
    def below(level: Seq[Path]): Seq[(Path, Seq[FileStatus])] =
      if (level.isEmpty) Nil
      else {
        val listed = ManyFiles.map(level) { d =>
          try Some(d -> files(d))
          catch {
            case e if d != root && Directories.isDenied(e) =>
              denied(e)
              None
          }
        }
        val seen = listed.flatten.filterNot { case (d, there) =>
          d != root && there.exists(s => s.isDirectory && s.getPath.getName == StateDirectory.Name)
        }
        seen ++ below(seen.flatMap(_._2.filter(isFolder).map(_.getPath)))
      }
    below(Seq(root))
  }

  /**
   * The hidden directories of runs in all folders: the run, the relative name of the folder, the path.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE if one of them is a link. Whoever may write
   *   in the table could let VACUUM delete the files of another directory by such a link
   * @param denied as for [[walk]]
   */
  private[sparkzorder] def runDirectories(
      denied: Throwable => Unit = _ => ()): Seq[(String, String, Path)] = for {
    (folder, seen) <- walk(denied)
    directory <- seen if directory.isDirectory
    run <- RunFolder.runOf(directory.getPath.getName)
  } yield (run, Paths.relative(root, folder), links.require(directory.getPath))

  private def isFolder(s: FileStatus): Boolean = {
    val name = s.getPath.getName
    // `_p=1` is the directory of a partition, because a partition column may have a name such as `_p`
    s.isDirectory && !name.startsWith(".") && (!name.startsWith("_") || name.contains("=")) &&
    !links.isLink(s.getPath)
  }

  /** The entries of a directory; empty when the directory does not exist. */
  def files(directory: Path): Seq[FileStatus] =
    Directories.list(fs, directory).getOrElse(Nil)

  /** Like [[files]], for reports: empty also when the directory cannot be listed. */
  def readableFiles(directory: Path): Seq[FileStatus] =
    try files(directory)
    catch { case _: IOException => Nil }

  /**
   * Like [[byName]], for the hidden directory of a run that may have no commit. Empty also if this user may not list
   * the directory: a run opens its directories to the readers of the table before its commit. So such a directory has
   * no replaced file.
   */
  private[sparkzorder] def openByName(directory: Path): Map[String, FileStatus] =
    try byName(directory)
    catch { case e if Directories.isDenied(e) => Map.empty }

  /** Writes a small file where its directory exists. */
  private[sparkzorder] def write(path: Path, content: Array[Byte]): Unit =
    ExclusiveFile.write(fs, links.require(path), content)

  /**
   * Reads and parses a file; None when it does not exist.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE if `parse` throws an IOException
   */
  private[sparkzorder] def parsed[T](path: Path)(parse: Array[Byte] => T): Option[T] =
    content(path).map { bytes =>
      try parse(bytes)
      catch {
        case e: IOException => throw ZOrderErrors.stateUnreadable(path.toString, e.getMessage)
      }
    }

  private[sparkzorder] def content(path: Path): Option[Array[Byte]] =
    content(links.require(path), StateDirectory.Attempts)

  @tailrec
  private def content(path: Path, left: Int): Option[Array[Byte]] =
    Try(bytes(path)) match {
      case Success(bytes) => Some(bytes)
      // Hadoop's local file system throws this exception also for a file that the user may not read, and where a process
      // has too many open files. It must not stand for a damaged file: readers pass over damaged records of done runs.
      case Failure(e: FileNotFoundException) =>
        if (!fs.exists(path)) None
        else if (left > 0) content(path, left - 1)
        else if (RawFiles.isLocal(fs) && !Files.isReadable(RawFiles.local(path))) {
          throw new AccessDeniedException(path.toString)
        } else throw new IOException(s"$path exists and cannot be opened: ${e.getMessage}", e)
      case Failure(e) => throw e
    }

  private def bytes(path: Path): Array[Byte] = {
    val in = fs.open(path)
    try IOUtils.toByteArray(in)
    finally in.close()
  }
}

private[sparkzorder] object StateDirectory {
  val Name = "_zorder"

  private val Attempts = 3

  private val Readme =
    """This directory belongs to spark-zorder, which laid out the data files of this table.
      |
      |_index     min, max and null count of every data file, by which queries skip files
      |_grid      the cells to which writes into a table with a declared order deal their rows
      |_commits   one record for each run: the files it replaced and added
      |_runs      runs that are under way, died, or keep replaced files
      |_workload  which columns queries filtered by, without values, if spark.zorder.workload.enabled is on
      |
      |In the folders of the table a run has a directory _zorder_<run>, with files that are not visible
      |yet, and with replaced files, kept for a while for undo and for running queries.
      |
      |The table itself is ordinary Parquet or ORC and needs nothing of this. To remove everything, run
      |VACUUM LAYOUT <table> RETAIN 0 HOURS, with DRY RUN first, which says what it removes. Delete this
      |directory and the directories _zorder_<run> only when no OPTIMIZE is running, every _commits/_<n>
      |has a _commits/_<n>_done beside it, and there is no directory _zorder_<run>_closed. That
      |directory, and the _zorder_<run> of a run with a _commits/_<n>_conflict, may hold the only copy of a row.
      |""".stripMargin
}
