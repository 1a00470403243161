package io.sparkzorder.index

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.util.SerializableConfiguration

import io.sparkzorder.table.{DataFile, DataFormat}
import io.sparkzorder.table.stats.{FooterReader, ScannedFile}

/** A file to be read by a task; Hadoop's status of a file drags its permissions along. */
private final case class FileToRead(path: String, length: Long, modified: Long)

/** What was read of some files, and how many could not be read. */
final case class BuiltIndex(content: IndexContent, unreadable: Seq[String])

/**
 * Reads footers and makes an index of them: on threads of the driver, or by a job when there are many.
 *
 * @param root the table's directory, qualified
 * @param jobFrom number of files from which on a job reads them
 * @param format of the data files
 */
final class IndexBuild(
    session: Session,
    root: Path,
    choice: ColumnChoice,
    jobFrom: Int = IndexBuild.JobFrom,
    format: DataFormat) {
  private val conf = session.sessionState.newHadoopConf()
  // bounds of strings that old writers made in signed order are none
  conf.setBoolean("parquet.strings.signed-min-max.enabled", false)

  /** A file that cannot be read is left out: queries read it then, and say what is wrong with it. */
  def of(files: Seq[DataFile]): BuiltIndex =
    if (files.size < jobFrom) IndexBuild.read(files, root.toString, choice, conf, format)
    else byJob(files.map(f => FileToRead(f.path.toString, f.length, f.modified)))

  private def byJob(files: Seq[FileToRead]): BuiltIndex = {
    val sc = session.sparkContext
    val tasks = math.max(1, math.min(files.size / IndexBuild.FilesOfTask, IndexBuild.MaxTasks))
    val settings = sc.broadcast(new SerializableConfiguration(conf))
    val (directory, columns, kind) = (root.toString, choice, format)
    val built = sc.parallelize(files, tasks).mapPartitions { part =>
      val listed = part.map(f => IndexBuild.dataFile(f)).toIndexedSeq
      Iterator.single(IndexBuild.read(listed, directory, columns, settings.value.value, kind))
    }.collect()
    settings.destroy()
    BuiltIndex(
      IndexContent.concat(built.map(_.content).toIndexedSeq),
      built.flatMap(_.unreadable).toIndexedSeq)
  }
}

object IndexBuild {

  /** From so many files on a job reads the footers. */
  val JobFrom = 1000
  private val FilesOfTask = 500
  private val MaxTasks = 10000

  private[index] def read(
      files: Seq[DataFile],
      root: String,
      choice: ColumnChoice,
      conf: Configuration,
      format: DataFormat): BuiltIndex = {
    val table = new Path(root)
    val read: Seq[(DataFile, Try[ScannedFile])] =
      files.zip(FooterReader.tryRead(files, conf, format))
    val making = new FooterEntries(choice)
    val entries = read.flatMap {
      case (file, Success(footer)) =>
        Relative.below(table, file.path).map(making.of(footer, _))
      case _ => None
    }
    BuiltIndex(
      IndexContent.of(entries),
      read.collect { case (file, Failure(_)) => file.path.toString })
  }

  private def dataFile(f: FileToRead): DataFile =
    DataFile.alone(new FileStatus(f.length, false, 0, 0L, f.modified, new Path(f.path)))
}
