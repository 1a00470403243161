package io.sparkzorder.commands

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.{
  And,
  AttributeReference,
  Expression,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.table.{CatalogTarget, Target}

/**
 * The WHERE clause of OPTIMIZE, divided into the conjuncts that use data columns and the conjuncts
 * that do not. Columns are identified by name.
 *
 * @param partitionSchema partition columns of the target
 */
final class WhereClause(
    where: Expression,
    target: Target,
    partitionSchema: StructType,
    sameName: (String, String) => Boolean)
    extends PredicateHelper {

  private val (partitionOnly, others) =
    splitConjunctivePredicates(where).partition(dataColumns(_).isEmpty)

  /** The conjuncts without data columns, which partition columns alone decide. */
  val onPartitions: Option[Expression] =
    partitionOnly.map(WhereClause.byName).reduceOption(And(_, _))

  /** The conjuncts that use a data column. They may use partition columns too. */
  val onFiles: Option[Expression] = others.map(WhereClause.byName).reduceOption(And(_, _))

  def sql: String = where.sql

  /** The names of the columns in the clause that are not partition columns. */
  def dataColumns: Seq[String] = dataColumns(where)

  /** Makes the name of a catalog table an alias of `plan`, for clauses with `table.column`. */
  def named(plan: LogicalPlan): LogicalPlan = target match {
    case CatalogTarget(t) => SubqueryAlias(t.identifier.table, plan)
    case _ => plan
  }

  private def dataColumns(e: Expression): Seq[String] = e.collect {
    case a: AttributeReference => a.name
    case u: UnresolvedAttribute => ownPart(u.nameParts)
  }.distinct.filterNot(n => partitionSchema.fieldNames.exists(sameName(_, n)))

  private def ownPart(parts: Seq[String]): String = target match {
    case CatalogTarget(t) if parts.length > 1 && sameName(parts.head, t.identifier.table) =>
      parts(1)
    case _ => parts.head
  }
}

object WhereClause {

  /**
   * Replaces columns by their unresolved names. The analyzer may have bound the columns to the
   * table already, but later steps resolve them again.
   */
  private[sparkzorder] def byName(condition: Expression): Expression = condition.transform {
    case a: AttributeReference => UnresolvedAttribute(Seq(a.name))
  }
}
