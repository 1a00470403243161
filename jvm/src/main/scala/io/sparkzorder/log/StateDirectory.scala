// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, NoSuchFileException, Path => LocalPath, Paths => LocalPaths}
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec
import scala.collection.mutable
import scala.util.{Failure, Success, Try}

import org.apache.commons.io.IOUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, ParentNotDirectoryException, Path}
import org.apache.hadoop.security.AccessControlException

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util._

/**
 * `<table>/_zorder/`: what spark-zorder knows about a table. Every name below it begins with `_`,
 * because other engines list by globs, and none ends in `.parquet`. Data files never lie here: see
 * [[RunFolder]].
 */
private[sparkzorder] final class StateDirectory(
    val root: Path,
    private[sparkzorder] val conf: Configuration) {
  val fs: FileSystem = RawFiles.of(root, conf)
  val home: Path = new Path(root, StateDirectory.Name)
  private[sparkzorder] val commits = new Path(home, "_commits")
  private val links = new OwnPaths(fs, root)
  // how many files the last listing of a folder had
  private val sizes = new ConcurrentHashMap[Path, Int]

  private[sparkzorder] val runs = new Path(home, "_runs")

  private[sparkzorder] def intent(run: String): Path = links.require(new Path(runs, s"_$run"))

  /** The directory of a run in a folder. */
  private[sparkzorder] def own(folder: String, run: String): Path =
    links.require(Paths.child(this.folder(folder), RunFolder.directory(run)))

  /** Where the files of that directory are after a conflict. */
  private[sparkzorder] def closed(folder: String, run: String): Path =
    links.require(Paths.child(this.folder(folder), s"${RunFolder.directory(run)}_closed"))

  /** Where the token of a run is for a moment before the commit, to see whether renames are allowed. */
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

  /** Makes the directory and the note that explains it, if they are not there. */
  def create(): Unit = {
    requireNoLinks()
    if (!ObjectStore.isOne(fs)) {
      fs.mkdirs(commits)
      fs.mkdirs(runs)
    }
    val note = new Path(home, "_README")
    if (!fs.exists(note)) write(note, StateDirectory.Note.getBytes(UTF_8))
  }

  /**
   * Refuses state that is not all in this directory.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when something is a link
   */
  def requireNoLinks(): Unit = links.requireIn(home)

  /** Numbers of all records, ascending. */
  def numbers(): Seq[Long] = {
    requireNoLinks()
    files(commits)
      .flatMap(s => Try(s.getPath.getName.stripPrefix("_").toLong).toOption)
      .sorted
  }

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE */
  def read(number: Long): Record = {
    val path = record(number)
    parse(
      path,
      content(path).getOrElse(throw ZOrderErrors.stateUnreadable(path.toString, "it is gone")))
  }

  private def parse(path: Path, json: Array[Byte]): Record =
    try Record.fromJson(json)
    catch {
      case e: java.io.IOException => throw ZOrderErrors.stateUnreadable(path.toString, e.getMessage)
    }

  /** True when the run of record `number` is marked done. */
  def isDone(number: Long): Boolean = content(done(number)).exists { mark =>
    holds(number, new String(mark, UTF_8))
  }

  /**
   * Marks the run of a record done.
   *
   * @param run goes into the mark: a publisher that comes late, after the table was overwritten and
   *   optimized anew, must not mark another run that has taken the number
   */
  def markDone(number: Long, run: String): Unit =
    // a mark that exists is not written again, and a new one appears at once: no reader may see it empty
    if (!isDone(number)) {
      ExclusiveFile.replace(fs, links.require(done(number)), run.getBytes(UTF_8), conf)
    }

  /** When a record was marked done, in milliseconds; None when the mark is gone. */
  def doneSince(number: Long): Option[Long] = status(done(number)).map(_.getModificationTime)

  /**
   * When a run replaced its files, in milliseconds; None when it is not marked done. The retention begins
   * here. The file system's clock gives the time of the mark, and the driver's clock that of the record:
   * the later one counts, so that a clock that is slow lets nothing expire.
   */
  def replacedSince(number: Long, record: Record): Option[Long] =
    doneSince(number).map(math.max(_, record.createdMs))

  /** Notes that some folder of a run was not published: its retained files may be the only copy. */
  def markConflict(number: Long): Unit = write(conflict(number), Array.emptyByteArray)
  def hasConflict(number: Long): Boolean = fs.exists(conflict(number))

  /** True while the run's record is there; the record vanishes when another program overwrites the whole table. */
  def holds(number: Long, run: String): Boolean =
    content(record(number)).exists(parse(record(number), _).run == run)

  /** Length and modification time of a record; None when it is not there. */
  def identity(number: Long): Option[(Long, Long)] =
    try {
      val s = fs.getFileStatus(links.require(record(number)))
      Some(s.getLen -> s.getModificationTime)
    } catch { case _: FileNotFoundException => None }

  /**
   * Creates record `number`, unless it is there or was there: exactly one of several creators succeeds.
   */
  def createRecord(number: Long, record: Record): Boolean = {
    create(number, Record.toJson(record), StateDirectory.Attempts) && {
      Durable.directories(fs, Seq(commits))
      // A process that paused after it saw the number free may find it free again, because a checkpoint has
      // removed the record. Its own record is void then.
      val isUsed =
        files(commits).exists(s => Checkpoint.numberOf(s.getPath.getName).exists(_ >= number)) &&
          new CommitLogReader(this).read().upTo >= number
      if (isUsed) fs.delete(this.record(number), false)
      !isUsed
    }
  }

  @tailrec
  private def create(number: Long, content: Array[Byte], left: Int): Boolean =
    // several processes may write a record of the same kind about one run, each by a temporary file of its own
    Try(
      ExclusiveFile.create(fs, record(number), UUID.randomUUID().toString, content, conf)) match {
      case Success(isFirst) => isFirst
      // another process has removed temporary files meanwhile
      case Failure(_: FileNotFoundException | _: NoSuchFileException)
          if left > 0 && fs.exists(commits) => create(number, content, left - 1)
      case Failure(e) => throw e
    }

  /** Temporary files of records in the making. */
  def temporary(): Seq[FileStatus] =
    (files(commits) ++ files(runs)).filter(_.getPath.getName.startsWith("_tmp_"))

  /** Status of a file; None when it is not there. */
  private[sparkzorder] def status(path: Path): Option[FileStatus] =
    try {
      val seen = fs.getFileStatus(path)
      // Hadoop's local file system reads existence, length and time one by one: a file that is renamed
      // meanwhile appears with modification time 0
      if (seen.getModificationTime > 0 || !RawFiles.isLocal(fs)) Some(seen)
      else if (fs.exists(path)) Some(fs.getFileStatus(path))
      else None
    } catch { case _: FileNotFoundException => None }

  /** Files of a directory by name; none when it is not there. */
  private[sparkzorder] def byName(directory: Path): Map[String, FileStatus] =
    files(directory).filter(_.isFile).map(s => s.getPath.getName -> s).toMap

  /**
   * The files of a directory that have one of these names. Lists the directory, unless an earlier listing had many
   * more files: then each name is looked up. So a batch of a large directory costs what the batch has of it.
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
   * The root and all directories below it that may hold data files, each with what lies in it. Directories that
   * are tables with a `_zorder` of their own are left out, with everything below them.
   */
  private[sparkzorder] def walk(): Seq[(Path, Seq[FileStatus])] = {
    def below(level: Seq[Path]): Seq[(Path, Seq[FileStatus])] =
      if (level.isEmpty) Nil
      else {
        val seen = ManyFiles.map(level)(d => d -> files(d)).filterNot { case (d, there) =>
          d != root && there.exists(s => s.isDirectory && s.getPath.getName == StateDirectory.Name)
        }
        seen ++ below(seen.flatMap(_._2.filter(isFolder).map(_.getPath)))
      }
    below(Seq(root))
  }

  /** The hidden directories of runs in all folders: the run, the folder by its relative name, the path. */
  private[sparkzorder] def runDirectories(): Seq[(String, String, Path)] = for {
    (folder, seen) <- walk()
    directory <- seen if directory.isDirectory
    run <- RunFolder.runOf(directory.getPath.getName)
  } yield (run, Paths.relative(root, folder), directory.getPath)

  private def isFolder(s: FileStatus): Boolean = {
    val name = s.getPath.getName
    // a partition column may have a name that begins like hidden ones
    s.isDirectory && !name.startsWith(".") && (!name.startsWith("_") || name.contains("=")) &&
    !links.isLink(s.getPath)
  }

  /** What lies in a directory; nothing when it is not there. */
  def files(directory: Path): Seq[FileStatus] =
    Directories.list(fs, directory).getOrElse(Nil)

  /** Like [[files]], for reports: nothing if the directory cannot be listed. */
  def readableFiles(directory: Path): Seq[FileStatus] =
    try files(directory)
    catch { case _: java.io.IOException => Nil }

  /** Writes a small file where its directory exists. */
  private[sparkzorder] def write(path: Path, content: Array[Byte]): Unit =
    ExclusiveFile.write(fs, links.require(path), content)

  private[sparkzorder] def content(path: Path): Option[Array[Byte]] =
    content(links.require(path), StateDirectory.Attempts)

  @tailrec
  private def content(path: Path, left: Int): Option[Array[Byte]] =
    Try(bytes(path)) match {
      case Success(bytes) => Some(bytes)
      // Hadoop's local file system throws the same for a file that this user may not read
      case Failure(e: FileNotFoundException) =>
        if (!fs.exists(path)) None
        else if (left > 0) content(path, left - 1)
        else throw ZOrderErrors.stateUnreadable(path.toString, e.getMessage)
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

  private val Note =
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

/**
 * Refuses symbolic links on local disk. A user who may write into a table could put a link there, through
 * which we would change files that this user may not change. spark-zorder itself never makes a link. So
 * neither a directory of ours, nor anything in it, nor a folder that a record names may be a link.
 *
 * @param root the table's directory, which may be reached through links
 */
private[sparkzorder] final class OwnPaths(fs: FileSystem, root: Path) {
  // the other file systems with tables of spark-zorder have no links
  private val isLocal = OwnPaths.LocalSchemes(fs.getUri.getScheme)
  private val top: LocalPath = if (isLocal) local(root) else null

  /**
   * @param path below the table
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when the path leads through a
   *   link
   */
  def require(path: Path): Path = {
    if (isLocal) {
      var part = local(path)
      while (part != null && part != top) {
        if (Files.isSymbolicLink(part)) {
          throw ZOrderErrors.stateUnreadable(path.toString, s"$part is a symbolic link")
        }
        part = part.getParent
      }
    }
    path
  }

  /** Like [[require]], for a directory and for each entry of the directory. */
  def requireIn(directory: Path): Unit =
    if (isLocal) {
      require(directory)
      val names = Option(local(directory).toFile.list()).toSeq.flatten
      names.foreach(n => requireNoLink(local(directory).resolve(n)))
    }

  /** True for a path that is a symbolic link itself. */
  def isLink(path: Path): Boolean = isLocal && Files.isSymbolicLink(local(path))

  private def requireNoLink(path: LocalPath): Unit =
    if (Files.isSymbolicLink(path)) {
      throw ZOrderErrors.stateUnreadable(path.toString, "it is a symbolic link")
    }

  private def local(path: Path): LocalPath = LocalPaths.get(path.toUri.getPath)
}

private object OwnPaths {

  /** The scheme of the local disk, and the one under which tests make it fail. */
  val LocalSchemes: Set[String] = Set("file", "faulty")
}

/** Finds the tables to which some directories may belong. */
private[sparkzorder] object StateSearch {

  /**
   * The state of each given directory, and of each directory above, that has a `_zorder`. So a read of one
   * partition finds the state of its table. The result is not cached, because the first OPTIMIZE may have
   * made `_zorder` a moment ago.
   */
  def above(directories: Seq[Path], conf: Configuration): Seq[StateDirectory] = {
    val seen = mutable.HashSet.empty[Path]
    val candidates = directories.flatMap { start =>
      val fs = RawFiles.of(start, conf)
      Iterator.iterate(fs.makeQualified(start))(_.getParent)
        .takeWhile(d => d != null && seen.add(d))
        .map(_ -> fs)
        .toList
    }
    // a read may name thousands of directories
    ManyFiles.map(candidates) { case (d, fs) =>
      if (exists(fs, new Path(d, StateDirectory.Name))) Some(new StateDirectory(d, conf)) else None
    }.flatten
  }

  private def exists(fs: FileSystem, path: Path): Boolean =
    try fs.getFileStatus(path).isDirectory
    catch {
      // not found, no permission, or the given path is a file, which has nothing below it
      case _: FileNotFoundException | _: AccessControlException | _: ParentNotDirectoryException =>
        false
    }
}
