// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.{Success, Try}

import org.apache.parquet.schema.GroupType

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.parser.LegacyTypeStringParser
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetReadSupport,
  ParquetToSparkSchemaConverter
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.{DataFormat, PathTarget}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.NameLookup

/**
 * The one schema that holds the rows of all data files without change: the union by name, nested
 * fields included, of the catalog's columns and of every footer.
 *
 * @param target how messages name the table
 * @param conf settings that are pinned for the run
 * @param format of the files
 */
private[sparkzorder] final class TableSchema(target: String, conf: SQLConf, format: DataFormat) {
  private val sameName = conf.resolver
  private val converter = new ParquetToSparkSchemaConverter(conf)

  /**
   * @return data columns in the catalog's order, then in the order in which files bring new ones
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_INCOMPATIBLE_SCHEMAS
   */
  def union(catalog: Option[StructType], footers: Seq[ScannedFile]): StructType =
    withDefaultsOf(catalog, merged(sources(catalog, footers, isToWrite = false)))

  /**
   * Like [[union]], for files that will be rewritten. Also refuses columns of different files whose names differ by
   * case alone, and a file whose Spark schema cannot be parsed.
   */
  def unionToWrite(catalog: Option[StructType], footers: Seq[ScannedFile]): StructType = {
    val all = sources(catalog, footers, isToWrite = true)
    val schema = merged(all)
    checkCase(schema, Nil, all)
    withDefaultsOf(catalog, schema)
  }

  private def sources(
      catalog: Option[StructType],
      footers: Seq[ScannedFile],
      isToWrite: Boolean): Seq[Sourced] = {
    // files may have NULL in a column that is NOT NULL in the catalog
    val start = catalog.map(s => Sourced(ParquetTypes.nullable(s), TableSchema.Catalog))
    val byFile = distinct(footers).map { f =>
      Sourced(schemaOf(f, isToWrite), f.file.path.toString)
    }
    start.toSeq ++ byFile
  }

  /** Merges all schemas. If the files also hold a partition column, it stays among the data columns. */
  private def merged(all: Seq[Sourced]): StructType =
    all.reduceOption { (a, b) =>
      Sourced(merge(a, b, Nil), a.source, if (a.parts.isEmpty) Seq(a, b) else a.parts :+ b)
    }.fold(new StructType())(_.schema)

  /**
   * Gives the columns the defaults of the catalog, which readers of the table use. A footer has the defaults of the
   * table that its writer named, which may be another table with the same directory.
   */
  private def withDefaultsOf(catalog: Option[StructType], schema: StructType): StructType = {
    val known = catalog.toSeq.flatMap(_.fields)
    StructType(schema.map(f =>
      known.find(c => sameName(c.name, f.name)).fold(f)(c => f.copy(metadata = c.metadata))))
  }

  /**
   * The schema of one file as Spark reads it: the Spark schema in the footer, or, without one, a schema made from the
   * types of the file.
   */
  private def schemaOf(footer: ScannedFile, isToWrite: Boolean): StructType = {
    val schema = footer.orc.map(_.spark).getOrElse(ofParquet(footer, isToWrite))
    checkNames(schema, footer)
    ParquetTypes.nullable(schema)
  }

  private def ofParquet(footer: ScannedFile, isToWrite: Boolean): StructType = {
    val declared = footer.keyValues.get(ParquetReadSupport.SPARK_METADATA_KEY)
      .flatMap(sparkSchema(footer, _, isToWrite))
    ParquetTypes.checkReadable(footer, conf)
    val stored = ParquetTypes.converted(footer, converter)
    declared.map(completed(_, stored).asInstanceOf[StructType]).getOrElse(stored)
  }

  /**
   * The Spark schema in a footer. If it cannot be parsed, the result is None, or an error if files are to be written:
   * the new files would lose what only the Spark schema has, such as defaults of columns that older files lack, types
   * that Spark stores as other types, and comments.
   */
  private def sparkSchema(
      footer: ScannedFile,
      text: String,
      isToWrite: Boolean): Option[StructType] =
    Try(DataType.fromJson(text)).orElse(Try(LegacyTypeStringParser.parseString(text))) match {
      case Success(schema: StructType) => Some(schema)
      case _ if !isToWrite => None
      case other =>
        val problem = other.failed.toOption.fold(s"it is the type ${other.get.sql}")(_.getMessage)
        throw ZOrderErrors.schemaNotReadable(footer.file.path.toString, problem)
    }

  /**
   * The type from the Spark schema in the footer, plus the fields that only the file has: another writer may have
   * copied the Spark schema into the footer of a file with more fields.
   */
  private def completed(declared: DataType, stored: DataType): DataType = (declared, stored) match {
    case (d: StructType, s: StructType) =>
      val partners = d.fields.map { f =>
        s.find(_.name == f.name).orElse(s.find(g => sameName(g.name, f.name)))
      }
      val known = d.fields.zip(partners).map { case (f, partner) =>
        partner.map(g => f.copy(dataType = completed(f.dataType, g.dataType))).getOrElse(f)
      }
      StructType(known ++ s.fields.filterNot(f => partners.flatten.exists(_.name == f.name)))
    case (d: ArrayType, s: ArrayType) =>
      d.copy(elementType = completed(d.elementType, s.elementType))
    case (d: MapType, s: MapType) =>
      d.copy(
        keyType = completed(d.keyType, s.keyType),
        valueType = completed(d.valueType, s.valueType))
    case (d, _) => d
  }

  /** Refuses a file with two columns, or two fields of one struct, whose names are equal for the session. */
  private def checkNames(t: DataType, footer: ScannedFile): Unit = t match {
    case s: StructType =>
      s.fields.zipWithIndex.foreach { case (f, i) =>
        s.fields.take(i).find(g => sameName(g.name, f.name)).foreach { g =>
          val advice =
            if (f.name == g.name) " too"
            else " (set spark.sql.caseSensitive to true to tell them apart)"
          throw ZOrderErrors.incompatibleSchemas(
            target,
            f.name,
            s"named `${g.name}`",
            footer.file.path.toString,
            s"named `${f.name}`$advice",
            footer.file.path.toString)
        }
        checkNames(f.dataType, footer)
      }
    case a: ArrayType => checkNames(a.elementType, footer)
    case m: MapType =>
      checkNames(m.keyType, footer)
      checkNames(m.valueType, footer)
    case _ =>
  }

  /**
   * Refuses two names that differ by case alone, if no file has both. A session that is sensitive to case takes
   * them for two columns, and would write files with both. Other sessions take them for one column: they can read
   * the present files, but no file with both.
   */
  private def checkCase(t: DataType, path: Seq[String], all: Seq[Sourced]): Unit = t match {
    case s: StructType =>
      def holders(names: Seq[String]) =
        all.filter(a => names.forall(n => typeAt(a.schema, path :+ n).isDefined))
      s.fieldNames.toSeq.groupBy(NameLookup.folded).values.filter(_.size > 1).foreach { same =>
        if (holders(same).isEmpty) {
          val Seq(one, other) = same.take(2)
          throw ZOrderErrors.incompatibleSchemas(
            target,
            (path :+ other).mkString("."),
            s"named `$one`",
            holders(Seq(one)).head.source,
            s"named `$other` (set spark.sql.caseSensitive to false to read them as one column)",
            holders(Seq(other)).head.source)
        }
      }
      s.fields.foreach(f => checkCase(f.dataType, path :+ f.name, all))
    case ArrayType(element, _) => checkCase(element, path :+ "element", all)
    case MapType(key, value, _) =>
      checkCase(key, path :+ "key", all)
      checkCase(value, path :+ "value", all)
    case _ =>
  }

  private def distinct(footers: Seq[ScannedFile]): Seq[ScannedFile] = {
    val seen = mutable.HashSet.empty[(Any, Any)]
    footers.filter(f =>
      seen.add((f.schema, f.keyValues.get(ParquetReadSupport.SPARK_METADATA_KEY))))
  }

  private def merge(a: Sourced, b: Sourced, path: Seq[String]): StructType = {
    val merged = a.schema.fields.map { left =>
      b.schema.fields.find(f => sameName(f.name, left.name)) match {
        case Some(right) =>
          val known = if (TableSchema.hasDefault(left)) left else right
          left.copy(
            dataType = mergeTypes(a, b, path :+ left.name, left.dataType, right.dataType),
            // some writers leave defaults out of the footer
            metadata = if (TableSchema.hasDefault(known)) known.metadata else left.metadata)
        case None => left
      }
    }
    val added = b.schema.fields.filterNot(f => a.schema.exists(g => sameName(g.name, f.name)))
    StructType(merged ++ added)
  }

  private def mergeTypes(
      a: Sourced,
      b: Sourced,
      path: Seq[String],
      left: DataType,
      right: DataType): DataType = (left, right) match {
    case (l: StructType, r: StructType) =>
      merge(a.copy(schema = l), b.copy(schema = r), path)
    case (l: ArrayType, r: ArrayType) =>
      ArrayType(
        mergeTypes(a, b, path :+ "element", l.elementType, r.elementType),
        containsNull = true)
    case (l: MapType, r: MapType) =>
      MapType(
        mergeTypes(a, b, path :+ "key", l.keyType, r.keyType),
        mergeTypes(a, b, path :+ "value", l.valueType, r.valueType),
        valueContainsNull = true)
    case (l: StringType, _: StringType) => l
    case (l, r) if l == r => l
    case (l, r) =>
      val from = origin(a, path, l)
      // if the catalog declares the type of a column, no file may widen the type
      widened(l, r).filter(w => from != TableSchema.Catalog || w == l).getOrElse {
        throw ZOrderErrors.incompatibleSchemas(
          target,
          path.mkString("."),
          l.sql,
          from,
          r.sql + adviceFor(from, l, r),
          b.source)
      }
  }

  // Spark reads such files as the catalog says, but a rewrite must know which of the two types the new files get
  private def adviceFor(from: String, l: DataType, r: DataType): String =
    if (from == TableSchema.Catalog && l == TimestampType && r == TimestampNTZType) {
      " (to keep the type of the files, name the directory of the table)"
    } else ""

  /** The source of the first of the merged schemas in which the column has this type. */
  private def origin(merged: Sourced, path: Seq[String], t: DataType): String =
    merged.parts.find(p => typeAt(p.schema, path).contains(t)).getOrElse(merged).source

  private def typeAt(t: DataType, path: Seq[String]): Option[DataType] = (t, path) match {
    case (_, Seq()) => Some(t)
    case (s: StructType, name +: rest) =>
      s.find(f => sameName(f.name, name)).flatMap(f => typeAt(f.dataType, rest))
    case (a: ArrayType, _ +: rest) => typeAt(a.elementType, rest)
    case (m: MapType, "key" +: rest) => typeAt(m.keyType, rest)
    case (m: MapType, _ +: rest) => typeAt(m.valueType, rest)
    case _ => None
  }

  /** The type that holds the values of both types; None if Spark's reader cannot read both as this type. */
  private def widened(l: DataType, r: DataType): Option[DataType] = {
    val small = Seq[DataType](ByteType, ShortType, IntegerType)
    (l, r) match {
      case (a, b) if small.contains(a) && small.contains(b) =>
        Some(small(math.max(small.indexOf(a), small.indexOf(b))))
      case _ if !format.readsWidened => None
      case (LongType, b) if small.contains(b) => Some(LongType)
      case (a, LongType) if small.contains(a) => Some(LongType)
      case (FloatType, DoubleType) | (DoubleType, FloatType) => Some(DoubleType)
      case (a: DecimalType, b: DecimalType) if a.scale == b.scale =>
        Some(DecimalType(math.max(a.precision, b.precision), a.scale))
      case _ => None
    }
  }

  /** A schema, the name of its source, and the schemas that were merged into it. */
  private case class Sourced(schema: StructType, source: String, parts: Seq[Sourced] = Nil)
}

