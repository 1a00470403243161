// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.Resolver
import org.apache.spark.sql.types.{DataType, StringType, StructField, StructType}

import io.sparkzorder.bits.ZValues
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.ordering.OrderedType
import io.sparkzorder.table.{OrderingColumn, WrittenName}

private[sparkzorder] object OrderingColumns {

  /** The name parts of columns. Names that cannot be parsed are left out: another program may have written them. */
  def parsed(names: Seq[String]): Seq[Seq[String]] =
    names.flatMap(name => Try(WrittenName.parts(name)).toOption)
}

/** Finds and checks the columns of ZORDER BY. */
private[sparkzorder] final class OrderingColumns(target: String, sameName: Resolver) {

  /**
   * @param names name parts as written
   * @throws io.sparkzorder.errors.ZOrderException for a column that is missing, duplicated, a
   *   partition column or not orderable, and for too many columns
   */
  def resolve(
      names: Seq[Seq[String]],
      schema: StructType,
      partitions: StructType): Seq[OrderingColumn] = {
    if (names.length > ZValues.MaxColumns) throw ZOrderErrors.tooManyColumns(names.length, target)
    val columns = names.map { parts =>
      if (partitions.exists(p => sameName(p.name, parts.head))) {
        throw ZOrderErrors.columnIsPartitionColumn(parts.mkString("."), target)
      }
      find(parts, schema)
    }
    columns.zipWithIndex.foreach { case (c, i) =>
      if (columns.take(i).exists(_.parts == c.parts)) {
        throw ZOrderErrors.columnDuplicated(c.name, target)
      }
      checkOrderable(c)
    }
    columns
  }

  private def find(parts: Seq[String], schema: StructType): OrderingColumn = {
    def descend(rest: Seq[String], in: DataType, found: Seq[String]): OrderingColumn =
      (rest, in) match {
        case (Seq(), t) => OrderingColumn(found, t)
        case (name +: more, s: StructType) =>
          val field = matching(name, s).getOrElse(missing(parts, schema))
          descend(more, field.dataType, found :+ field.name)
        case _ => missing(parts, schema)
      }
    descend(parts, schema, Nil)
  }

  private def matching(name: String, s: StructType): Option[StructField] =
    s.find(_.name == name).orElse(s.find(f => sameName(f.name, name)))

  private def missing(parts: Seq[String], schema: StructType): Nothing =
    throw ZOrderErrors.columnNotFound(parts.mkString("."), target, schema.fieldNames.toSeq)

  private def checkOrderable(c: OrderingColumn): Unit =
    if (OrderedType.of(c.dataType).isEmpty) {
      throw ZOrderErrors.columnNotOrderable(
        c.name,
        target,
        c.dataType.sql,
        c.dataType match {
          case _: StructType => "name one of its fields, as in `column`.`field`"
          case _: StringType =>
            "its collation does not order bytes, and files have no min/max of it"
          case _ => "only atomic types that have an order can be"
        })
    }
}
