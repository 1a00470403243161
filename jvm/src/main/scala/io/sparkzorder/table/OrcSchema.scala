// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.io.IOException
import java.util.Collections

import scala.collection.JavaConverters._

import org.apache.orc.TypeDescription
import org.apache.orc.TypeDescription.Category
import org.apache.parquet.schema.{MessageType, PrimitiveType, Type}

import org.apache.spark.sql.execution.datasources.orc.OrcUtils
import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter
import org.apache.spark.sql.internal.SQLConf.ParquetOutputTimestampType
import org.apache.spark.sql.types._

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.ColumnLookup

/**
 * A leaf column of an ORC file.
 *
 * @param types the type of the column in the file; the type also holds the column's number
 * @param primitive the Parquet type in which the statistics of the column are given
 * @param isRepeated true inside a list or map, where a row has many values
 */
private[sparkzorder] final case class OrcLeaf(
    types: TypeDescription,
    primitive: PrimitiveType,
    isRepeated: Boolean) {
  def id: Int = types.getId
}

/**
 * The schema of an ORC file in three forms: as the file stores it, as Spark reads it, and as Parquet would write
 * it. With the third form, footers of both formats have types of Parquet. So the same code compares them, describes
 * layouts and makes index entries for both formats.
 *
 * @param leaves in the order of `parquet.getColumns`
 */
private[sparkzorder] final class OrcSchema private (
    val types: TypeDescription,
    val spark: StructType,
    val parquet: MessageType,
    val leaves: IndexedSeq[OrcLeaf]) {

  /** The name of the first TIMESTAMP column. ORC stores its values as local times in the time zone of the writer. */
  def timestamp: Option[String] =
    leaves.zip(parquet.getColumns.asScala).collectFirst {
      case (leaf, column) if leaf.types.getCategory == Category.TIMESTAMP =>
        column.getPath.mkString(".")
    }

  /** The leaf column whose name equals `parts` under `sameName`. */
  def leaf(parts: Seq[String], sameName: (String, String) => Boolean): Option[OrcLeaf] =
    ColumnLookup.position(parquet, parts, sameName).map(leaves(_))
}

private[sparkzorder] object OrcSchema {
  // The converter needs settings of Parquet's writer, but nothing is written as Parquet here.
  private val converter = new SparkToParquetSchemaConverter(
    writeLegacyParquetFormat = false,
    outputTimestampType = ParquetOutputTimestampType.TIMESTAMP_MICROS,
    useFieldId = false)

  /**
   * @param file path of the file, for messages
   * @throws java.io.IOException when the columns of the file have no names
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_READABLE for a type that Spark
   *   does not read
   */
  def of(types: TypeDescription, file: String): OrcSchema = {
    val names = types.getFieldNames.asScala
    // Spark takes the columns _col0, _col1, ... of a file for the first, second, ... column of the table, and only the
    // table has their names
    if (names.nonEmpty && names.forall(_.startsWith("_col"))) {
      throw new IOException(
        s"its columns have no names (${names.take(2).mkString(", ")}, ...), as old versions of " +
          "Hive wrote them")
    }
    check(types, Nil, file)
    val spark = withoutMetadata(OrcUtils.toCatalystSchema(types)).asInstanceOf[StructType]
    val parquet =
      if (spark.isEmpty) new MessageType("spark_schema", Collections.emptyList[Type]())
      else converter.convert(spark)
    val columns = parquet.getColumns.asScala
    val leaves = leavesOf(types, isRepeated = false)
    require(leaves.size == columns.size, s"$types has other columns than $parquet")
    new OrcSchema(
      types,
      spark,
      parquet,
      leaves.zip(columns).map { case ((t, repeated), c) =>
        OrcLeaf(t, c.getPrimitiveType, repeated)
      }.toIndexedSeq)
  }

  private def check(t: TypeDescription, path: Seq[String], file: String): Unit = {
    t.getCategory match {
      case Category.STRUCT =>
        t.getFieldNames.asScala.zip(t.getChildren.asScala)
          .foreach { case (name, child) => check(child, path :+ name, file) }
      case Category.LIST => check(t.getChildren.get(0), path :+ "element", file)
      case Category.MAP =>
        check(t.getChildren.get(0), path :+ "key", file)
        check(t.getChildren.get(1), path :+ "value", file)
      case Category.UNION | Category.TIMESTAMP_INSTANT =>
        throw ZOrderErrors.typeNotReadable(path.mkString("."), t.toString, file)
      case _ =>
    }
  }

  private def leavesOf(t: TypeDescription, isRepeated: Boolean): Seq[(TypeDescription, Boolean)] =
    t.getCategory match {
      case Category.STRUCT => t.getChildren.asScala.toSeq.flatMap(leavesOf(_, isRepeated))
      case Category.LIST | Category.MAP =>
        t.getChildren.asScala.toSeq.flatMap(leavesOf(_, isRepeated = true))
      case _ => Seq(t -> isRepeated)
    }

  /**
   * Removes the metadata with which Spark marks CHAR and VARCHAR types. Such metadata belongs in the
   * schema of a table, not of a file.
   */
  private def withoutMetadata(t: DataType): DataType = t match {
    case s: StructType =>
      StructType(s.fields.map(f => StructField(f.name, withoutMetadata(f.dataType))))
    case a: ArrayType => ArrayType(withoutMetadata(a.elementType))
    case m: MapType => MapType(withoutMetadata(m.keyType), withoutMetadata(m.valueType))
    case other => other
  }
}
