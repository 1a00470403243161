package io.sparkzorder.write

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}
import org.apache.parquet.hadoop.{ParquetOutputFormat, ParquetRecordWriter}
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.hadoop.codec.CodecConfig
import org.apache.parquet.hadoop.util.ContextUtil
import org.apache.parquet.io.api.RecordConsumer
import org.apache.parquet.schema.MessageType

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetWriteSupport}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * How a rewritten Parquet file looks.
 *
 * @param schema Parquet schema, that of the inputs
 * @param keyValues footer key-values of the inputs, without Spark's own
 * @param units sizes of row groups and pages
 */
final case class ParquetShape(
    schema: MessageType,
    keyValues: Map[String, String],
    override val codec: String,
    units: FileUnits)
    extends FileShape {
  private[sparkzorder] override def writer: FileFormat = new RewriteFormat(this)
}

/** Spark's Parquet writer with the Parquet schema and footer of the input files. */
private[sparkzorder] final class RewriteFormat(shape: ParquetShape) extends ParquetFileFormat {
  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType): OutputWriterFactory = {
    // sets the job up as for any Parquet write; only the writer itself is ours
    super.prepareWrite(session, job, options, dataSchema)
    val conf = ContextUtil.getConfiguration(job)
    conf.setLong(ParquetOutputFormat.BLOCK_SIZE, shape.units.rowGroupBytes)
    // by its name: Parquet has it since 1.15, so Spark 3.5 goes by the bytes alone
    conf.setInt("parquet.block.row.count.limit", shape.units.rowGroupRows)
    conf.setInt(ParquetOutputFormat.PAGE_ROW_COUNT_LIMIT, shape.units.pageRows)
    // every column has min/max: Parquet drops those of a chunk that have 4 KB together
    conf.setBoolean("parquet.column.statistics.enabled", true)
    conf.setInt("parquet.statistics.truncate.length", RewriteFormat.LongestBound)
    conf.setInt("parquet.columnindex.truncate.length", RewriteFormat.LongestPageBound)
    new RewriteWriterFactory(
      SerializedSchema(shape.schema),
      // a Map with default values or views would not serialise
      Map(shape.keyValues.toSeq: _*))
  }
}

private[sparkzorder] object RewriteFormat {
  private val LongestBound = 2000
  private val LongestPageBound = 64 // Parquet's default
}

private final class RewriteWriterFactory(
    schema: SerializedSchema,
    keyValues: Map[String, String])
    extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String =
    CodecConfig.from(context).getCodec.getExtension + ".parquet"

  override def newInstance(
      path: String,
      dataSchema: StructType,
      context: TaskAttemptContext): OutputWriter =
    new RewriteWriter(
      path,
      new RewriteSupport(schema.toMessageType, keyValues),
      dataSchema,
      context)
}

private final class RewriteWriter(
    override val path: String,
    support: WriteSupport[InternalRow],
    dataSchema: StructType,
    context: TaskAttemptContext)
    extends OutputWriter {
  private lazy val toUnsafe = UnsafeProjection.create(dataSchema)

  private val writer = new ParquetOutputFormat[InternalRow](support)
    .getRecordWriter(context, new Path(path))
    .asInstanceOf[ParquetRecordWriter[InternalRow]]

  override def write(row: InternalRow): Unit = row match {
    case unsafe: UnsafeRow => writer.write(null, unsafe)
    // PlainDecimals counts on how an UnsafeRow stores them
    case other => writer.write(null, toUnsafe(other))
  }

  override def close(): Unit = writer.close(context)
}

/** Spark's write support, with the schema and key-values replaced and values converted to fit. */
private final class RewriteSupport(target: MessageType, keyValues: Map[String, String])
    extends ParquetWriteSupport {
  private var spark: MessageType = _

  override def init(configuration: Configuration): WriteContext = {
    // with the true schema first: it goes into the footer
    val context = super.init(configuration)
    val merged = keyValues ++ context.getExtraMetaData.asScala
    val plain = new Configuration(configuration)
    val json = configuration.get(ParquetWriteSupport.SPARK_ROW_SCHEMA)
    val schema = DataType.fromJson(json).asInstanceOf[StructType]
    ParquetWriteSupport.setSchema(PlainDecimals.in(schema, target), plain)
    spark = super.init(plain).getSchema
    new WriteContext(target, merged.asJava)
  }

  override def prepareForWrite(consumer: RecordConsumer): Unit =
    super.prepareForWrite(
      if (PhysicalTypes.needed(target, spark)) new PhysicalTypes(consumer, target, spark)
      else consumer)
}
