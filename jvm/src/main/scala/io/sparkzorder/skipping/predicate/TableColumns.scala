// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  BoundReference,
  Expression,
  ExprId,
  GetStructField,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY
import org.apache.spark.sql.types.{Metadata, StructField, StructType}

import io.sparkzorder.skipping.values.SearchedFunction

/**
 * The data columns of a relation, by the expression ids of its attributes. Names would not be enough: in a plan,
 * an attribute of another relation may have the same name.
 *
 * @param output attributes of the relation
 * @param dataSchema what its files hold
 * @param partitionSchema what the names of its directories hold
 * @param bytesAreText as [[io.sparkzorder.table.DataFormat.readsBytesAsText]] of the relation's files
 */
private[sparkzorder] final class TableColumns(
    output: Seq[Attribute],
    dataSchema: StructType,
    partitionSchema: StructType,
    sameName: (String, String) => Boolean,
    bytesAreText: Boolean = true) {

  private val fields: Map[ExprId, StructField] = output.flatMap { a =>
    val found = dataSchema.fields.filter(_.name == a.name)
    val isData = found.length == 1 && !a.metadata.contains(TableColumns.MetadataColumn) &&
      !partitionSchema.exists(p => sameName(p.name, a.name))
    if (isData) Some(a.exprId -> found.head) else None
  }.toMap

  /** The leaf column that an expression refers to. Left is the reason why the expression is no such column. */
  def find(e: Expression): Either[String, DataColumn] = e match {
    case a: AttributeReference =>
      fields.get(a.exprId) match {
        case None => Left(s"${a.name} is not a data column")
        case Some(field) if isChar(field.metadata) || isChar(a.metadata) =>
          Left(s"${a.name} is a CHAR column, which is compared with padding")
        case Some(field) =>
          // the default is looked for in both places, because Spark drops it from the metadata of a pruned field
          val hasDefault = Seq(field.metadata, a.metadata)
            .exists(_.contains(EXISTS_DEFAULT_COLUMN_METADATA_KEY))
          Right(DataColumn(
            Seq(field.name),
            a.dataType,
            nullWhereMissing = !hasDefault,
            bytesAreText))
      }
    case g: GetStructField =>
      find(g.child).map { parent =>
        val field = parent.dataType.asInstanceOf[StructType](g.ordinal)
        parent.copy(path = parent.path :+ field.name, dataType = field.dataType)
      }
    case other => Left(TableColumns.kind(other))
  }

  private def isChar(metadata: Metadata): Boolean =
    metadata.contains(TableColumns.CharVarchar) &&
      TableColumns.char.findFirstIn(metadata.getString(TableColumns.CharVarchar)).isDefined
}

private[sparkzorder] object TableColumns {
  // Spark's keys of metadata, which are private in Spark
  private val CharVarchar = "__CHAR_VARCHAR_TYPE_STRING"
  private val MetadataColumn = "__metadata_col"

  // finds char( inside a struct too, but not in varchar(
  private val char = "(?i)\\bchar\\(".r

  /** Names an expression that is not understood, for an explanation. */
  def kind(e: Expression): String =
    if (SubqueryExpression.hasSubquery(e)) "a subquery"
    else s"the expression ${SearchedFunction.textOf(e)}"
}

/** Whether an expression can be NULL, by the nullability that Spark computes. */
private[predicate] final class Nullability(columns: TableColumns) {

  /** True if the expression has a value for each row, whatever the columns hold. */
  def isNeverNull(e: Expression): Boolean = !isNullable(e, columnsAre = true)

  /**
   * Columns such that in every row where the expression is NULL, at least one of these columns is NULL, too. None if
   * there may be other rows: `a / b` is NULL also where `b` is 0.
   */
  def columnsOf(e: Expression): Option[Seq[Expression]] =
    if (isNullable(e, columnsAre = false)) None else Some(columnsIn(e))

  // a field of a struct is a column, and the struct around it does not count
  private def columnsIn(e: Expression): Seq[Expression] =
    if (isColumn(e)) Seq(e) else e.children.flatMap(columnsIn)

  /**
   * Also true for an expression that refers to anything but data columns of the table.
   *
   * @param columnsAre whether the columns are taken to be nullable
   */
  private def isNullable(e: Expression, columnsAre: Boolean): Boolean = {
    val assumed = e.transformDown {
      case c if isColumn(c) => BoundReference(0, c.dataType, columnsAre)
    }
    assumed.references.nonEmpty || assumed.nullable
  }

  private def isColumn(e: Expression): Boolean = columns.find(e).isRight
}