private[sparkzorder] object TableSchema {
  private val Catalog = "the catalog"

  /** True if Spark reads a default value, and not NULL, from files without the column. */
  def hasDefault(column: StructField): Boolean =
    column.metadata.contains(EXISTS_DEFAULT_COLUMN_METADATA_KEY)

  /** The default of a column. None also for the default NULL, because Spark reads NULL anyway. */
  def defaultOf(column: StructField): Option[Any] =
    if (!hasDefault(column)) None
    else {
      val schema = StructType(Seq(column))
      Option(ResolveDefaultColumns.getExistenceDefaultValues(schema).head)
    }
}

/**
 * Refuses a statement that names the directory of a catalog table, if the catalog and the footers have different
 * defaults for a column that a file lacks. In the rows of this file, readers of the table see the default of the
 * catalog. The rewritten file would hold the default of the footers, or NULL.
 */
private[sparkzorder] object DefaultsOfCatalog {

  /**
   * @param schema the columns of all files, with the defaults of the footers
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_UNSUPPORTED_TABLE
   */
  def check(target: PathTarget, schema: StructType, footers: Seq[ScannedFile]): Unit = {
    val names = ScannedFile.ofEachSchema(footers.filter(_.rows > 0))
      .map(_.schema.getFields.asScala.map(f => NameLookup.folded(f.getName)).toSet)
    val added = schema.filter(f => names.exists(!_.contains(NameLookup.folded(f.name))))
    for {
      table <- target.tables
      column <- otherDefault(table, added)
    } {
      throw ZOrderErrors.unsupportedTable(
        s"${target.name}, the directory of ${table.identifier.quotedString},",
        s"a table with another default for the column `${column.name}` than the files note",
        "Name the table instead of its directory.")
    }
  }

  private def otherDefault(table: CatalogTable, added: Seq[StructField]): Option[StructField] =
    table.schema.find { declared =>
      added.exists(f =>
        NameLookup.folded(f.name) == NameLookup.folded(declared.name) &&
          TableSchema.defaultOf(f) != TableSchema.defaultOf(declared))
    }
}

