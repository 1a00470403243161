// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, ExtractValue, Literal}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.sparkzorder.ordering.OrderedType

/** Finds the columns of a declared order among the columns that a write writes. */
private[ordered] object KeyColumns {

  /**
   * @param output the written columns, with the names that they have in the table
   * @param isData false for the name of a partition column
   * @return the columns, or why the order cannot be used. Tables change: a column may have been
   *   dropped or renamed since the order was declared
   */
  def find(
      order: DeclaredOrder,
      output: Seq[Attribute],
      isData: String => Boolean): Either[String, Seq[Expression]] = {
    val found = order.columns.map(find(_, output.filter(a => isData(a.name))))
    found.collectFirst { case Left(problem) => problem } match {
      case Some(problem) => Left(problem)
      case None => Right(found.collect { case Right(column) => column })
    }
  }

  private def find(parts: Seq[String], output: Seq[Attribute]): Either[String, Expression] = {
    val name = parts.mkString(".")
    val sameName = SQLConf.get.resolver
    output.find(a => sameName(a.name, parts.head)) match {
      case None => Left(s"it has no data column $name")
      case Some(column) =>
        val field = parts.tail.foldLeft[Option[Expression]](Some(column)) { (in, part) =>
          in.filter(_.dataType match {
            case s: StructType => s.fieldNames.count(sameName(_, part)) == 1
            case _ => false
          }).map(ExtractValue(_, Literal(part), sameName))
        }
        field match {
          case None => Left(s"it has no data column $name")
          case Some(f) if OrderedType.of(f.dataType).isEmpty =>
            Left(s"its column $name has the type ${f.dataType.sql}, which has no order")
          case Some(f) => Right(f)
        }
    }
  }
}
