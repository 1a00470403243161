package io.sparkzorder.write

import java.lang.reflect.InvocationTargetException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.datasources.FileFormatWriter
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}

import io.sparkzorder.util.{InExistingFolders, RawFiles}

/**
 * Files that a job wrote.
 *
 * @param files by committed tasks
 * @param shuffleBytes bytes that the job's shuffle wrote
 */
final case class Written(files: Seq[WrittenFile], shuffleBytes: Long)

/** Runs the job that writes a laid-out frame: task `i` writes file `i`, by Spark's file writer. */
object FileWriter {

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
        // no file goes here: the commit protocol names every file
        places.path(0, 0, ""),
        Map.empty,
        plan.output.take(columns))
      val (partitionColumns, bucketSpec, statsTrackers) = (Nil, None, Nil)
      runJob(
        session,
        plan,
        spec.writer,
        committer,
        outputSpec,
        configuration(session, places),
        partitionColumns,
        bucketSpec,
        statsTrackers,
        Map("compression" -> spec.codec, "maxRecordsPerFile" -> "0"))
      Written(committer.written, shuffleBytes(plan))
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
   * `FileFormatWriter.write` with the defaults for its last parameters. Spark 4.1.4 has one more of them, so a
   * call that is compiled with 4.1.3 is not found there.
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

  private def shuffleBytes(plan: SparkPlan): Long =
    plan.collect { case s: ShuffleExchangeExec => s.metrics("shuffleBytesWritten").value }.sum
}