/**
 * Refuses Parquet files in which columns of one name have different field ids, for a session that finds
 * columns by field id. OPTIMIZE finds columns by name and would merge them into one column, which could
 * keep none of the ids. A reader that finds the column by its id would then read NULL.
 */
private[sparkzorder] object FieldIds {

  /**
   * @param target how messages name the table
   * @param caseSensitive true if names that differ by case are two columns
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_INCOMPATIBLE_SCHEMAS
   */
  def check(target: String, footers: Seq[ScannedFile], caseSensitive: Boolean): Unit = {
    val ids = for {
      file <- ScannedFile.ofEachSchema(footers)
      (name, id) <- idsOf(file.schema, Nil)
    } yield (name, id, file.file.path.toString)
    ids.groupBy(i => if (caseSensitive) i._1 else NameLookup.folded(i._1)).values.foreach { same =>
      val (name, id, file) = same.head
      same.find(_._2 != id).foreach { case (_, other, otherFile) =>
        throw ZOrderErrors.incompatibleSchemas(
          target,
          name,
          text(id),
          file,
          s"${text(other)} while spark.sql.parquet.fieldId.read.enabled is true",
          otherFile)
      }
    }
  }

  private def text(id: Option[Int]): String =
    id.fold("a column without a field id")(i => s"field id $i")

  /** The full name and the field id of each column and each nested field. */
  private def idsOf(group: GroupType, path: Seq[String]): Seq[(String, Option[Int])] =
    group.getFields.asScala.toSeq.flatMap { t =>
      val name = path :+ t.getName
      val own = (name.mkString("."), Option(t.getId).map(_.intValue))
      if (t.isPrimitive) Seq(own) else own +: idsOf(t.asGroupType(), name)
    }
}
