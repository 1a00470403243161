package io.sparkzorder.write

import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.datasources.FileFormatWriter
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}

import io.sparkzorder.util.RawFiles

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
      FileFormatWriter.write(
        sparkSession = session,
        plan = plan,
        fileFormat = spec.writer,
        committer = committer,
        outputSpec = FileFormatWriter.OutputSpec(
          // no file goes here: the commit protocol names every file
          places.path(0, 0, ""),
          Map.empty,
          plan.output.take(columns)),
        hadoopConf = RawFiles.writeRaw(session.sessionState.newHadoopConf()),
        partitionColumns = Nil,
        bucketSpec = None,
        statsTrackers = Nil,
        options = Map("compression" -> spec.codec, "maxRecordsPerFile" -> "0"))
      Written(committer.written, shuffleBytes(plan))
    }
  }

  private def shuffleBytes(plan: SparkPlan): Long =
    plan.collect { case s: ShuffleExchangeExec => s.metrics("shuffleBytesWritten").value }.sum
}
