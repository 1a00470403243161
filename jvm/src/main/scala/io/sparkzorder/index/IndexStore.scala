// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.{EOFException, FileNotFoundException, IOException, UTFDataFormatException}
import java.nio.file.{Files, NoSuchFileException}
import java.util.UUID
import java.util.zip.ZipException

import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.commons.lang3.exception.ExceptionUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.values.ValuesPart
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.util.{Directories, ExclusiveFile, RawFiles}

/**
 * A generation of an index.
 *
 * @param identity of the index, the same for all of its generations. An index that is created after a DROP
 *   has another identity, even if its file has the same name, length and time
 */
private[sparkzorder] final case class Generation(file: FileStatus, identity: String)

/**
 * The files of a table's index. A generation is a file `_zorder/_index/_<n>`, which is complete from the moment it
 * appears. Beside the generations lies an empty file, whose name is the identity of the index. Readers take the
 * newest generation, and only writers remove old generations. The file of a generation may hold only the changed
 * entries. Its header then names the earlier files that hold the rest.
 */
private[sparkzorder] final class IndexStore(val root: Path, conf: Configuration) extends Logging {
  private val fs: FileSystem = RawFiles.of(root, conf)
  private val directory = new Path(new Path(root, StateDirectory.Name), IndexStore.Name)

  /** Generations, the newest first; empty if there is no index. */
  def generations(): Seq[FileStatus] = generationsIn(list())

  /** The generation that queries read; None if there is no index. */
  def newest: Option[Generation] = {
    val listed = list()
    generationsIn(listed).headOption.map(Generation(_, identities(listed).sorted.mkString(" ")))
  }

  private def list(): Seq[FileStatus] = Directories.list(fs, directory).getOrElse(Nil)

  private def generationsIn(listed: Seq[FileStatus]): Seq[FileStatus] =
    listed.filter(s => s.isFile && IndexStore.number(s).isDefined)
      .sortBy(s => -IndexStore.number(s).get)

  private def identities(listed: Seq[FileStatus]): Seq[String] =
    listed.map(_.getPath.getName).filter(_.startsWith(IndexStore.Identity))

  def exists: Boolean = generations().nonEmpty

  /**
   * Writes a generation made from the newest generation. If another writer adds a generation meanwhile,
   * the change is made again, from that generation. A change without any effect writes nothing.
   *
   * @param make the change of the newest generation that can be read; it may be called several times
   * @param readsInt96 whether the values of INT96 columns are read; None to keep what the newest
   *   generation says
   * @return the new generation; None when the format version of the newest generation is unknown, so that the newest
   *   generation is left alone
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_LOST if the table was overwritten meanwhile;
   *   ZORDER_STATE_UNREADABLE if the newest generation cannot be read at the moment
   * @throws java.io.IOException if the file system fails, or if other writers keep changing the index
   */
  def change(
      make: Option[IndexBefore] => IndexChange,
      readsInt96: Option[Boolean] = None): Option[FileStatus] = {
    def attempt(left: Int): Option[FileStatus] = {
      val listed = list()
      val last = generationsIn(listed).headOption
      val next = new Path(directory, s"_${last.flatMap(IndexStore.number).getOrElse(0L) + 1}")

      def from(before: Option[IndexBefore]): Option[FileStatus] = {
        val change = make(before)
        val was = before.map(_.header)
        val int96 = readsInt96.getOrElse(was.exists(_.readsInt96))
        if (was.exists(IndexStore.isSame(_, change, int96))) {
          // if `last` is a day old, each query that reads an earlier generation has ended
          val isOld = last.exists(IndexStore.isBefore(_, now - IndexStore.AbandonedMs))
          if (isOld) removeBefore(last, before.toSeq.flatMap(_.partNames), valuesOf(was.toSeq))
          last
        } else {
          val whole = IndexParts.toWrite(before, change)
          val part = whole.copy(content = SeparatingBounds.of(whole.content))
          val hadValues = was.flatMap(_.values)
          val values = change.values.orElse(hadValues)
          val header = IndexFormat.header(part.content, change.chosen, int96, part.parts, values)
          val written =
            try write(part.content, header, next)
            catch {
              // the index was dropped, and its directory with it
              case e: IOException if left > 0 && IndexStore.isMissing(e) && !mayNotWrite =>
                requireState()
                false
            }
          val after = list()
          // With another identity, the index was dropped and created again meanwhile. The generation that was just
          // written may name files that are gone.
          val known = identities(listed).toSet
          val isOther = last.isDefined && known.nonEmpty && identities(after).toSet != known
          // A slow writer may find its number free, because other writers have written a generation of this number,
          // later generations, and removed the first again. Then the file just written is not the newest.
          val newest = generationsIn(after).headOption.filter(_.getPath.getName == next.getName)
          if (written && !isOther && newest.isDefined) {
            removeBefore(
              last,
              before.toSeq.flatMap(_.partNames) ++ part.parts.map(_.name),
              valuesOf(was.toSeq :+ header))
            newest
          } else if (left > 0) {
            if (written && isOther) {
              val _ = fs.delete(next, false)
            } else if (written) removeStale(next)
            attempt(left - 1)
          } else
            throw new IOException(s"other writers kept changing the index in $directory")
        }
      }

      try {
        opened(last) match {
          case Left(_: UnknownIndexVersionException) => None
          case Left(e) => throw new UnreadableIndexException(e)
          case Right(before) => from(before)
        }
      } catch {
        // another session has dropped the index, or has written two generations and then removed `last`
        case _: UnreadableIndexException if left > 0 && last.exists(isGone) => attempt(left - 1)
        case e: UnreadableIndexException =>
          last.foreach(generation =>
            logWarning(
              s"the index ${generation.getPath} cannot be read and is not used",
              e.getCause))
          // A new index would lose all entries and the columns that a user has chosen. So no new index is made
          // after an error that may be temporary.
          if (IndexStore.mayPass(e.getCause, last.exists(hasFiles))) {
            throw ZOrderErrors.stateUnreadable(last.get.getPath.toString, e.getCause.toString)
          }
          from(None)
      }
    }
    attempt(IndexStore.Attempts)
  }

  /** The newest generation; Left when its header cannot be read. */
  private def opened(last: Option[FileStatus]): Either[Throwable, Option[IndexBefore]] =
    try Right(last.map { file =>
        val reader = new IndexReader(file, conf)
        val _ = reader.header
        new IndexBefore(reader)
      })
    catch { case NonFatal(e) => Left(e) }

  private def isGone(generation: FileStatus): Boolean = !generations().exists(s =>
    s.getPath == generation.getPath && s.getLen == generation.getLen &&
      s.getModificationTime == generation.getModificationTime)

  /** True if all files of a generation exist, whether they can be read or not. */
  private def hasFiles(generation: FileStatus): Boolean = {
    val parts = Try(new IndexReader(generation, conf).partNames).getOrElse(Nil)
    (generation.getPath +: parts.map(new Path(directory, _)))
      .forall(p => Try(fs.exists(p)).getOrElse(true))
  }

  /** True if this user may not write into the directory. On local disk, Java then says that a file was not found. */
  private def mayNotWrite: Boolean = RawFiles.isLocal(fs) && {
    val local = RawFiles.local(directory)
    Files.exists(local) && !Files.isWritable(local)
  }

  private def requireState(): Unit =
    if (!fs.exists(directory.getParent)) throw ZOrderErrors.stateLost(root.toString)

  private def write(content: IndexContent, header: IndexHeader, path: Path): Boolean = {
    // do not recreate `_zorder` after the table was overwritten
    requireState()
    Directories.makeOwned(fs, directory, conf)
    // two writers at once may create two such files, and the names of both are then the identity
    if (identities(list()).isEmpty) {
      val identity = new Path(directory, IndexStore.Identity + UUID.randomUUID())
      ExclusiveFile.write(fs, identity, Array.emptyByteArray)
    }
    val temporary = new Path(directory, s"${ExclusiveFile.Temporary}${UUID.randomUUID()}")
    try {
      IndexWriter.write(content, header, temporary, RawFiles.writeRaw(new Configuration(conf)))
      ExclusiveFile.publish(fs, temporary, path, conf)
    } finally fs.delete(temporary, false)
  }

  /**
   * Removes files that neither the new generation nor the generation before it needs. The generation before
   * stays for queries that are reading it. Each later generation is made from one of these two, or from a generation
   * after them. So it needs no file that is removed here, whatever other writers do meanwhile.
   *
   * @param last the generation before the new generation
   * @param parts names of the earlier files that the two generations need
   * @param values names of the parts of the index of values that the two generations name
   */
  private def removeBefore(
      last: Option[FileStatus],
      parts: Seq[String],
      values: Set[String]): Unit = {
    val keepFrom = last.flatMap(IndexStore.number).getOrElse(0L)
    val used = parts.toSet
    val listed = list()
    val hasValues = listed.exists(isValuesPart)
    generationsIn(listed).filter(s => IndexStore.number(s).exists(_ < keepFrom)).foreach { s =>
      // The parts of the index of values go before the generation that names them. In the other order, a process
      // that dies in between would leave parts that look like parts of a job that still runs.
      if (hasValues) valuesIn(s).filterNot(values).foreach(removeValuesPart)
      if (!used(s.getPath.getName)) Try(fs.delete(s.getPath, false))
    }
    val old = now - IndexStore.AbandonedMs
    // temporary files of writers that were killed
    listed.filter(s =>
      s.getPath.getName.startsWith(ExclusiveFile.Temporary) && IndexStore.isBefore(s, old))
      .foreach(s => Try(fs.delete(s.getPath, false)))
    listed.filter(s => isValuesPart(s) && !values(s.getPath.getName) && isAbandoned(s, old))
      .foreach(s => Try(fs.delete(s.getPath, true)))
  }

  /**
   * Removes the generation that this writer has written although newer generations exist. This writer tries again,
   * and its next generation may name the same parts of the index of values. If the stale generation stayed, another
   * writer would remove it as an old generation, and these parts with it. The stale generation stays if a later
   * generation needs its file, which can happen if it was the newest for a moment.
   */
  private def removeStale(written: Path): Unit = {
    val _ = Try {
      val later = generations().take(2)
      val isOld = later.size == 2 && later.forall(s =>
        IndexStore.number(s).exists(n => IndexStore.number(written.getName).exists(n > _)))
      val used = later.flatMap(s => new IndexReader(s, conf).partNames)
      if (isOld && !used.contains(written.getName)) fs.delete(written, false)
    }
  }

  /**
   * Parts of the index of values that the newest generation does not need: parts that only earlier
   * generations name, and parts that a job has left behind, which may be all parts if the index was dropped meanwhile.
   *
   * @param graceMs how long after the newest generation appeared queries may still read earlier generations
   */
  def superseded(graceMs: Long): Seq[FileStatus] = {
    val listed = list()
    val parts = listed.filter(isValuesPart)
    val (newest, earlier) = generationsIn(if (parts.isEmpty) Nil else listed).splitAt(1)
    // no part is known to be unused if the newest generation cannot be read
    Try(valuesOf(newest.map(new PartReader(_, conf).header))).toOption.toSeq.flatMap { used =>
      // without a grace no time counts, as for other files that VACUUM LAYOUT removes
      val isOver = graceMs == 0L || newest.forall(IndexStore.isBefore(_, now - graceMs))
      val named = earlier.flatMap(valuesIn).toSet
      parts.filter { s =>
        val name = s.getPath.getName
        !used(name) && (if (named(name)) isOver else isAbandoned(s, now - IndexStore.AbandonedMs))
      }
    }
  }

  /** Removes a part of the index of values that no query reads any more. */
  def remove(superseded: FileStatus): Boolean =
    Directories.remove(fs, superseded.getPath, recursive = true)

  def filesOf(part: FileStatus): Seq[FileStatus] =
    Directories.list(fs, part.getPath).getOrElse(Nil)

  private[index] def removeValuesPart(name: String): Unit = {
    val _ = Try(fs.delete(new Path(directory, name), true))
  }

  private def valuesOf(headers: Seq[IndexHeader]): Set[String] =
    headers.flatMap(_.values).flatMap(_.parts).map(_.name).toSet

  /** Names of the parts of the index of values that a generation names; empty if it cannot be read. */
  private def valuesIn(generation: FileStatus): Set[String] =
    Try(valuesOf(Seq(new PartReader(generation, conf).header))).getOrElse(Set.empty)

  private def isValuesPart(s: FileStatus): Boolean =
    s.isDirectory && s.getPath.getName.startsWith(ValuesPart.Prefix)

  /**
   * True for a part that no job is making now. The directory of a part is made before its files, and may be old
   * when a job still writes a file. So the age of the files is checked, too.
   */
  private def isAbandoned(part: FileStatus, old: Long): Boolean =
    IndexStore.isBefore(part, old) &&
      Try(fs.listStatus(part.getPath).forall(IndexStore.isBefore(_, old))).getOrElse(false)

  private def now: Long = System.currentTimeMillis()
  private[index] def home: Path = directory

  /** @throws java.io.IOException if the index stays */
  def drop(): Unit = {
    // a statement that writes into the directory at the same time makes a deletion fail
    val attempts = Iterator.fill(IndexStore.AttemptsToDrop)(
      Directories.remove(fs, directory, recursive = true))
    if (!attempts.contains(true)) {
      throw new IOException(
        s"$directory cannot be removed: the process may not be allowed to, or other statements " +
          "keep writing into it")
    }
  }
}

