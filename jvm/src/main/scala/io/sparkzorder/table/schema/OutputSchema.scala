// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.parquet.schema.{
  GroupType,
  LogicalTypeAnnotation,
  MessageType,
  PrimitiveType,
  Type,
  Types
}
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.parquet.schema.Type.Repetition

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetToSparkSchemaConverter,
  SparkToParquetSchemaConverter
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.ScannedFile

/**
 * Computes the Parquet schema of the rewritten files. If a column has the same Parquet type in all inputs, and
 * Spark can write this type, the column keeps exactly this type: physical type, annotation, field id, repetition,
 * and the names inside lists and maps. Otherwise the column gets the Parquet type that Spark's writer uses for the
 * common Spark type of all inputs.
 *
 * @param preserveInt96 true to keep INT96; false to write TIMESTAMP_MICROS, which has min/max
 * @param sameName tells whether two column names count as the same
 * @param allowTypeChange true to write lists and maps of an old layout in the standard layout;
 *   false to refuse them
 */
private[sparkzorder] final class OutputSchema(
    preserveInt96: Boolean,
    sameName: (String, String) => Boolean,
    allowTypeChange: Boolean) {

  // Spark's own writer with the standard layout: no legacy format, TIMESTAMP_MICROS, field ids
  private val sparkConverter = new SparkToParquetSchemaConverter(
    writeLegacyParquetFormat = false,
    outputTimestampType = SQLConf.ParquetOutputTimestampType.TIMESTAMP_MICROS,
    useFieldId = true)

  /** The schema that Spark's writer would choose for a Spark schema alone. */
  def ofSpark(schema: StructType): MessageType = sparkConverter.convert(schema)

  /**
   * The Parquet schema of the new files.
   *
   * @param footers at least one for each distinct schema of the inputs
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_WRITABLE if two columns have one field id, or
   *   for a list or map of an old layout without `allowTypeChange`
   */
  def of(schema: StructType, footers: Seq[ScannedFile]): MessageType = {
    val spark = ofSpark(schema)
    val inputs = footers.map(f => (f.schema: GroupType, f.file.path.toString)).distinct
    val fields = schema.fields.zipWithIndex.map { case (field, i) =>
      val found = inputs.map { case (g, file) => (child(g, field.name), file) }
      val (present, absent) = found.partition(_._1.isDefined)
      // Rows of a file without the column get the default of the column. The default may not fit the type that the
      // other files store: for example, it has microseconds and their type milliseconds, or it is a struct with NULL in
      // a field that they require.
      val all =
        if (!TableSchema.hasDefault(field)) found
        else present ++ absent.take(1).map { case (_, file) => (Some(spark.getType(i)), file) }
      combine(Seq(field.name), field.dataType, spark.getType(i), all)
    }
    checkIds(fields.toSeq, inputs.headOption.fold("")(_._2))
    new MessageType(if (inputs.isEmpty) spark.getName else inputs.head._1.getName, fields.toSeq: _*)
  }

  /** Throws if two columns have one field id. Readers that find columns by field id refuse such a file. */
  private def checkIds(fields: Seq[Type], file: String): Unit = {
    fields.filter(_.getId != null).groupBy(_.getId.intValue()).values.find(_.size > 1).foreach {
      same =>
        throw ZOrderErrors.typeNotWritable(
          same.head.getName,
          s"the field id ${same.head.getId.intValue()}",
          file,
          s"nothing: column ${same(1).getName} has the same field id")
    }
    fields.filterNot(_.isPrimitive)
      .foreach(f => checkIds(f.asGroupType().getFields.asScala.toSeq, file))
  }

  private def combine(
      path: Seq[String],
      dataType: DataType,
      spark: Type,
      found: Seq[(Option[Type], String)]): Type = {
    val present = found.collect { case (Some(t), file) => (t, file) }
    if (present.isEmpty) return spark
    val types = present.map(_._1)
    val repetition =
      if (found.forall(_._1.exists(_.isRepetition(Repetition.REQUIRED)))) Repetition.REQUIRED
      else Repetition.OPTIONAL
    // `spark` stands here for the type of a default, which comes from no file, so its id does not count
    val id = types.filterNot(_ eq spark).map(t => Option(t.getId)).distinct match {
      case Seq(same) => same
      case _ => None
    }
    val made = (spark, dataType) match {
      case (p: PrimitiveType, _) => leaf(p, types)
      case (g: GroupType, s: StructType) => struct(path, s, g, present)
      case (g: GroupType, a: ArrayType) => nested(path, g, present, isList, Seq(a.elementType))
      case (g: GroupType, m: MapType) =>
        nested(path, g, present, isMap, Seq(m.keyType, m.valueType))
      // Spark writes two more types as a group: VARIANT, and user-defined types over structs, lists or maps
      case (g, _) => otherGroup(g, types)
    }
    // if some file lacks the column, `repetition` is OPTIONAL, because the rows of this file have NULL
    rebuilt(made, spark.getName, repetition, id)
  }

  private def leaf(spark: PrimitiveType, types: Seq[Type]): Type = {
    types.map(rebuilt(_, spark.getName, Repetition.OPTIONAL, None)).distinct match {
      case Seq(one: PrimitiveType) if keeps(one) && holds(one, spark) => one
      case _ => spark
    }
  }

  private def keeps(t: PrimitiveType): Boolean = t.getLogicalTypeAnnotation match {
    // Spark reads and writes unsigned integers as the next wider signed type
    case i: IntLogicalTypeAnnotation => i.isSigned
    case _ => t.getPrimitiveTypeName != INT96 || preserveInt96
  }

  /** True when a column of the file's type holds every value that Spark will write. */
  private def holds(file: PrimitiveType, spark: PrimitiveType): Boolean =
    (file.getLogicalTypeAnnotation, spark.getLogicalTypeAnnotation) match {
      case (f: DecimalLogicalTypeAnnotation, s: DecimalLogicalTypeAnnotation) =>
        f.getPrecision == s.getPrecision && f.getScale == s.getScale
      case (_, s) if file.getPrimitiveTypeName == INT96 =>
        s.isInstanceOf[TimestampLogicalTypeAnnotation]
      case (f: IntLogicalTypeAnnotation, s) =>
        val width = s match {
          case i: IntLogicalTypeAnnotation => i.getBitWidth
          case _ => if (spark.getPrimitiveTypeName == INT64) 64 else 32
        }
        f.getBitWidth >= width
      case _ => file.getPrimitiveTypeName == spark.getPrimitiveTypeName
    }

  /**
   * The type of a VARIANT or of a user-defined type. The new files do not shred VARIANT, because each input may
   * shred it in another way: Spark's reader puts the parts of a value together, and the value is written in one
   * piece. If all inputs have one type with the parts of Spark's type, its annotation and its names stay.
   */
  private def otherGroup(spark: Type, types: Seq[Type]): Type = {
    def parts(t: Type) =
      if (t.isPrimitive) Nil else t.asGroupType().getFields.asScala.map(_.getName).toSeq
    types.find(t => types.forall(_ == t) && parts(t) == parts(spark)).getOrElse(spark)
  }

  private def struct(
      path: Seq[String],
      s: StructType,
      spark: GroupType,
      present: Seq[(Type, String)]): Type = {
    val fields = s.fields.zipWithIndex.map { case (f, i) =>
      val found = present.map { case (t, file) => (child(t.asGroupType(), f.name), file) }
      combine(path :+ f.name, f.dataType, spark.getType(i), found)
    }
    spark.withNewFields(fields.toSeq: _*)
  }

  /**
   * The type of a list or map. The standard layout has three levels, and its names inside are kept.
   * Any other layout is an old one, which is refused or, with `allowTypeChange`, replaced by the
   * standard layout.
   */
  private def nested(
      path: Seq[String],
      spark: GroupType,
      present: Seq[(Type, String)],
      standard: Type => Boolean,
      children: Seq[DataType]): Type = {
    present.find(p => !standard(p._1)).foreach { case (t, file) =>
      if (!allowTypeChange) {
        throw ZOrderErrors.typeNotWritable(
          path.mkString("."),
          s"list or map of an old layout: ${t.toString.replaceAll("\\s+", " ")}",
          file,
          "a list or map of the standard layout of three levels")
      }
    }
    // An old layout marks at other levels than the standard layout where NULL is allowed, so its marks cannot be kept.
    // Spark's type allows NULL at every level.
    if (!present.forall(p => standard(p._1))) return spark
    val shape = present.head._1.asGroupType()
    val repeated = shape.getType(0).asGroupType()
    val sparkRepeated = spark.getType(0).asGroupType()
    val fields = children.indices.map { i =>
      val found = present.map { case (t, file) =>
        (Option(t.asGroupType().getType(0).asGroupType().getType(i)), file)
      }
      rename(
        combine(path, children(i), sparkRepeated.getType(i), found),
        repeated.getFieldName(i))
    }
    shape.withNewFields(repeated.withNewFields(fields: _*))
  }

  private def isList(t: Type): Boolean = !t.isPrimitive &&
    t.getLogicalTypeAnnotation.isInstanceOf[ListLogicalTypeAnnotation] && isRepeatedGroup(t, 1)

  private def isMap(t: Type): Boolean = !t.isPrimitive &&
    t.getLogicalTypeAnnotation.isInstanceOf[MapLogicalTypeAnnotation] && isRepeatedGroup(t, 2)

  private def isRepeatedGroup(t: Type, fields: Int): Boolean = {
    val g = t.asGroupType()
    g.getFieldCount == 1 && g.getType(0).isRepetition(Repetition.REPEATED) &&
    !g.getType(0).isPrimitive && g.getType(0).asGroupType().getFieldCount == fields &&
    // by Parquet's rules for old writers, a repeated group with one of these two names is itself the element
    g.getType(0).getName != "array" && g.getType(0).getName != s"${t.getName}_tuple"
  }

  private def child(g: GroupType, name: String): Option[Type] =
    g.getFields.asScala.find(_.getName == name)
      .orElse(g.getFields.asScala.find(f => sameName(f.getName, name)))

  private def rename(t: Type, name: String): Type =
    rebuilt(t, name, t.getRepetition, Option(t.getId))

  /** A copy of a type with another name, repetition and id, because Parquet's types are immutable. */
  private def rebuilt(t: Type, name: String, repetition: Repetition, id: Option[Type.ID]): Type = {
    val made: Type = t match {
      case p: PrimitiveType =>
        Types.primitive(p.getPrimitiveTypeName, repetition).length(p.getTypeLength)
          .as(p.getLogicalTypeAnnotation).named(name)
      case g: GroupType =>
        Types.buildGroup(repetition).as(g.getLogicalTypeAnnotation)
          .addFields(g.getFields.asScala.toSeq: _*).named(name)
    }
    id.map(i => made.withId(i.intValue)).getOrElse(made)
  }
}

