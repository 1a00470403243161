// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.ByteArrayInputStream
import java.util.{Collections, UUID}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}
import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.{ParquetOutputFormat, ParquetRecordWriter}
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.hadoop.codec.CodecConfig
import org.apache.parquet.hadoop.metadata.FileMetaData
import org.apache.parquet.hadoop.util.ContextUtil
import org.apache.parquet.io.api.RecordConsumer
import org.apache.parquet.schema.MessageType

import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetFileFormat,
  ParquetReadSupport,
  ParquetWriteSupport
}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.table.schema.KeptKeys

/**
 * How a rewritten Parquet file looks.
 *
 * @param schema Parquet schema, that of the inputs
 * @param keys footer key-values of the inputs, without Spark's own
 * @param bloomFilters columns that get a Bloom filter
 * @param units sizes of row groups and pages
 * @param notesSparkSchema true if the footers of the new files note Spark's types. Where no input
 *   notes them, readers infer the types by their settings, and should do so afterwards
 * @param ordering paths of the ordering columns, with dots between the names
 */
private[sparkzorder] final case class ParquetSpec(
    schema: MessageType,
    keys: KeptKeys,
    bloomFilters: BloomFilters,
    override val codec: String,
    units: FileUnits,
    notesSparkSchema: Boolean,
    ordering: Set[String])
    extends OutputSpec {

  /** What tells the files of this run from those of others in the memory of an executor. */
  private[write] val run: String = UUID.randomUUID.toString
  override def lost: Seq[String] = keys.lost ++ bloomFilters.lost
  override def pagesOf(rows: Long): Int = units.pagesOf(rows)
  private[sparkzorder] override def writer: FileFormat = new ParquetRewriteFormat(this)
}

/** Spark's Parquet writer with the Parquet schema and footer of the input files. */
private[sparkzorder] final class ParquetRewriteFormat(spec: ParquetSpec) extends ParquetFileFormat {
  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType): OutputWriterFactory = {
    // sets the job up as for any Parquet write; only the writer itself is ours
    super.prepareWrite(session, job, options, dataSchema)
    val conf = ContextUtil.getConfiguration(job)
    conf.setLong(ParquetOutputFormat.BLOCK_SIZE, spec.units.rowGroupBytes)
    spec.bloomFilters.enable(conf)
    ParquetRewriteFormat.limitRows(spec.units, conf)
    // every column gets min/max; Parquet drops both for a chunk where they have 4 KB together
    conf.setBoolean("parquet.column.statistics.enabled", true)
    conf.setInt("parquet.statistics.truncate.length", ParquetRewriteFormat.MaxBoundBytes)
    conf.setInt("parquet.columnindex.truncate.length", ParquetRewriteFormat.MaxPageBoundBytes)
    new ParquetRewriteFactory(
      SerializedSchema(spec.schema),
      // a Map with default values or views would not serialise
      Map(spec.keys.values.toSeq: _*),
      spec.notesSparkSchema,
      spec.run,
      spec.ordering,
      spec.units)
  }
}

private[sparkzorder] object ParquetRewriteFormat {
  private val MaxBoundBytes = 2000
  private val MaxPageBoundBytes = 64 // Parquet's default

  def limitRows(units: FileUnits, conf: Configuration): Unit = {
    // the key is spelled out, because its constant exists only since Parquet 1.15; with Spark 3.5
    // only the bytes limit a row group
    conf.setInt("parquet.block.row.count.limit", units.rowGroupRows)
    conf.setInt(ParquetOutputFormat.PAGE_ROW_COUNT_LIMIT, units.pageRows)
    BloomFilters.limitBytes(units, conf)
  }
}

private final class ParquetRewriteFactory(
    schema: SerializedSchema,
    keyValues: Map[String, String],
    notesSparkSchema: Boolean,
    run: String,
    ordering: Set[String],
    units: FileUnits)
    extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String =
    CodecConfig.from(context).getCodec.getExtension + ".parquet"

  override def newInstance(
      path: String,
      dataSchema: StructType,
      context: TaskAttemptContext): OutputWriter =
    new ParquetRewriteWriter(
      path,
      new RewriteSupport(schema.toMessageType, keyValues, notesSparkSchema, dataSchema),
      DictionaryFallback.of(run, ordering),
      units,
      context)
}

