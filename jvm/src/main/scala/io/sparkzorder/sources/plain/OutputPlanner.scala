// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.schema.{GroupType, MessageType}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkPrivate
import org.apache.spark.sql.types.TimestampType

import io.sparkzorder.cluster.Grid
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.{OrcFiles, ParquetFiles}
import io.sparkzorder.table.schema.{
  FooterKeys,
  KeptKeys,
  OldCalendar,
  OrcOutput,
  OrcZones,
  OutputSchema,
  ParquetTypes,
  TableSchema
}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.NameLookup
import io.sparkzorder.write.{
  BloomFilters,
  FileUnits,
  OrcBloomFilters,
  OrcSpec,
  OutputSpec,
  ParquetSpec
}

/**
 * Plans schema, key-values, codec and unit sizes of the rewritten files. Refuses inputs that cannot
 * be written back as they are.
 */
private[plain] final class OutputPlanner(inputs: PlainInputs) {
  private val footers = inputs.files
  private val session = inputs.session.sessionState
  private val conf = session.newHadoopConf()
  private val allowTypeChange = inputs.settings(Settings.AllowTypeChange)

  // the files whose key-values count: the files with rows, or all files if no file has rows
  private val holding =
    if (footers.exists(_.rows > 0)) footers.filter(_.rows > 0) else footers

  def plan(): OutputSpec = inputs.target.format match {
    case ParquetFiles => parquet
    case OrcFiles => orc
  }

  private def parquet: ParquetSpec = {
    val distinct = ScannedFile.ofEachSchema(footers)
    if (!allowTypeChange) distinct.foreach(ParquetTypes.checkWritable)
    val preserveInt96 = inputs.settings(Settings.TimestampType) == "preserve"
    val target = new OutputSchema(preserveInt96, session.conf.resolver, allowTypeChange)
      .of(inputs.schema, distinct)
    val haveNewSchema = holding.forall(_.schema.getFields == target.getFields)
    val filters = BloomFilters.of(
      target,
      footers.map(_.bloomFilters).distinct.flatten.toSet,
      settings(BloomFilters.Prefix))
    ParquetSpec(
      target,
      keys(haveNewSchema),
      filters,
      codec(session.conf.parquetCompressionCodec),
      FileUnits.of(rowsOfFile, bytesPerRow, conf),
      holding.exists(_.keyValues.contains(ParquetReadSupport.SPARK_METADATA_KEY)),
      inputs.columns.map(_.parts.mkString(".")).toSet)
  }

  private def orc: OrcSpec = {
    if (!allowTypeChange) {
      footers.foreach(OrcOutput.checkWritable)
      OrcZones.check(footers, conf)
    }
    val distinct = footers.flatMap(_.orc).distinct
    val target = new OrcOutput(session.conf.resolver).of(inputs.schema, distinct)
    OrcSpec(
      target,
      keys(holding.flatMap(_.orc).forall(_.types.equals(target, false))),
      codec(session.conf.orcCompressionCodec),
      FileUnits.ofOrc(rowsOfFile, bytesPerRow, conf),
      OrcBloomFilters.of(footers, settings(OrcBloomFilters.Prefix), conf))
  }

  /** Settings of the table that a format's writer takes. */
  private def settings(prefix: String): Map[String, String] =
    inputs.target.tables.flatMap(t => t.properties ++ t.storage.properties)
      .filter { case (key, _) => key.startsWith(prefix) }.toMap

  private def keys(haveNewSchema: Boolean): KeptKeys =
    new FooterKeys(
      allowTypeChange,
      new OldCalendar(session.conf).isConverted).merge(holding, haveNewSchema)

  /**
   * The codec of the most input bytes. The first codec of a file counts for the whole file. If no file has a codec,
   * the session's codec.
   */
  private def codec(default: => String): String = {
    val bytes = footers.flatMap(f => f.codecs.headOption.map(_ -> f.file.length)).groupBy(_._1)
      .map { case (c, fs) => c -> fs.map(_._2).sum }
    if (bytes.isEmpty) default else bytes.maxBy(_._2)._1
  }

  /** Mean number of rows of a new file. A folder with fewer rows than a full file gets one file. */
  private def rowsOfFile: Double = {
    val files = footers.groupBy(_.file.folder).values.map { own =>
      val rows = own.map(_.rows).sum
      Grid.filesFor(rows, inputs.targetRows(rows, own.map(_.file.length).sum)).toLong
    }.sum
    inputs.rows.toDouble / math.max(1L, files)
  }

  /** Mean bytes of a row before compression. */
  private def bytesPerRow: Double =
    footers.map(_.uncompressed).sum.toDouble / math.max(1L, inputs.rows)
}

/**
 * The codecs of the files that a run reads and writes.
 *
 * @param files that are rewritten
 */
