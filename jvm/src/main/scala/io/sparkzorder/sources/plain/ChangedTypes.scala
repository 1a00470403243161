// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.collection.JavaConverters._

import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, MessageType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96
import org.apache.parquet.schema.Type.Repetition

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.NameLookup

/**
 * The columns of rewritten Parquet files whose stored types say less, or something else, to readers other than Spark.
 * Spark sees the same type and the same values. Types that were widened are left out: there Spark's type has changed.
 *
 * @param target schema of the new files
 * @param files that are rewritten
 */
private[plain] final class ChangedTypes(target: MessageType, files: Seq[ScannedFile]) {
  import ChangedTypes._

  /** One sentence for INT96, and one for each column whose annotation is another one. */
  def changes: Seq[String] = {
    val found = ScannedFile.ofEachSchema(files)
      .flatMap(f => compare(target, f.schema, Nil).map(c => (c, f.file.path.getName)))
    val (int96, others) = found.partition(_._1.isInt96)
    int96Changes(int96.map(_._1.column).distinct) ++
      others.groupBy(_._1.column).toSeq.sortBy(_._1).map { case (column, own) =>
        val (change, file) = own.head
        s"`$column` is ${change.now} in the new files, and ${change.before} in files such as $file"
      }
  }

  private def int96Changes(columns: Seq[String]): Seq[String] =
    if (columns.isEmpty) Nil
    else {
      val named = ZOrderErrors.some(columns.map(c => s"`$c`"))
      Seq(
        s"INT96 becomes TIMESTAMP(MICROS) in $named: other readers now see an instant (TIMESTAMP WITH TIME " +
          "ZONE) instead of a local time; timestampType=preserve keeps INT96")
    }

  /** @param byPosition true inside of a list or map, where each writer has other names */
  private def compare(
      now: GroupType,
      before: GroupType,
      path: Seq[String],
      byPosition: Boolean = false): Seq[Change] =
    now.getFields.asScala.toSeq.zipWithIndex.flatMap { case (field, i) =>
      val partner =
        if (byPosition) Some(i).filter(_ < before.getFieldCount).map(before.getType(_))
        else {
          val folded = NameLookup.folded(field.getName)
          val same = before.getFields.asScala.filter(f => NameLookup.folded(f.getName) == folded)
          same.find(_.getName == field.getName).orElse(same.headOption)
        }
      partner.toSeq.flatMap(changed(field, _, path :+ field.getName))
    }

  private def changed(now: Type, before: Type, path: Seq[String]): Seq[Change] = {
    val (after, old) = (now.getLogicalTypeAnnotation, before.getLogicalTypeAnnotation)
    def change(isInt96: Boolean) =
      Seq(Change(path.mkString("."), text(now), text(before), isInt96))
    if (now.isPrimitive != before.isPrimitive) Nil
    else if (now.isPrimitive) {
      val (t, b) =
        (now.asPrimitiveType.getPrimitiveTypeName, before.asPrimitiveType.getPrimitiveTypeName)
      if (b == INT96 && t != INT96) change(isInt96 = true)
      else if (t == b && old != null && old != after && !isNumber(old)) change(isInt96 = false)
      else Nil
    } else if (isListOrMap(old) || old == null) {
      val isInside = isListOrMap(old) || now.isRepetition(Repetition.REPEATED)
      compare(now.asGroupType, before.asGroupType, path, isInside)
    } else if (old != after) change(isInt96 = false)
    else Nil
  }
}

private object ChangedTypes {
  private final case class Change(column: String, now: String, before: String, isInt96: Boolean)

  private def isListOrMap(annotation: LogicalTypeAnnotation): Boolean = annotation match {
    case _: ListLogicalTypeAnnotation | _: MapLogicalTypeAnnotation |
        _: MapKeyValueTypeAnnotation => true
    case _ => false
  }

  /** An integer or decimal keeps its value in a wider type. */
  private def isNumber(annotation: LogicalTypeAnnotation): Boolean = annotation match {
    case _: IntLogicalTypeAnnotation | _: DecimalLogicalTypeAnnotation => true
    case _ => false
  }

  private def text(t: Type): String =
    Option(t.getLogicalTypeAnnotation).map(_.toString).getOrElse {
      if (t.isPrimitive) t.asPrimitiveType.getPrimitiveTypeName.name else "a plain group"
    }
}
