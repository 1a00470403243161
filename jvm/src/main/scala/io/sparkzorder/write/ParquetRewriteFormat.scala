// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.ByteArrayInputStream
import java.util.{Collections, LinkedHashMap => JLinkedHashMap, Map => JMap, UUID}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}
import org.apache.parquet.{HadoopReadOptions, ParquetReadOptions}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.{ParquetFileReader, ParquetOutputFormat, ParquetRecordWriter}
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.codec.CodecConfig
import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, FileMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.{ContextUtil, HadoopInputFile}
import org.apache.parquet.schema.MessageType

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types.StructType

import io.sparkzorder.table.schema.KeptKeys

/**
 * The form of a rewritten Parquet file.
 *
 * @param schema the Parquet schema of the new files, which is made from the schemas of the inputs
 * @param keys footer key-values of the inputs, without Spark's own
 * @param bloomFilters columns that get a Bloom filter
 * @param units sizes of row groups and pages
 * @param notesSparkSchema true if the footers of the new files note Spark's types. If no input notes the
 *   types, readers infer them by their settings, and should still do so for the new files
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

  /** A random id by which an executor finds what its JVM has learned of dictionaries. It is not the id of the run. */
  private[write] val learningId: String = UUID.randomUUID.toString
  override def lost: Seq[String] = keys.lost ++ bloomFilters.lost
  override def pagesOf(rows: Long): Int = units.pagesOf(rows)
  override def writer: FileFormat = new ParquetRewriteFormat(this)
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
    // every column gets min and max; Parquet drops both from a chunk if they have 4 KB or more together
    conf.setBoolean("parquet.column.statistics.enabled", true)
    conf.setInt("parquet.statistics.truncate.length", ParquetRewriteFormat.MaxBoundBytes)
    conf.setInt("parquet.columnindex.truncate.length", ParquetRewriteFormat.MaxPageBoundBytes)
    new ParquetRewriteFactory(
      SerializedSchema(spec.schema),
      // a Map with default values or views would not serialise
      Map(spec.keys.values.toSeq: _*),
      spec.notesSparkSchema,
      spec.learningId,
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

  /** The footer of a complete file. */
  def footerOf(path: Path, conf: Configuration): ParquetMetadata = {
    // without options, Parquet reads all of Hadoop's settings again
    val options = HadoopReadOptions.builder(conf).build()
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(path, conf), options)
    try reader.getFooter
    finally reader.close()
  }
}

private final class ParquetRewriteFactory(
    schema: SerializedSchema,
    keyValues: Map[String, String],
    notesSparkSchema: Boolean,
    learningId: String,
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
      DictionaryFallback.of(learningId, ordering),
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
   * Without options, Parquet 1.17 takes -1 for the greatest length of a footer, and then refuses the -1. The
   * options are made once, because Parquet reads all of Hadoop's settings for them, which takes longer than to
   * write a small file.
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
 * the sizes of pages and row groups depend on this count. With a shuffle manager that does not count, the sizes
 * are the planned ones.
 */
private[write] object RowsOfTask {

  /** None outside of a task, and where nothing was counted. */
  def known: Option[Long] =
    Option(TaskContext.get()).map(_.taskMetrics().shuffleReadMetrics.recordsRead).filter(_ > 0)
}

/**
 * Learns from the first files of a run for which columns Parquet drops the dictionary, so that the next
 * files do not build one in vain.
 *
 * Parquet starts a dictionary for each column of each row group. It throws the dictionary away after
 * the first page if the dictionary saves no bytes ("falls back"). The values of that page are hashed
 * and then written once more. A column that fell back in every row group of [[Learned]] files of
 * this JVM is written plainly at once in the next files. Each [[Again]]th file is written with all
 * dictionaries, and a column that kept one in any row group keeps its dictionaries from then on.
 *
 * The footers of the inputs are known earlier, but they would mislead: in rows without order, a column may have
 * too many values for a dictionary, and in the same rows clustered by a correlated column it may have few.
 *
 * @param always columns that keep their dictionaries, as paths with dots: the ordering columns,
 *   which have few values in a file
 */
private[write] final class DictionaryFallback(always: Set[String]) {
  import DictionaryFallback._

  private var started = 0
  private var fallen = Map.empty[String, Int]
  private var useful = always

  /**
   * Tells how to write the next file.
   *
   * @return None for a file that is written with all dictionaries and shown to [[learn]] when it is complete. Otherwise
   *   the columns to write without a dictionary. These may be none: after [[GiveUp]] files no more footers are read
   */
  def next(): Option[Set[String]] = synchronized {
    started += 1
    val plain =
      fallen.collect { case (column, files) if files >= Learned => column }.toSet -- useful
    if (plain.isEmpty && started > GiveUp || plain.nonEmpty && started % Again != 0) Some(plain)
    else None
  }

  /** @param footer the footer of a file that was written with dictionaries */
  def learn(footer: ParquetMetadata): Unit = synchronized {
    val chunks =
      footer.getBlocks.asScala.flatMap(_.getColumns.asScala).groupBy(_.getPath.toDotString)
    chunks.foreach { case (column, own) =>
      if (own.exists(hasDictionary)) useful += column
      else if (own.exists(_.getValueCount >= MinValues)) {
        fallen += column -> (fallen.getOrElse(column, 0) + 1)
      }
    }
  }

  private def hasDictionary(chunk: ColumnChunkMetaData): Boolean =
    chunk.getEncodings.asScala.exists(_.usesDictionary)
}

private[write] object DictionaryFallback extends Logging {

  /** The number of files in which a column must fall back before it is written without a dictionary. */
  val Learned = 2

  /** One of this many files is written with all dictionaries, to show again whether they save bytes. */
  val Again = 16

  /** If no column is to be written plainly after this many files, no further footer is read. */
  val GiveUp = 16

  /** A chunk with fewer values does not tell whether a larger chunk would keep a dictionary. */
  val MinValues = 1000

  private val MaxIds = 16

  private val byId = new JLinkedHashMap[String, DictionaryFallback](MaxIds, 0.75f, true) {
    override def removeEldestEntry(e: JMap.Entry[String, DictionaryFallback]): Boolean =
      size > MaxIds
  }

  /**
   * What this JVM has learned of the files of a [[ParquetSpec]]. It is forgotten after [[MaxIds]] other ids were used.
   *
   * @param learningId the id of the spec
   */
  def of(learningId: String, always: Set[String]): DictionaryFallback = byId.synchronized {
    byId.computeIfAbsent(learningId, _ => new DictionaryFallback(always))
  }

  /** Switches the dictionaries of some columns off, in the configuration of one task. */
  def switchOff(columns: Set[String], conf: Configuration): Unit =
    columns.foreach(c => conf.setBoolean(s"${ParquetOutputFormat.ENABLE_DICTIONARY}#$c", false))

  /** The footer of a complete file; None if it cannot be read. No error, because only speed depends on it. */
  def footer(path: Path, conf: Configuration): Option[ParquetMetadata] =
    try Some(ParquetRewriteFormat.footerOf(path, conf))
    catch {
      case NonFatal(e) =>
        logInfo(s"$path tells nothing about dictionaries", e)
        None
    }
}