private[plain] final class Codecs(inputs: PlainInputs, files: Seq[ScannedFile]) {

  /**
   * Refuses codecs whose library is missing, before anything is written. Otherwise the tasks would fail.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_CODEC_NOT_AVAILABLE, naming a file
   */
  def check(spec: OutputSpec, conf: Configuration): Unit = if (files.nonEmpty) {
    val first = firstOfEach(files) ++ firstOfEach(inputs.files).filter(_._1 == spec.codec)
    for {
      (codec, file) <- first
      problem <- inputs.target.format.missingLibrary(codec, conf)
    } throw ZOrderErrors.codecNotAvailable(file.file.path.toString, codec, problem)
  }

  /** Which files get another codec; None if all keep theirs. */
  def change(spec: OutputSpec): Option[String] = {
    val others = firstOfEach(files).filter(_._1 != spec.codec)
    if (others.isEmpty) None
    else {
      val named = others.map { case (codec, f) => s"$codec (such as in ${f.file.path.getName})" }
      Some(s"files of the codec ${named.mkString(" and ")} become ${spec.codec}")
    }
  }

  private def firstOfEach(of: Seq[ScannedFile]): Seq[(String, ScannedFile)] =
    of.flatMap(_.codecs).distinct.map(c => c -> of.find(_.codecs.contains(c)).get)
}

/**
 * The values that sessions with other settings, or of another version of Spark, see differently in the new files.
 * Spark's reader computes such a value from the stored value and from the file's writer or schema. This session sees
 * the same values as before.
 *
 * @param files that are rewritten
 * @param output how the new files are written
 */
private[plain] final class ValuesOfOthers(
    inputs: PlainInputs,
    files: Seq[ScannedFile],
    output: Option[OutputSpec]) {

  /** One sentence for each kind of change. */
  def changes: Seq[String] =
    if (inputs.target.format != ParquetFiles) defaults
    else int96.toSeq ++ days ++ structs ++ defaults

  /**
   * If a setting is on, Spark shifts the INT96 timestamps of files that parquet-mr has not written. The new files
   * are written by parquet-mr.
   */
  private def int96: Option[String] =
    files.find(f => !f.createdBy.startsWith("parquet-mr") && hasInt96(f.schema)).map { f =>
      val key = SQLConf.PARQUET_INT96_TIMESTAMP_CONVERSION.key
      val own = inputs.session.sessionState.conf.isParquetINT96TimestampConversion
      val others =
        if (inputs.settings(Settings.TimestampType) != "preserve") ""
        else {
          ". Hive and Impala may shift the timestamps of the new files, too, because these files name parquet-mr as " +
            "their writer"
        }
      s"INT96 timestamps of files that parquet-mr has not written, such as ${f.file.path.getName}, had " +
        s"other values in sessions with $key = ${!own}; all sessions now see those of this session$others"
    }

  /** The new files have days of the proleptic calendar. Spark and Hive find the calendar of a file in its footer. */
  private def days: Option[String] = {
    val calendar = new OldCalendar(inputs.session.sessionState.conf)
    files.find(calendar.isConverted).map { f =>
      "dates before 1582 and timestamps before 1900, if there are any, in files of the old calendar such as " +
        s"${f.file.path.getName} are stored in the new calendar: readers that do not know the calendar of a " +
        "file see other days than before"
    }
  }

  /**
   * The default of a column is kept as text without a time zone. Each session reads a TIMESTAMP in this text in its own
   * time zone.
   */
  private def defaults: Seq[String] = for {
    column <- inputs.schema
    if SparkPrivate.hasInside(column.dataType, TimestampType) &&
      TableSchema.defaultOf(column).isDefined
    file <- files.find(f =>
      f.rows > 0 && !f.schema.getFields.asScala.exists(g =>
        NameLookup.folded(g.getName) == NameLookup.folded(column.name)))
  } yield {
    val zone = inputs.session.sessionState.conf.sessionLocalTimeZone
    s"the default of the column `${column.name}`, which files such as ${file.file.path.getName} lack, was read in " +
      s"the time zone of each session; all sessions now see the default of the zone $zone"
  }

  private def hasInt96(schema: MessageType): Boolean =
    schema.getColumns.asScala.exists(_.getPrimitiveType.getPrimitiveTypeName == INT96)

  /**
   * A query may read only those fields of a struct that a file lacks. Then the struct is NULL in the rows of this
   * file. A new file has all fields of the table, so the same query reads a struct of NULLs from it.
   */
  private def structs: Seq[String] = {
    val written = output.collect { case p: ParquetSpec => structsIn(p.schema, Nil).toMap }
      .getOrElse(Map.empty[Seq[String], Set[String]])
    val found = ScannedFile.ofEachSchema(files).flatMap(f =>
      structsIn(f.schema, Nil).map { case (path, fields) => (path, fields, f) })
    found.groupBy(_._1).toSeq.sortBy(_._1.mkString(".")).flatMap { case (path, own) =>
      val all = written.getOrElse(path, Set.empty[String])
      own.find { case (_, fields, _) => !all.subsetOf(fields) }.map { case (_, _, f) =>
        s"files such as ${f.file.path.getName} lack fields of the struct `${path.mkString(".")}`: a query " +
          "for these fields alone, before Spark 4.1 or with " +
          "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing, saw NULL for the struct and " +
          "now sees a struct of NULLs"
      }
    }
  }

  /** The structs outside of lists and maps, by case-folded name parts, with the names of their fields. */
  private def structsIn(group: GroupType, path: Seq[String]): Seq[(Seq[String], Set[String])] = {
    val inner = group.getFields.asScala.filter(f =>
      !f.isPrimitive && f.getLogicalTypeAnnotation == null).flatMap(f =>
      structsIn(f.asGroupType, path :+ NameLookup.folded(f.getName)))
    if (path.isEmpty) inner.toSeq
    else
      (path -> group.getFields.asScala.map(f => NameLookup.folded(f.getName)).toSet) +: inner.toSeq
  }
}