/** Which Parquet types OPTIMIZE can read and write back as they are. */
private[sparkzorder] object ParquetTypes {

  /**
   * Rejects a file with a type that Spark cannot read.
   *
   * @param conf settings by which the file is read
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_READABLE with the column and its type
   */
  def checkReadable(footer: ScannedFile, conf: SQLConf): Unit =
    leaves(footer.schema, Nil).find { case (_, leaf) => isUnreadable(leaf, conf) }.foreach {
      case (path, leaf) =>
        throw ZOrderErrors.typeNotReadable(
          path.mkString("."),
          describe(leaf),
          footer.file.path.toString)
    }

  /**
   * The Spark schema of a file without one in its footer.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_READABLE with the column and its type, if Spark does
   *   not know a type, such as one that a newer version of Parquet has
   */
  def converted(footer: ScannedFile, converter: ParquetToSparkSchemaConverter): StructType =
    try converter.convert(footer.schema)
    catch {
      case e: AnalysisException =>
        def isUnknown(t: Type) =
          Try(converter.convert(new MessageType(footer.schema.getName, t))).isFailure
        val leaf = leaves(footer.schema, Nil).collectFirst {
          case (path, t) if isUnknown(t) => path.mkString(".") -> describe(t)
        }
        // a group that is no list and no map that Spark knows
        def group = footer.schema.getFields.asScala.find(isUnknown).map(t =>
          t.getName -> Option(t.getLogicalTypeAnnotation).fold("GROUP")(a => s"GROUP ($a)"))
        val (column, text) = leaf.orElse(group).getOrElse(throw e)
        throw ZOrderErrors.typeNotReadable(column, text, footer.file.path.toString)
    }

  /**
   * Rejects a file with a type that Spark would change: Spark reads a UINT_32 as BIGINT, for example, and would write
   * BIGINT.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_WRITABLE with the column and its type
   */
  def checkWritable(footer: ScannedFile): Unit =
    leaves(footer.schema, Nil).foreach { case (path, leaf) =>
      changesTo(leaf).foreach { to =>
        throw ZOrderErrors.typeNotWritable(
          path.mkString("."),
          describe(leaf),
          footer.file.path.toString,
          to)
      }
    }

  /**
   * The same Spark schema, with every field, element and map value nullable. Spark does the same with the schema of
   * files that it reads.
   */
  def nullable(schema: StructType): StructType = relaxed(schema).asInstanceOf[StructType]

  private def relaxed(t: DataType): DataType = t match {
    case s: StructType =>
      StructType(s.fields.map(f => f.copy(dataType = relaxed(f.dataType), nullable = true)))
    case a: ArrayType => ArrayType(relaxed(a.elementType), containsNull = true)
    case m: MapType =>
      MapType(relaxed(m.keyType), relaxed(m.valueType), valueContainsNull = true)
    case other => other
  }

  private def leaves(t: Type, path: Seq[String]): Seq[(Seq[String], PrimitiveType)] = t match {
    case p: PrimitiveType => Seq(path -> p)
    case g: GroupType =>
      g.getFields.asScala.toSeq.flatMap(f => leaves(f, path :+ f.getName))
  }

  private def isUnreadable(t: PrimitiveType, conf: SQLConf): Boolean = {
    val annotation = t.getLogicalTypeAnnotation
    t.getPrimitiveTypeName match {
      // without an annotation, Spark reads the values as BINARY (SPARK-41096)
      case FIXED_LEN_BYTE_ARRAY =>
        annotation != null && !annotation.isInstanceOf[DecimalLogicalTypeAnnotation]
      case _ =>
        annotation match {
          case ts: TimestampLogicalTypeAnnotation =>
            ts.getUnit == TimeUnit.NANOS && !conf.getConf(SQLConf.LEGACY_PARQUET_NANOS_AS_LONG)
          case time: TimeLogicalTypeAnnotation =>
            time.getUnit != TimeUnit.MICROS || time.isAdjustedToUTC || !hasTime(conf)
          case _ => false
        }
    }
  }

  // Spark has the type TIME from 4.1 on, disabled by default; before, this setting does not exist
  private def hasTime(conf: SQLConf): Boolean =
    Try(conf.getConfString("spark.sql.timeType.enabled").toBoolean).getOrElse(false)

  private def changesTo(t: PrimitiveType): Option[String] =
    t.getLogicalTypeAnnotation match {
      case i: IntLogicalTypeAnnotation if !i.isSigned =>
        Some(i.getBitWidth match {
          case 8 => "SMALLINT"
          case 16 => "INT"
          case 32 => "BIGINT"
          case _ => "DECIMAL(20,0)"
        })
      case null if t.getPrimitiveTypeName == FIXED_LEN_BYTE_ARRAY => Some("BINARY")
      case _ => None
    }

  private def describe(t: PrimitiveType): String = {
    val physical = t.getPrimitiveTypeName match {
      case FIXED_LEN_BYTE_ARRAY => s"FIXED_LEN_BYTE_ARRAY(${t.getTypeLength})"
      case other => other.name
    }
    val annotation: LogicalTypeAnnotation = t.getLogicalTypeAnnotation
    if (annotation == null) physical else s"$physical ($annotation)"
  }
}
