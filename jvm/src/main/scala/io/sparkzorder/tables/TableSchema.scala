package io.sparkzorder.tables

import scala.collection.mutable

import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetReadSupport,
  ParquetToSparkSchemaConverter
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types._

import io.sparkzorder.errors.ZOrderErrors

/**
 * The one schema that holds the rows of all data files without change: the union by name, nested
 * fields included, of the catalog's columns and of every footer.
 *
 * @param target how messages name the table
 * @param conf settings that are pinned for the run
 */
final class TableSchema(target: String, conf: SQLConf) {
  private val sameName = conf.resolver
  private val converter = new ParquetToSparkSchemaConverter(conf)

  /**
   * @return data columns in the catalog's order, then in the order in which files bring new ones
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_INCOMPATIBLE_SCHEMAS
   */
  def union(catalog: Option[StructType], footers: Seq[Footer]): StructType = {
    // files may hold NULL where the catalog says NOT NULL; reading them must not rely on it
    val start = catalog.map(s => Sourced(ParquetTypes.nullable(s), TableSchema.Catalog))
    val byFile = distinct(footers).map { f =>
      Sourced(schemaOf(f), f.file.path.toString)
    }
    val all = start.toSeq ++ byFile
    // a column that the files hold besides the partition directory is kept as it is
    all.reduceOption((a, b) => Sourced(merge(a, b, Nil), a.source)).map(_.schema)
      .getOrElse(new StructType())
  }

  /** The schema of one file as Spark reads it: the one that Spark itself noted, else by its types. */
  private def schemaOf(footer: Footer): StructType = {
    val noted = footer.keyValues
      .get(ParquetReadSupport.SPARK_METADATA_KEY)
      .flatMap(json => scala.util.Try(DataType.fromJson(json).asInstanceOf[StructType]).toOption)
    val schema = noted.getOrElse {
      ParquetTypes.checkReadable(footer)
      converter.convert(footer.schema)
    }
    checkNames(schema, footer)
    ParquetTypes.nullable(schema)
  }

  private def checkNames(schema: StructType, footer: Footer): Unit =
    schema.fields.foreach { f =>
      schema.fields.find(g => g.name != f.name && sameName(g.name, f.name)).foreach { g =>
        throw ZOrderErrors.incompatibleSchemas(
          target,
          f.name,
          s"named `${f.name}`",
          footer.file.path.toString,
          s"named `${g.name}` (set spark.sql.caseSensitive to true to tell them apart)",
          footer.file.path.toString)
      }
    }

  private def distinct(footers: Seq[Footer]): Seq[Footer] = {
    val seen = mutable.HashSet.empty[(Any, Any)]
    footers.filter(f =>
      seen.add((f.schema, f.keyValues.get(ParquetReadSupport.SPARK_METADATA_KEY))))
  }

  private def merge(a: Sourced, b: Sourced, path: Seq[String]): StructType = {
    val merged = a.schema.fields.map { left =>
      b.schema.fields.find(f => sameName(f.name, left.name)) match {
        case Some(right) =>
          left.copy(dataType = mergeTypes(a, b, path :+ left.name, left.dataType, right.dataType))
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
      // a table's declared type must go on holding its files, so a file may not widen it
      widened(l, r).filter(w => a.source != TableSchema.Catalog || w == l).getOrElse {
        throw ZOrderErrors.incompatibleSchemas(
          target,
          path.mkString("."),
          l.sql,
          a.source,
          r.sql,
          b.source)
      }
  }

  /** The type that holds both and that Spark's Parquet reader reads both into. */
  private def widened(l: DataType, r: DataType): Option[DataType] = {
    val small = Seq[DataType](ByteType, ShortType, IntegerType)
    (l, r) match {
      case (a, b) if small.contains(a) && small.contains(b) =>
        Some(small(math.max(small.indexOf(a), small.indexOf(b))))
      case _ if !SparkLine.readsWidened => None
      case (LongType, b) if small.contains(b) => Some(LongType)
      case (a, LongType) if small.contains(a) => Some(LongType)
      case (FloatType, DoubleType) | (DoubleType, FloatType) => Some(DoubleType)
      case (a: DecimalType, b: DecimalType) if a.scale == b.scale =>
        Some(DecimalType(math.max(a.precision, b.precision), a.scale))
      case _ => None
    }
  }

  private case class Sourced(schema: StructType, source: String)
}

object TableSchema {
  private val Catalog = "the catalog"
}
