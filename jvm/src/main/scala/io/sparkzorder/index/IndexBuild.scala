// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.util.Arrays

import scala.util.{Failure, Success}
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.util.SerializableConfiguration

import io.sparkzorder.table.{DataFile, DataFormat}
import io.sparkzorder.table.stats.{FooterReader, ScannedFile}
import io.sparkzorder.util.Paths

/**
 * A data file whose footer a task reads. Tasks get this class in place of Hadoop's FileStatus, which would
 * also serialize the permissions of the file.
 */
private final case class FileToRead(path: String, length: Long, modified: Long)

/** The index entries of the files whose footers could be read, and the paths of the other files. */
private[sparkzorder] final case class BuiltIndex(content: IndexContent, unreadable: Seq[String])

/**
 * Reads the footers of data files and builds an index from them. Threads of the driver read the footers of few
 * files, and a job those of many files. Values of columns are always read by a job: those of INT96 columns, and those
 * of FLOAT and DOUBLE columns whose bounds the footers lack ([[BoundsFromValues]]).
 *
 * @param root the directory of the table, as a qualified path
 * @param jobFrom the least number of files for which a job reads the footers
 * @param filesOfJob the greatest number of files of one job. Spark ends a job whose results are larger than
 *   `spark.driver.maxResultSize`, so very many files are read by several jobs
 * @param format the format of the data files
 * @param readsInt96 true to compute the bounds of INT96 columns from their values, because footers have no
 *   bounds of such columns
 */
private[sparkzorder] final class IndexBuild(
    session: Session,
    root: Path,
    choice: ColumnChoice,
    jobFrom: Int = IndexBuild.JobFrom,
    format: DataFormat,
    readsInt96: Boolean = false,
    filesOfJob: Int = IndexBuild.FilesOfJob)
    extends Logging {
  private val bounds = new BoundsFromValues(choice, readsInt96)
  private val reader = new EntryReader(root.toString, choice, format, bounds)
  private val conf = session.sessionState.newHadoopConf()
  // Old writers compared strings as signed bytes, which is another order. With false, Parquet ignores the bounds of
  // strings that these writers wrote.
  conf.setBoolean("parquet.strings.signed-min-max.enabled", false)

  /**
   * Builds the index of the files. A file whose footer cannot be read gets no entry, so a query reads the
   * file and reports the error.
   */
  def of(files: Seq[DataFile]): BuiltIndex =
    if (files.isEmpty) BuiltIndex(IndexContent.empty, Nil)
    else if (files.size >= jobFrom || readsInt96) {
      val toRead = files.map(f => FileToRead(f.path.toString, f.length, f.modified))
      byJobs(toRead, if (readsInt96) 1 else IndexBuild.FilesOfTask)
    } else {
      val (read, unreadable) = reader.footers(files, conf)
      BuiltIndex(ofFooters(read), unreadable)
    }

  /**
   * Builds the index of files whose footers are known. Only files with columns that lack bounds in the footers are
   * read, by a job ([[BoundsFromValues]]).
   *
   * @param footers each footer with the present path of its file, relative to the table's root
   */
  def ofFooters(footers: Seq[(ScannedFile, String)]): IndexContent = {
    val ofFooter = new FooterEntries(choice)
    val entries = footers.map { case (footer, path) => (footer, ofFooter.of(footer, path)) }
    val (toRead, complete) = entries.partition { case (footer, entry) =>
      bounds.needsValues(entry, footer)
    }
    val content = IndexContent.of(complete.map(_._2))
    if (toRead.isEmpty) content
    else {
      val files = toRead.map { case (_, e) =>
        // a Path of the text alone would take `p=12:30` for a scheme
        FileToRead(Paths.folder(root, e.path).toString, e.length, e.modified)
      }
      val read =
        try byJobs(files, filesOfTask = 1)
        catch {
          case NonFatal(e) =>
            logWarning(s"values of files in $root could not be read, so bounds are missing", e)
            BuiltIndex(IndexContent.of(Nil), files.map(_.path))
        }
      // a file that the job could not read keeps its entry from the footer, without these bounds
      val missed = read.unreadable.toSet
      val ofMissed = files.zip(toRead).collect { case (f, (_, e)) if missed(f.path) => e }
      IndexContent.concat(
        Seq(content, read.content, IndexContent.of(ofMissed)).filter(_.files.size > 0))
    }
  }

  private def byJobs(files: Seq[FileToRead], filesOfTask: Int): BuiltIndex = {
    val built = files.grouped(filesOfJob).flatMap(byJob(_, filesOfTask)).toIndexedSeq
    BuiltIndex(IndexContent.concat(built.map(_.content)), built.flatMap(_.unreadable))
  }

  private def byJob(files: Seq[FileToRead], filesOfTask: Int): Seq[BuiltIndex] = {
    val sc = session.sparkContext
    val tasks = math.max(1, math.min(files.size / filesOfTask, IndexBuild.MaxTasks))
    val settings = sc.broadcast(new SerializableConfiguration(conf))
    // the closure must not hold this object, which has the session
    val reader = this.reader
    try {
      sc.parallelize(files, tasks).mapPartitions { part =>
        val listed = part.map(f =>
          DataFile.alone(new FileStatus(f.length, false, 0, 0L, f.modified, new Path(f.path))))
        val built = reader.read(listed.toIndexedSeq, settings.value.value)
        // Long bounds are shortened, so that tasks send less to the driver. They keep more bytes than in the
        // final index: bounds of other tasks may lie between two bounds of this task, and more bytes are then
        // needed to tell them apart.
        Iterator.single(
          built.copy(content = SeparatingBounds.of(built.content, IndexBuild.BytesOfTask)))
      }.collect().toSeq
    } finally settings.destroy()
  }
}

