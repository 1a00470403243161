// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.nio.charset.StandardCharsets.ISO_8859_1

import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.NullWritable
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}
import org.apache.orc.{OrcConf, OrcFile, TypeDescription}
import org.apache.orc.mapred.{OrcOutputFormat, OrcStruct}
import org.apache.orc.mapreduce.OrcMapreduceRecordWriter

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.orc.{OrcFileFormat, OrcSerializer, OrcUtils}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.table.schema.KeptKeys

/**
 * The form of a rewritten ORC file.
 *
 * @param types ORC schema of the file, made from the schemas of the inputs by `OrcOutput`
 * @param keys user metadata of the inputs, without Spark's own
 * @param units sizes of stripes and strides; stripes are the row groups of ORC, strides are its
 *   pages
 * @param bloomFilters with the settings of the table for ORC's writer
 */
private[sparkzorder] final case class OrcSpec(
    types: TypeDescription,
    keys: KeptKeys,
    override val codec: String,
    units: FileUnits,
    bloomFilters: OrcBloomFilters)
    extends OutputSpec {
  override def lost: Seq[String] = keys.lost ++ bloomFilters.lost
  override def writer: FileFormat = new OrcRewriteFormat(this)
}

/** Spark's ORC writer with the ORC schema and user metadata of the input files. */
private final class OrcRewriteFormat(spec: OrcSpec) extends OrcFileFormat {
  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType): OutputWriterFactory = {
    // Spark's own format sets the job up as for any ORC write. Only the writer itself is ours.
    val ofSpark = super.prepareWrite(session, job, options, dataSchema)
    val conf = job.getConfiguration
    spec.bloomFilters.settings.foreach { case (key, value) => conf.set(key, value) }
    OrcConf.STRIPE_SIZE.setLong(conf, spec.units.rowGroupBytes)
    OrcConf.STRIPE_ROW_COUNT.setLong(conf, spec.units.rowGroupRows.toLong)
    // Row indexes are always written. Without row indexes, nothing could be skipped inside a file.
    OrcConf.ENABLE_INDEXES.setBoolean(conf, true)
    OrcConf.ROW_INDEX_STRIDE.setLong(conf, spec.units.pageRows.toLong)
    new OrcRewriteFactory(ofSpark, spec.types, Map(spec.keys.values.toSeq: _*))
  }
}

private final class OrcRewriteFactory(
    ofSpark: OutputWriterFactory,
    types: TypeDescription,
    keyValues: Map[String, String])
    extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String =
    ofSpark.getFileExtension(context)

  override def newInstance(
      path: String,
      dataSchema: StructType,
      context: TaskAttemptContext): OutputWriter =
    new OrcRewriteWriter(path, types, keyValues, dataSchema, context)
}

private final class OrcRewriteWriter(
    override val path: String,
    types: TypeDescription,
    keyValues: Map[String, String],
    dataSchema: StructType,
    context: TaskAttemptContext)
    extends OutputWriter {
  private val serializer = new OrcSerializer(dataSchema)

  private val writer = {
    val options = OrcOutputFormat.buildOptions(context.getConfiguration).setSchema(types)
    val file = OrcFile.createWriter(new Path(path), options)
    keyValues.foreach { case (k, v) => file.addUserMetadata(k, ISO_8859_1.encode(v)) }
    OrcUtils.addSparkVersionMetadata(file)
    new OrcMapreduceRecordWriter[OrcStruct](file)
  }

  override def write(row: InternalRow): Unit =
    writer.write(NullWritable.get(), serializer.serialize(row))

  override def close(): Unit = writer.close(context)
}