private final class ParquetRewriteWriter(
    override val path: String,
    support: WriteSupport[InternalRow],
    dictionaries: DictionaryFallback,
    units: FileUnits,
    context: TaskAttemptContext)
    extends OutputWriter {
  private val conf = ContextUtil.getConfiguration(context)
  private val plain = dictionaries.next()
  plain.foreach(DictionaryFallback.switchOff(_, conf))

  // created with the first row, when the task knows how many rows its file gets
  private lazy val writer = {
    RowsOfTask.known.foreach(rows => ParquetRewriteFormat.limitRows(units.fitted(rows), conf))
    new ParquetOutputFormat[InternalRow](support)
      .getRecordWriter(context, new Path(path))
      .asInstanceOf[ParquetRecordWriter[InternalRow]]
  }

  override def write(row: InternalRow): Unit = writer.write(null, row)

  override def close(): Unit = {
    writer.close(context)
    if (plain.isEmpty) DictionaryFallback.footer(new Path(path), conf).foreach(dictionaries.learn)
  }
}

/**
 * Spark's write support, with the schema and key-values replaced and values converted to fit.
 *
 * @param dataSchema the columns to write; a row may have more columns at its end
 */
private final class RewriteSupport(
    target: MessageType,
    keyValues: Map[String, String],
    notesSparkSchema: Boolean,
    dataSchema: StructType)
    extends ParquetWriteSupport {
  private val flat = FlatRows.of(dataSchema)
  // Spark writes all columns of a row
  private lazy val columns = UnsafeProjection.create(dataSchema)
  private var spark: MessageType = _
  private var out: RecordConsumer = _

  override def init(configuration: Configuration): WriteContext = {
    val context = super.init(configuration)
    spark = context.getSchema
    val ofSpark = context.getExtraMetaData.asScala
      .filter { case (key, _) => notesSparkSchema || key != ParquetReadSupport.SPARK_METADATA_KEY }
    new WriteContext(target, (keyValues ++ ofSpark).asJava)
  }

  override def prepareForWrite(consumer: RecordConsumer): Unit = {
    out =
      if (PhysicalTypes.needed(target, spark)) new PhysicalTypes(consumer, target, spark)
      else consumer
    super.prepareForWrite(out)
  }

  override def write(row: InternalRow): Unit =
    if (flat.isDefined) flat.get.write(row, out)
    else super.write(if (row.numFields > dataSchema.length) columns(row) else row)
}

/**
 * A Parquet schema that can travel to tasks, as the bytes of a footer that holds nothing else.
 * (The textual form cannot carry every column name.)
 */
private[sparkzorder] final class SerializedSchema private (bytes: Array[Byte])
    extends Serializable {
  def toMessageType: MessageType =
    new ParquetMetadataConverter(SerializedSchema.options)
      .readParquetMetadata(new ByteArrayInputStream(bytes), ParquetMetadataConverter.NO_FILTER)
      .getFileMetaData
      .getSchema
}

private[sparkzorder] object SerializedSchema {

  /**
   * Without options Parquet 1.17 takes -1 for the greatest length of a footer, and refuses it. To make
   * them, Parquet reads all of Hadoop's settings, which takes longer than to write a small file.
   */
  private lazy val options = ParquetReadOptions.builder().build()

  def apply(schema: MessageType): SerializedSchema = {
    val meta = new FileMetaData(schema, Collections.emptyMap[String, String](), "spark-zorder")
    new SerializedSchema(EmptyDataFile.footer(meta))
  }
}

/**
 * The number of rows that a task writes into its file.
 *
 * A task reads the rows of its file from the shuffle and sorts them. The sort ends only when all rows
 * are read, so Spark's own count of the rows read is complete before the first row is written. Only
 * the sizes of pages and row groups follow from it. A shuffle manager that does not count leaves the
 * planned sizes.
 */
private[write] object RowsOfTask {

  /** None outside of a task, and where nothing was counted. */
  def known: Option[Long] =
    Option(TaskContext.get()).map(_.taskMetrics().shuffleReadMetrics.recordsRead).filter(_ > 0)
}
