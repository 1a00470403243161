// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.IOException

import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}

import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * A format whose tasks neither create nor complete a file after the statement has ended.
 *
 * With INTO, files are visible as soon as they are there. A Parquet file is created with its first row, so an
 * attempt that hung while it sorted would create its file late. (An ORC file is created with its writer, just after
 * [[StagedCommitProtocol]] has checked that the statement has not ended.) On an object store, each file appears
 * when it is closed, and Spark closes the file of a killed attempt before it deletes the file. If the process ends
 * between the two, the file would stay and double its rows.
 */
private[write] final class TimelyFormat(format: FileFormat, places: FilePlaces)
    extends FileFormat {

  override def inferSchema(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus]): Option[StructType] = format.inferSchema(session, options, files)

  override def supportDataType(dataType: DataType): Boolean = format.supportDataType(dataType)
  override def supportFieldName(name: String): Boolean = format.supportFieldName(name)

  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType): OutputWriterFactory =
    new TimelyFactory(format.prepareWrite(session, job, options, dataSchema), places)
}

private final class TimelyFactory(factory: OutputWriterFactory, places: FilePlaces)
    extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String =
    factory.getFileExtension(context)

  override def newInstance(
      path: String,
      dataSchema: StructType,
      context: TaskAttemptContext): OutputWriter = {
    def isLate = Option(TaskContext.get()).exists(_.isInterrupted()) ||
      places.isOver(context.getConfiguration)
    new TimelyWriter(factory.newInstance(path, dataSchema, context), () => isLate)
  }
}

/** @param isLate true if the attempt was killed, or if the statement has ended */
private[write] final class TimelyWriter(writer: OutputWriter, isLate: () => Boolean)
    extends OutputWriter {
  private var hasBegun = false

  override def path(): String = writer.path()

  override def write(row: InternalRow): Unit = {
    if (!hasBegun) {
      requireInTime()
      hasBegun = true
    }
    writer.write(row)
  }

  /**
   * A late file is not closed, because closing it would complete it. Spark then deletes the file. The open writer
   * cannot be aborted either: neither Spark's nor Parquet's class gives access to its stream. So the process keeps the
   * buffers of the writer, and a store keeps the uploaded parts until one of its rules removes them.
   */
  override def close(): Unit = {
    requireInTime()
    writer.close()
  }

  private def requireInTime(): Unit =
    if (isLate()) throw new IOException(s"this attempt comes too late to write ${path()}")
}
