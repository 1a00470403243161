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
 * The key by which the rows of a write are ordered.
 *
 * @param marked the expressions to sort by
 * @param cells the shuffle of the rows before the sort; None if the rows are not shuffled
 */
private[ordered] final case class OrderKey(marked: Seq[DeclaredKey], cells: Option[DealByCells]) {

  /** The same key over other columns. */
  def map(f: Expression => Expression): OrderKey =
    OrderKey(marked.map(f(_).asInstanceOf[DeclaredKey]), cells.map(c => c.copy(path = f(c.path))))
}

/**
 * A shuffle that sends the rows of each cell to one task.
 *
 * @param path the path of the partition directory of a row, relative to the table
 */
private[ordered] final case class DealByCells(cells: WriteCells, path: Expression) {

  /** @param key the columns of the sort key; the first column is the place of the row */
  def deal(rows: LogicalPlan, key: Seq[Attribute]): LogicalPlan =
    RebalancePartitions(
      Seq(CellOfPlace(key.head, path, cells)),
      rows,
      Some(cells.partitions))
}

/**
 * Marks the key by which a write is ordered, and has the value of its child.
 *
 * By the mark, [[OrderWrites]] recognizes a query that is already ordered. EXPLAIN shows the mark with the
 * way of ordering and the reason for it.
 *
 * @param grade `sort`, `cells` or `sampled`
 * @param why the reason for this way
 * @param nested the declaration, if a nested write still has to choose the key
 */
private[sparkzorder] case class DeclaredKey(
    child: Expression,
    grade: String,
    why: String,
    nested: Option[DeclaredWrite] = None)
    extends UnaryExpression {
  override def nullable: Boolean = child.nullable
  override def dataType: DataType = child.dataType
  // not foldable, because Spark would otherwise remove a constant sort key, and the mark with it
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
