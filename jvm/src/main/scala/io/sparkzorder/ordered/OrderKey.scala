// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  ExtractValue,
  Literal,
  UnaryExpression
}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RebalancePartitions}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructType}

import io.sparkzorder.ordering.OrderedType

/**
 * By what the rows of a write are ordered.
 *
 * @param marked the expressions to sort by
 * @param cells how the rows are dealt to tasks first; None to leave them where they are
 */
private[ordered] final case class OrderKey(marked: Seq[DeclaredKey], cells: Option[DealByCells]) {

  /** The same key over other columns. */
  def map(f: Expression => Expression): OrderKey =
    OrderKey(marked.map(f(_).asInstanceOf[DeclaredKey]), cells.map(c => c.copy(path = f(c.path))))
}

/**
 * One shuffle that deals the rows to cells.
 *
 * @param path the directory of a row below the table
 */
private[ordered] final case class DealByCells(cells: WriteCells, path: Expression) {

  /** @param key the place of a row is the first column of the key */
  def deal(rows: LogicalPlan, key: Seq[Attribute]): LogicalPlan =
    RebalancePartitions(
      Seq(CellOfPlace(key.head, path, cells)),
      rows,
      Some(cells.partitions))
}

/**
 * Marks the key by which a write is ordered. The value is that of the child.
 *
 * The mark tells [[OrderWrites]] that a query is ordered already, and EXPLAIN shows the mark with
 * the way of ordering and its reason.
 *
 * @param grade `sort`, `cells` or `sampled`
 * @param why why this way was chosen
 * @param nested the declaration, where a nested write has to choose the key
 */
private[sparkzorder] case class DeclaredKey(
    child: Expression,
    grade: String,
    why: String,
    nested: Option[DeclaredWrite] = None)
    extends UnaryExpression {
  override def nullable: Boolean = child.nullable
  override def dataType: DataType = child.dataType
  // a constant column is sorted by like any other, so that the mark stays in the plan
  override def foldable: Boolean = false
  override def prettyName: String = "declared_order"
  override def toString: String = s"$prettyName($child; $grade: $why)"
  override def sql: String = s"$prettyName(${child.sql})"

  override def eval(input: InternalRow): Any = child.eval(input)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    ev.copy(code = value.code, isNull = value.isNull, value = value.value)
  }

  override protected def withNewChildInternal(newChild: Expression): DeclaredKey =
    copy(child = newChild)
}

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
