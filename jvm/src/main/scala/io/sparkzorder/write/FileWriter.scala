// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.{FileNotFoundException, IOException}
import java.lang.reflect.InvocationTargetException
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable.ArrayBuffer
import scala.util.Try

import org.apache.commons.io.IOUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{JobContext, OutputCommitter, TaskAttemptContext}

import org.apache.spark.internal.io.{FileCommitProtocol, FileNameSpec}
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage
import org.apache.spark.mapred.SparkHadoopMapRedUtil
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.datasources.FileFormatWriter
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}

import io.sparkzorder.util.{Digits, Durable, InExistingFolders, RawFiles}

/**
 * Files that a job wrote.
 *
 * @param files the files of committed tasks
 * @param shuffleBytes the number of bytes that the job's shuffle wrote
 */
private[sparkzorder] final case class Written(files: Seq[WrittenFile], shuffleBytes: Long)

/** Runs the job that writes a laid-out frame by Spark's `FileFormatWriter`. Task `i` writes file `i`. */
private[sparkzorder] object FileWriter {

  /**
   * @param columns how many columns of the frame are written, from the first one on
   * @param places where the files go
   */
  def write(
      session: Session,
      frame: Frame,
      columns: Int,
      spec: OutputSpec,
      places: FilePlaces): Written = {
    val committer = new StagedCommitProtocol(places)
    val execution: QueryExecution = frame.queryExecution
    SQLExecution.withNewExecutionId(execution, Some("zorder")) {
      val plan = execution.executedPlan
      val outputSpec = FileFormatWriter.OutputSpec(
        // Spark requires a path, but the commit protocol names every file
        places.path(0, 0, ""),
        Map.empty,
        plan.output.take(columns))
      val (partitionColumns, bucketSpec, statsTrackers) = (Nil, None, Nil)
      try runJob(
          session,
          plan,
          if (places.areVisible) new TimelyFormat(spec.writer, places) else spec.writer,
          committer,
          outputSpec,
          configuration(session, places),
          partitionColumns,
          bucketSpec,
          statsTrackers,
          Map("compression" -> spec.codec, "maxRecordsPerFile" -> "0"))
      catch {
        case e: Throwable =>
          Try(endShuffles(plan)).failed.foreach(e.addSuppressed)
          throw e
      }
      Written(committer.written, endShuffles(plan))
    }
  }

  private def configuration(session: Session, places: FilePlaces): Configuration = {
    val conf = RawFiles.writeRaw(session.sessionState.newHadoopConf())
    if (places.makesFolders) conf
    else {
      val scheme = new Path(places.path(0, 0, "")).getFileSystem(conf).getUri.getScheme
      InExistingFolders.configure(conf, scheme)
    }
  }

  /**
   * Calls `FileFormatWriter.write` with the defaults for its last parameters. Spark 4.1.4 has one more
   * parameter, so it lacks the method to which a call compiled with 4.1.3 would be bound.
   */
  private def runJob(arguments: AnyRef*): Unit = {
    val writer = FileFormatWriter
    val write = writer.getClass.getMethods.find(_.getName == "write").get
    val defaults = (arguments.size + 1 to write.getParameterCount).map(i =>
      writer.getClass.getMethod(s"write$$default$$$i").invoke(writer))
    try {
      val _ = write.invoke(writer, arguments ++ defaults: _*)
    } catch { case e: InvocationTargetException => throw e.getCause }
  }

  /**
   * Removes the shuffle files of a plan that has run or failed, and returns how many bytes were written to them.
   * Spark itself removes the files when the driver's garbage collector has found them unused, which may be many
   * batches later: 17 GB were left beside the 2 GB of one batch.
   */
  def endShuffles(plan: SparkPlan): Long = plan.collect { case s: ShuffleExchangeLike =>
    SparkLine.shuffleId(s).foreach(SparkPrivate.removeShuffle(plan.session.sparkContext, _))
    s.metrics.get("shuffleBytesWritten").fold(0L)(_.value)
  }.sum
}

/**
 * A file that a task has written.
 *
 * @param file number of the file in the grid
 * @param path the path to which the task wrote it
 * @param extension the end of its final name, such as `-c000.zstd.parquet`
 */
private[sparkzorder] final case class WrittenFile(file: Int, path: String, extension: String)

/** Where tasks write: the path of a file for one attempt. */
private[sparkzorder] trait FilePlaces extends Serializable {

  /** The path for one attempt. Fails for a number beyond the files, because such a task must have no rows. */
  def path(file: Int, attempt: Int, extension: String): String

  /** True if files are visible as soon as they are written. */
  def areVisible: Boolean

  /** True when the statement has ended, so that a late attempt must not write a visible file. */
  def isOver(conf: Configuration): Boolean

  /** True when tasks create the directories of their files. */
  def makesFolders: Boolean
}

private[sparkzorder] object FilePlaces {

  /** The beginning of the name of a file. */
  def part(file: Int): String = s"part-${Digits.padded(file, 5)}"
}

/**
 * Tasks write into the hidden directories of the run, one in each folder. In place, the publish renames the files. The
 * files of a shadow stay there until PUBLISH LAYOUT.
 *
 * @param directories the hidden directory of each file
 * @param name the name of a file, by the number of the file and the attempt
 * @param makesFolders false if a missing directory means that the table was dropped
 */
private[sparkzorder] final case class HiddenPlaces(
    directories: Array[String],
    name: (Int, Int) => String,
    override val makesFolders: Boolean)
    extends FilePlaces {
  override def areVisible: Boolean = false
  override def isOver(conf: Configuration): Boolean = false

  override def path(file: Int, attempt: Int, extension: String): String =
    s"${directories(file)}/${name(file, attempt)}"
}

