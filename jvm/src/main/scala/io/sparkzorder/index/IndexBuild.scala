// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.util.SerializableConfiguration

import io.sparkzorder.table.{DataFile, DataFormat}
import io.sparkzorder.table.stats.{FooterReader, ScannedFile}

/**
 * A data file whose footer a task reads. Tasks get this class in place of Hadoop's FileStatus, which would
 * also serialize the permissions of the file.
 */
private final case class FileToRead(path: String, length: Long, modified: Long)

/** The index entries of the files whose footers could be read, and the paths of the other files. */
private[sparkzorder] final case class BuiltIndex(content: IndexContent, unreadable: Seq[String])

/**
 * Reads the footers of data files and builds an index from them. Threads of the driver read the footers, or
 * a job if there are many files.
 *
 * @param root the directory of the table, as a qualified path
 * @param jobFrom the least number of files for which a job reads the footers
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
    readsInt96: Boolean = false) {
  private val reader = new EntryReader(root.toString, choice, format, readsInt96)
  private val conf = session.sessionState.newHadoopConf()
  // old writers compared strings as signed bytes, and with this setting Parquet ignores their bounds
  conf.setBoolean("parquet.strings.signed-min-max.enabled", false)

  /**
   * Builds the index of the files. A file whose footer cannot be read gets no entry, so a query reads the
   * file and reports the error.
   */
  def of(files: Seq[DataFile]): BuiltIndex =
    if (files.size < jobFrom && !readsInt96) reader.read(files, conf)
    else if (files.isEmpty) BuiltIndex(IndexContent.empty, Nil)
    else byJob(files.map(f => FileToRead(f.path.toString, f.length, f.modified)))

  private def byJob(files: Seq[FileToRead]): BuiltIndex = {
    val sc = session.sparkContext
    val filesOfTask = if (readsInt96) 1 else IndexBuild.FilesOfTask
    val tasks = math.max(1, math.min(files.size / filesOfTask, IndexBuild.MaxTasks))
    val settings = sc.broadcast(new SerializableConfiguration(conf))
    // the closure must not hold this object, which has the session
    val reader = this.reader
    val built = sc.parallelize(files, tasks).mapPartitions { part =>
      val listed = part.map(f =>
        DataFile.alone(new FileStatus(f.length, false, 0, 0L, f.modified, new Path(f.path))))
      val built = reader.read(listed.toIndexedSeq, settings.value.value)
      // more bytes are kept, because the bounds of other tasks will lie between the bounds of this task
      Iterator.single(
        built.copy(content = SeparatingBounds.of(built.content, IndexBuild.BytesOfTask)))
    }.collect()
    settings.destroy()
    BuiltIndex(
      IndexContent.concat(built.map(_.content).toIndexedSeq),
      built.flatMap(_.unreadable).toIndexedSeq)
  }
}

private[sparkzorder] object IndexBuild {

  /** The least number of files for which a job reads the footers. */
  val JobFrom = 1000
  private val FilesOfTask = 500
  private val BytesOfTask = 64
  private val MaxTasks = 10000

  /**
   * If a file is rewritten at least so long after it was written, the new version has another modification
   * time, even if the file system stores whole seconds.
   */
  val TickMs = 2000L

  /** True for a modification time in whole seconds, as many file systems and archives store it. */
  def isCoarse(file: DataFile): Boolean = file.modified % 1000 == 0

  /**
   * Sets the modification times of indistinguishable files to 0, so that lookups in the index never find these
   * files. A task of Spark gives the same name to its files in several partitions, and such files may also have
   * the same length and the same time in whole seconds. After two partitions exchange their names, each file
   * would be taken for the other file.
   *
   * @param files all files of a table
   */
  def withoutTwins(files: IndexedSeq[DataFile]): IndexedSeq[DataFile] = {
    def state(f: DataFile) = (f.path.getName, f.length, f.modified)
    val twins = files.filter(isCoarse).groupBy(state).filter(_._2.size > 1).keySet
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
    readsInt96: Boolean)
    extends Serializable {

  def read(files: Seq[DataFile], conf: Configuration): BuiltIndex = {
    val table = new Path(root)
    val read: Seq[(DataFile, Try[ScannedFile])] =
      files.zip(FooterReader.tryRead(files, conf, format))
    val ofFooter = new FooterEntries(choice)
    val entries = read.flatMap {
      case (file, Success(footer)) =>
        Relative.below(table, file.path).map(ofFooter.of(footer, _)).map { entry =>
          if (readsInt96) Int96Bounds.added(entry, footer, conf) else entry
        }
      case _ => None
    }
    BuiltIndex(
      IndexContent.of(entries),
      read.collect { case (file, Failure(_)) => file.path.toString })
  }
}
