// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.collection.JavaConverters._

import org.apache.parquet.schema.{GroupType, MessageType}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.table.ParquetFiles
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.NameLookup

/**
 * Which values sessions with other settings, or of another Spark, see otherwise in the new files: those that
 * Spark's reader makes from more than the stored value. This session sees the same values.
 *
 * @param files that are rewritten
 */
private[plain] final class ValuesOfOthers(inputs: PlainInputs, files: Seq[ScannedFile]) {

  /** One sentence for each kind of change. */
  def changes: Seq[String] =
    if (inputs.target.format != ParquetFiles) Nil else int96.toSeq ++ structs

  /** Spark shifts INT96 of other writers than parquet-mr if the session says so; we write as parquet-mr. */
  private def int96: Option[String] =
    files.find(f => !f.createdBy.startsWith("parquet-mr") && hasInt96(f.schema)).map { f =>
      val key = SQLConf.PARQUET_INT96_TIMESTAMP_CONVERSION.key
      val own = inputs.session.sessionState.conf.isParquetINT96TimestampConversion
      s"INT96 timestamps of files that parquet-mr has not written, such as ${f.file.path.getName}, had " +
        s"other values in sessions with $key = ${!own}; all sessions now see those of this session"
    }

  private def hasInt96(schema: MessageType): Boolean =
    schema.getColumns.asScala.exists(_.getPrimitiveType.getPrimitiveTypeName == INT96)

  /** A struct none of whose asked fields a file has was NULL; the new files have all fields. */
  private def structs: Seq[String] = {
    val found = ScannedFile.ofEachSchema(files).flatMap(f =>
      structsIn(f.schema, Nil).map { case (path, fields) => (path, fields, f) })
    found.groupBy(_._1).toSeq.sortBy(_._1.mkString(".")).flatMap { case (path, own) =>
      val all = own.flatMap(_._2).toSet
      own.find(_._2 != all).map { case (_, _, f) =>
        s"files such as ${f.file.path.getName} lack fields of the struct `${path.mkString(".")}`: a query " +
          "for these fields alone, before Spark 4.1 or with " +
          "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing, saw NULL for the struct and " +
          "now sees a struct of NULLs"
      }
    }
  }

  /** The structs outside of lists and maps, by name without case, with the names of their fields. */
  private def structsIn(group: GroupType, path: Seq[String]): Seq[(Seq[String], Set[String])] = {
    val inner = group.getFields.asScala.filter(f =>
      !f.isPrimitive && f.getLogicalTypeAnnotation == null).flatMap(f =>
      structsIn(f.asGroupType, path :+ NameLookup.folded(f.getName)))
    if (path.isEmpty) inner.toSeq
    else
      (path -> group.getFields.asScala.map(f => NameLookup.folded(f.getName)).toSet) +: inner.toSeq
  }
}