private[sparkzorder] object IndexStore {
  val Name = "_index"
  private val Identity = "_id_"
  private val Attempts = 20
  private val AttemptsToDrop = 3

  /**
   * Each query, and each job that makes a part of the index of values, is assumed to end within this time. Temporary
   * files of writers that are older are removed.
   */
  val AbandonedMs: Long = 24L * 3600 * 1000

  private def isBefore(s: FileStatus, time: Long): Boolean = s.getModificationTime < time

  /** The number of a generation, by the name of its file. */
  private[index] def number(file: FileStatus): Option[Long] = number(file.getPath.getName)

  private def number(name: String): Option[Long] =
    if (name.startsWith("_")) Try(name.substring(1).toLong).toOption else None

  /**
   * True for an error that does not mean that the index is damaged, such as an error of permissions, of the network or
   * of a store. Our own errors and those of Parquet are of the class IOException itself. File systems have classes of
   * their own, such as HDFS's BlockMissingException and those of S3A, so every class that is not known to mean damage
   * counts as an error that may pass.
   *
   * @param isThere whether the files exist. On local disk, Java throws a FileNotFoundException whenever a file cannot
   *   be opened, and its text is in the language of the user
   */
  private def mayPass(e: Throwable, isThere: => Boolean): Boolean =
    ExceptionUtils.getThrowables(e).exists {
      case _: FileNotFoundException => isThere
      case _: EOFException | _: NoSuchFileException | _: JsonProcessingException => false
      case _: UTFDataFormatException | _: ZipException => false
      case e: IOException =>
        e.getClass != classOf[IOException] || e.getMessage == FileSystemClosed
      case _ => false
    }

  /** The message of an IOException that Hadoop throws when another thread has closed a cached file system. */
  private val FileSystemClosed = "Filesystem closed"

  /** True for an error that may say that the directory of a written file is missing. */
  private def isMissing(e: IOException): Boolean = e match {
    case _: FileNotFoundException | _: NoSuchFileException => true
    case _ => false
  }

  private def isSame(before: IndexHeader, change: IndexChange, readsInt96: Boolean): Boolean =
    change.keepsOthers && change.added.files.size == 0 && change.gone.isEmpty &&
      change.chosen == before.chosen && readsInt96 == before.readsInt96 &&
      change.values.forall(before.values.contains(_))
}
