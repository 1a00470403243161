package io.sparkzorder.index

import java.io.FileNotFoundException
import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, ParentNotDirectoryException, Path}

import org.apache.spark.internal.Logging

import io.sparkzorder.log.StateDirectory
import io.sparkzorder.util.{ExclusiveFile, RawFiles}

/**
 * A generation of an index.
 *
 * @param identity of the index, the same for all of its generations. An index that is created after a DROP
 *   has another one, even where its file has the same name, length and time
 */
final case class Generation(file: FileStatus, identity: String)

/**
 * Where a table's index lies: numbered generations `_zorder/_index/_<n>`, each complete from the moment
 * it appears, beside an empty file whose name is the identity of the index. Readers take the newest
 * generation; only writers remove old ones.
 */
final class IndexStore(val root: Path, conf: Configuration) extends Logging {
  private val fs: FileSystem = RawFiles.of(root, conf)
  private val directory = new Path(new Path(root, StateDirectory.Name), IndexStore.Name)

  /** Generations, the newest first; none where there is no index. */
  def generations(): Seq[FileStatus] = generationsIn(list())

  /** What queries read; None where there is no index. */
  def newest: Option[Generation] = {
    val there = list()
    generationsIn(there).headOption.map(Generation(_, identities(there).sorted.mkString(" ")))
  }

  private def list(): Seq[FileStatus] =
    try fs.listStatus(directory).toSeq
    catch {
      // also below the path of a file
      case _: FileNotFoundException | _: ParentNotDirectoryException => Nil
    }

  private def generationsIn(there: Seq[FileStatus]): Seq[FileStatus] =
    there.filter(s => s.isFile && IndexStore.number(s).isDefined)
      .sortBy(s => -IndexStore.number(s).get)

  private def identities(there: Seq[FileStatus]): Seq[String] =
    there.map(_.getPath.getName).filter(_.startsWith(IndexStore.Identity))

  def exists: Boolean = generations().nonEmpty

  /**
   * Writes a generation made from the newest one. If another writer adds a generation meanwhile,
   * the new one is made again, from that generation.
   *
   * @param readsInt96 whether the values of INT96 columns are read; None to keep what the newest
   *   generation says
   * @param make the new content from the header and content of the newest generation that can be read
   * @return the new generation; None when the newest generation has a newer format version and is
   *   therefore left alone
   */
  def update(
      make: Option[(IndexHeader, IndexContent)] => (IndexContent, Option[Seq[Seq[String]]]),
      readsInt96: Option[Boolean] = None): Option[FileStatus] = {
    def attempt(left: Int): Option[FileStatus] = {
      val there = generations()
      read(there) match {
        case Left(_: NewerIndexException) => None
        case before =>
          val newest = before.toOption.flatten
          val (content, chosen) = make(newest)
          val int96 = readsInt96.getOrElse(newest.exists(_._1.readsInt96))
          val next = new Path(
            directory,
            s"_${there.headOption.flatMap(IndexStore.number).getOrElse(0L) + 1}")
          if (write(content, IndexFormat.header(content, chosen, int96), next)) {
            removeBefore(there.headOption)
            Some(fs.getFileStatus(next))
          } else if (left > 0) attempt(left - 1)
          else throw new java.io.IOException(s"others kept writing the index in $directory")
      }
    }
    attempt(IndexStore.Attempts)
  }

  /** The newest generation's content; an error when it cannot be read. */
  private def read(there: Seq[FileStatus])
      : Either[Throwable, Option[(IndexHeader, IndexContent)]] =
    there.headOption match {
      case None => Right(None)
      case Some(newest) =>
        try {
          val reader = new IndexReader(newest, conf)
          Right(Some((reader.header, reader.content())))
        } catch {
          case NonFatal(e) =>
            logWarning(s"the index ${newest.getPath} cannot be read and is not used", e)
            Left(e)
        }
    }

  private def write(
      content: IndexContent,
      header: IndexHeader,
      path: Path): Boolean = {
    // do not recreate `_zorder` after the table was overwritten
    if (!fs.exists(directory.getParent)) throw new FileNotFoundException(s"${directory.getParent}")
    fs.mkdirs(directory)
    // two writers at once may leave two: together they are the identity
    if (identities(list()).isEmpty) {
      fs.create(new Path(directory, IndexStore.Identity + UUID.randomUUID()), false).close()
    }
    val temporary = new Path(directory, s"_tmp_${UUID.randomUUID()}")
    try {
      IndexWriter.write(content, header, temporary, RawFiles.writeRaw(new Configuration(conf)))
      ExclusiveFile.publish(fs, temporary, path, conf)
    } finally fs.delete(temporary, false)
  }

  /** The generation before the new one stays for queries that are reading it. */
  private def removeBefore(last: Option[FileStatus]): Unit = {
    val keepFrom = last.flatMap(IndexStore.number).getOrElse(0L)
    generations().filter(IndexStore.number(_).exists(_ < keepFrom)).foreach(s =>
      Try(fs.delete(s.getPath, false)))
    // temporary files of writers that were killed
    val old = System.currentTimeMillis() - IndexStore.AbandonedMs
    Try(fs.listStatus(directory).filter(s =>
      s.getPath.getName.startsWith("_tmp_") && s.getModificationTime < old).foreach(s =>
      fs.delete(s.getPath, false)))
  }

  /** Removes the index, all generations of it. */
  def drop(): Unit = {
    val _ = fs.delete(directory, true)
  }
}

object IndexStore {
  val Name = "_index"
  private val Identity = "_id_"
  private val Attempts = 20
  private val AbandonedMs = 24L * 3600 * 1000

  /** The number of a generation, by the name of its file. */
  private[index] def number(file: FileStatus): Option[Long] = {
    val name = file.getPath.getName
    if (name.startsWith("_")) Try(name.substring(1).toLong).toOption else None
  }
}

/**
 * What an index holds, in numbers.
 *
 * @param columns names of the indexed columns, each once
 */
final case class IndexSummary(files: Long, rows: Long, columns: Seq[String])

object IndexSummary {

  /** @param file a generation of the index */
  def of(file: FileStatus, conf: Configuration): IndexSummary = {
    val reader = new IndexReader(file, conf)
    val files = reader.files()
    IndexSummary(
      files.size.toLong,
      files.rows.sum,
      reader.header.indexed.map(_.name).distinct)
  }
}

/** Paths of data files relative to their table, as the directory lists them: nothing is escaped. */
object Relative {

  /** The path below `root`; the whole path for a file elsewhere. */
  def path(root: Path, file: Path): String = below(root, file).getOrElse(file.toString)

  /** None for a file that does not lie below `root`. */
  def below(root: Path, file: Path): Option[String] = {
    val prefix = {
      val p = root.toUri.getPath
      if (p.endsWith("/")) p else p + "/"
    }
    val full = file.toUri.getPath
    if (full.startsWith(prefix)) Some(full.substring(prefix.length)) else None
  }
}
