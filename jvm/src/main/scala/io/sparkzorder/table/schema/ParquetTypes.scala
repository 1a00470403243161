// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.ScannedFile

/** Which Parquet types OPTIMIZE can read and write back as they are. */
private[sparkzorder] object ParquetTypes {

  /**
   * Rejects a file with a type that Spark cannot read.
   *
   * @param conf settings by which the file is read
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_READABLE; names the column and
   *   type
   */
  def checkReadable(footer: ScannedFile, conf: SQLConf): Unit =
    leaves(footer).find { case (_, leaf) => isUnreadable(leaf, conf) }.foreach {
      case (path, leaf) =>
        throw ZOrderErrors.typeNotReadable(
          path.mkString("."),
          describe(leaf),
          footer.file.path.toString)
    }

  /**
   * Rejects a file with a type that Spark would change. Spark reads such a column as another type
   * and would write that other type.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_WRITABLE; names the column and
   *   type
   */
  def checkWritable(footer: ScannedFile): Unit =
    leaves(footer).foreach { case (path, leaf) =>
      changesTo(leaf).foreach { to =>
        throw ZOrderErrors.typeNotWritable(
          path.mkString("."),
          describe(leaf),
          footer.file.path.toString,
          to)
      }
    }

  /**
   * The same Spark schema, with every field, element and map value nullable. Spark reads files with
   * such a schema.
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

  private def leaves(footer: ScannedFile): Seq[(Seq[String], PrimitiveType)] =
    leaves(footer.schema, Nil)

  private def leaves(t: Type, path: Seq[String]): Seq[(Seq[String], PrimitiveType)] = t match {
    case p: PrimitiveType => Seq(path -> p)
    case g: GroupType =>
      g.getFields.asScala.toSeq.flatMap(f => leaves(f, path :+ f.getName))
  }

  private def isUnreadable(t: PrimitiveType, conf: SQLConf): Boolean = {
    val annotation = t.getLogicalTypeAnnotation
    t.getPrimitiveTypeName match {
      case FIXED_LEN_BYTE_ARRAY => !annotation.isInstanceOf[DecimalLogicalTypeAnnotation]
      case _ =>
        annotation match {
          case ts: TimestampLogicalTypeAnnotation =>
            ts.getUnit == TimeUnit.NANOS && !nanosAsLong(conf)
          case time: TimeLogicalTypeAnnotation => time.getUnit != TimeUnit.MICROS || !hasTime(conf)
          case _ => false
        }
    }
  }

  // the type TIME is new in Spark 4.1 and disabled there by default
  private def hasTime(conf: SQLConf): Boolean =
    Try(conf.getConfString("spark.sql.timeType.enabled").toBoolean).getOrElse(false)

  private def nanosAsLong(conf: SQLConf): Boolean =
    conf.getConf(SQLConf.LEGACY_PARQUET_NANOS_AS_LONG)

  private def changesTo(t: PrimitiveType): Option[String] =
    t.getLogicalTypeAnnotation match {
      case i: IntLogicalTypeAnnotation if !i.isSigned =>
        Some(i.getBitWidth match {
          case 8 => "SMALLINT"
          case 16 => "INT"
          case 32 => "BIGINT"
          case _ => "DECIMAL(20,0)"
        })
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