/**
 * Tasks write straight to the final paths. This is safe as long as nobody reads the INTO directory before the
 * statement has ended. The directory has no `_SUCCESS` until then. It also works on file systems that cannot rename
 * files.
 *
 * @param folders folder of each file, relative to `root`
 * @param claim path of a file that exists while the statement runs
 * @param claimedBy the content of that file. After the statement has died and the directory was emptied, the claim of
 *   the next statement has another content, and a late task of the dead statement must not write beside it
 */
private[sparkzorder] final case class IntoPlaces(
    root: String,
    folders: Array[String],
    runId: String,
    claim: String,
    claimedBy: String)
    extends FilePlaces {
  override def areVisible: Boolean = true

  override def isOver(conf: Configuration): Boolean = {
    val path = new Path(claim)
    try {
      val in = path.getFileSystem(conf).open(path)
      try new String(IOUtils.toByteArray(in), UTF_8) != claimedBy
      finally in.close()
    } catch { case _: FileNotFoundException => true }
  }

  override def makesFolders: Boolean = true

  override def path(file: Int, attempt: Int, extension: String): String = {
    val folder = if (folders(file).isEmpty) "" else folders(file) + "/"
    s"$root/$folder${FilePlaces.part(file)}-$runId-$attempt$extension"
  }
}

/**
 * Names the files of a run by file and task attempt, so that two attempts never write the same
 * file, and reports the files to the driver. The driver uses only the files that committed tasks have
 * reported. No file is renamed here.
 *
 * A task commits only if Spark's commit coordinator allows its attempt, unless the setting
 * `spark.hadoop.outputCommitCoordination.enabled` is false. The coordinator allows one attempt of each task, and none
 * after the job. A refused attempt, for example on a machine that hung, deletes its file. With INTO, files are visible
 * as soon as they are written, so with the file of a second attempt readers would see the rows of the task twice.
 */
private[sparkzorder] final class StagedCommitProtocol(places: FilePlaces)
    extends FileCommitProtocol
    with Serializable {

  // in a task: the files that the task has begun
  @transient private var begun: ArrayBuffer[WrittenFile] = _
  // on the driver: the files of committed tasks
  @transient private var committed: Seq[WrittenFile] = Nil

  /** The files of all committed tasks; on the driver, after the job. */
  def written: Seq[WrittenFile] = committed

  override def setupJob(jobContext: JobContext): Unit = ()

  override def commitJob(jobContext: JobContext, taskCommits: Seq[TaskCommitMessage]): Unit =
    committed = taskCommits.flatMap(_.obj.asInstanceOf[Seq[WrittenFile]])

  // the caller deletes the files: the hidden directories, or with INTO all files with the id of the run
  override def abortJob(jobContext: JobContext): Unit = ()

  override def setupTask(taskContext: TaskAttemptContext): Unit = begun = ArrayBuffer.empty

  override def newTaskTempFile(
      taskContext: TaskAttemptContext,
      dir: Option[String],
      ext: String): String = {
    // a second file of a task would get the path of the first one, so neither dynamic partitions nor a limit of
    // records may split the rows of a task
    require(dir.isEmpty && begun.isEmpty, s"task writes more than one file: $dir, $begun")
    if (places.isOver(taskContext.getConfiguration)) {
      throw new IOException("the statement has ended: this attempt comes too late")
    }
    val id = taskContext.getTaskAttemptID
    val file = WrittenFile(
      id.getTaskID.getId,
      places.path(id.getTaskID.getId, id.getId, ext),
      ext)
    begun += file
    file.path
  }

  override def newTaskTempFile(
      taskContext: TaskAttemptContext,
      dir: Option[String],
      spec: FileNameSpec): String = newTaskTempFile(taskContext, dir, spec.suffix)

  override def newTaskTempFileAbsPath(
      taskContext: TaskAttemptContext,
      absoluteDir: String,
      ext: String): String =
    throw new UnsupportedOperationException("OPTIMIZE writes no partition at a location of its own")

  override def commitTask(taskContext: TaskAttemptContext): TaskCommitMessage = {
    begun.foreach { f =>
      val path = new Path(f.path)
      Durable.file(path.getFileSystem(taskContext.getConfiguration), path)
    }
    val id = taskContext.getTaskAttemptID
    SparkHadoopMapRedUtil.commitTask(
      new StagedCommitProtocol.Authorisation(abortTask),
      taskContext,
      id.getJobID.getId,
      id.getTaskID.getId)
    new TaskCommitMessage(begun.toList)
  }

  override def abortTask(taskContext: TaskAttemptContext): Unit =
    if (begun != null) {
      begun.foreach { f =>
        val path = new Path(f.path)
        path.getFileSystem(taskContext.getConfiguration).delete(path, false)
      }
    }
}

private object StagedCommitProtocol {

  /**
   * A Hadoop committer that only passes the refusal of a task on. It exists because Spark's commit coordinator
   * can be asked only through a Hadoop committer.
   */
  private final class Authorisation(refused: TaskAttemptContext => Unit) extends OutputCommitter {
    override def setupJob(job: JobContext): Unit = ()
    override def setupTask(task: TaskAttemptContext): Unit = ()
    override def needsTaskCommit(task: TaskAttemptContext): Boolean = true
    override def commitTask(task: TaskAttemptContext): Unit = ()
    override def abortTask(task: TaskAttemptContext): Unit = refused(task)
  }
}