private[sparkzorder] object IndexBuild {

  /** The least number of files for which a job reads the footers. */
  val JobFrom = 1000

  /** The results of so many files take some hundred megabytes with 32 columns of long texts. */
  private val FilesOfJob = 50000
  private val FilesOfTask = 500
  private val BytesOfTask = 64
  private val MaxTasks = 10000

  /**
   * If at least this many milliseconds lie between two writes of a file, the two versions have different
   * modification times, even if the file system stores whole seconds.
   */
  val TickMs = 2000L

  /**
   * True for a modification time in whole seconds, as many file systems and archives store it. Also true by chance for
   * one in a thousand other times.
   */
  def isCoarse(file: DataFile): Boolean = file.modified % 1000 == 0

  /**
   * Sets the modification times of files that have the same name, length and time to 0, so that lookups in the index
   * never find these files. A task of Spark gives the same name to its files in several partitions. Where times are
   * whole seconds, or where the task closes all its files at once, two such files may also have the same length and the
   * same time. If the two partitions then exchange their names (`mv p=1 x; mv p=2 p=1; mv x p=2`), each file would be
   * taken for the other file.
   *
   * @param files all files of a table
   */
  def withoutTwins(files: IndexedSeq[DataFile]): IndexedSeq[DataFile] = {
    def state(f: DataFile) = (f.path.getName, f.length, f.modified)
    // there may be millions of files, so only files with equal hashes are compared
    def hash(f: DataFile): Long =
      (f.path.getName.hashCode.toLong << 32) ^ (f.length * 31 + f.modified)
    val hashes = files.iterator.map(hash).toArray
    Arrays.sort(hashes)
    val same = hashes.indices.iterator.drop(1).filter(i => hashes(i) == hashes(i - 1))
      .map(hashes(_)).toSet
    val twins = if (same.isEmpty) Set.empty[(String, Long, Long)]
    else files.filter(f => same(hash(f))).groupBy(state).filter(_._2.size > 1).keySet
    if (twins.isEmpty) files
    else files.map { f =>
      if (!twins(state(f))) f
      else f.copy(status = new FileStatus(f.length, false, 0, 0L, 0L, f.path))
    }
  }
}

/** Makes entries from the footers of data files, in the driver or in a task. */
private final class EntryReader(
    root: String,
    choice: ColumnChoice,
    format: DataFormat,
    bounds: BoundsFromValues)
    extends Serializable {

  /** The footers with the path of each file below the root, and the paths of files that cannot be read. */
  def footers(
      files: Seq[DataFile],
      conf: Configuration): (Seq[(ScannedFile, String)], Seq[String]) = {
    val table = new Path(root)
    val read = files.zip(FooterReader.tryRead(files, conf, format))
    (
      read.flatMap {
        case (file, Success(footer)) => Relative.below(table, file.path).map(footer -> _)
        case _ => None
      },
      read.collect { case (file, Failure(_)) => file.path.toString })
  }

  /** Reads footers, and the values of columns of which the footers have no bounds. */
  def read(files: Seq[DataFile], conf: Configuration): BuiltIndex = {
    val (read, unreadable) = footers(files, conf)
    val ofFooter = new FooterEntries(choice)
    val entries = read.map { case (footer, path) =>
      bounds.completed(ofFooter.of(footer, path), footer, conf)
    }
    BuiltIndex(IndexContent.of(entries), unreadable)
  }
}
