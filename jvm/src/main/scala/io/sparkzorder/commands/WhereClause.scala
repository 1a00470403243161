// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import java.util.Locale

import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.{
  And,
  AttributeReference,
  Expression,
  FileSourceMetadataAttribute,
  PredicateHelper,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.{CatalogTarget, Target}

/**
 * The WHERE clause of a statement, divided into the conjuncts that use data columns and the conjuncts that do not.
 * Columns are identified by name.
 *
 * @param partitionSchema partition columns of the target
 */
private[sparkzorder] final class WhereClause(
    where: Expression,
    target: Target,
    partitionSchema: StructType,
    sameName: (String, String) => Boolean)
    extends PredicateHelper {

  private val (partitionOnly, others) =
    splitConjunctivePredicates(where).partition(dataColumns(_).isEmpty)

  /** The conjuncts without data columns. The values of the partition columns decide them. */
  val onPartitions: Option[Expression] =
    partitionOnly.map(WhereClause.byName).reduceOption(And(_, _))

  /** The conjuncts that use a data column. They may use partition columns, too. */
  val onFiles: Option[Expression] = others.map(WhereClause.byName).reduceOption(And(_, _))

  def sql: String = where.sql

  /**
   * Refuses a clause that neither partition values nor the bounds of a file can decide.
   *
   * @param analyzed plan with one of the two parts of the clause
   * @param isOfFiles true for the part that uses data columns
   */
  def checkAnalyzed(analyzed: LogicalPlan, isOfFiles: Boolean): Unit = {
    val conditions = analyzed.collect { case f: Filter => f.condition }
    def refuse(problem: String) = WhereClause.refuse(where, target.name, problem)
    if (conditions.exists(!_.deterministic)) refuse(WhereClause.NotDeterministic)
    val used = conditions.flatMap(_.references)
    // before the analysis, a word such as current_date looks like a column, so the check comes after the analysis
    val hasOthers = !isOfFiles && others.nonEmpty
    if (used.isEmpty && !hasOthers && !partitionOnly.exists(columns(_).exists(isOfPartitions)))
      refuse(WhereClause.NoColumn)
    used.collectFirst { case FileSourceMetadataAttribute(a) => a.name }
      .foreach(m => refuse(s"it uses `$m`, which is not a column of the table"))
  }

  /**
   * @param statement names the statement in the message
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PREDICATE_NOT_ON_PARTITIONS
   */
  def requireOnPartitions(statement: String): Unit =
    if (dataColumns.nonEmpty) {
      throw ZOrderErrors.predicateNotOnPartitions(
        statement,
        sql,
        dataColumns,
        target.name,
        partitionSchema.fieldNames.toSeq)
    }

  /** The names of the columns in the clause that are not partition columns. */
  def dataColumns: Seq[String] = dataColumns(where)

  /**
   * Attributes for the columns of a schema. A subquery of the clause refers to a column by the id that the analyzer
   * gave to the column, so the column keeps this id.
   */
  def attributes(schema: StructType): Seq[AttributeReference] = {
    val analyzed = where.collect { case a: AttributeReference => a }
    DataTypeUtils.toAttributes(schema).map(a =>
      analyzed.find(k => sameName(k.name, a.name)).fold(a)(k => a.withExprId(k.exprId)))
  }

  /** `plan` under the name of the catalog table, so that `table.column` and `db.table.column` can be resolved. */
  def named(plan: LogicalPlan): LogicalPlan =
    if (tableName.isEmpty) plan else SubqueryAlias(tableName, plan)

  // catalog, database and table; empty for a path
  private def tableName: Seq[String] = target match {
    case CatalogTarget(t) => t.identifier.nameParts
    case _ => Nil
  }

  private def dataColumns(e: Expression): Seq[String] =
    columns(e).filterNot(n => isOfPartitions(n) || isFunction(n))

  private def columns(e: Expression): Seq[String] = e.collect {
    case a: AttributeReference => a.name
    case u: UnresolvedAttribute => ownPart(u.nameParts)
  }.distinct

  private def isOfPartitions(name: String): Boolean =
    partitionSchema.fieldNames.exists(sameName(_, name))

  /**
   * True for a word such as `current_date`, which Spark's parser takes for a column. It is a function unless the table
   * has such a column. The columns of a path are not known here, and may well have a name such as `user`.
   */
  private def isFunction(name: String): Boolean = {
    val word = name.toLowerCase(Locale.ROOT)
    target match {
      case CatalogTarget(t) =>
        WhereClause.functions(word) && !t.schema.fieldNames.exists(sameName(_, name))
      case _ => WhereClause.ofMoment(word)
    }
  }

  /** The name of the column, without the name of the table before it and of a field behind it. */
  private def ownPart(parts: Seq[String]): String = {
    def isBefore(qualifier: Seq[String]): Boolean = parts.length > qualifier.length &&
      qualifier.zip(parts).forall { case (a, b) => sameName(a, b) }
    // the longest qualifier first, as Spark resolves names
    parts.drop(tableName.tails.find(isBefore).fold(0)(_.length)).head
  }
}

private[sparkzorder] object WhereClause {
  private val NoColumn = "it has no column of the table"
  private val NotDeterministic = "it is not deterministic"

  private val ofMoment = Set("current_date", "current_timestamp")

  /** Functions that Spark accepts without parentheses, if no column has the name. */
  private val functions =
    ofMoment ++ Set("current_time", "localtimestamp", "current_user", "user", "session_user")

  /**
   * Refuses a clause without any column, before Spark analyzes it. A clause such as `1 = 1 AND p = 2` is accepted,
   * because one of its conjuncts has a column.
   *
   * @param target how messages name the table
   */
  def check(where: Expression, target: String): Unit = {
    if (!where.exists(e =>
        e.isInstanceOf[AttributeReference] || e.isInstanceOf[UnresolvedAttribute]))
      refuse(where, target, NoColumn)
  }

  /**
   * Like [[check]], for a Delta or Iceberg table. There the format evaluates the clause, and neither format can
   * evaluate a subquery. The clause of a plain table may have a subquery, because Spark evaluates the clause in a
   * query over the partition values.
   */
  def checkForFormat(where: Expression, target: String): Unit = {
    if (where.exists(_.isInstanceOf[SubqueryExpression])) refuse(where, target, "it has a subquery")
    check(where, target)
  }

  private def refuse(where: Expression, target: String, problem: String): Nothing =
    throw ZOrderErrors.predicateNotTranslatable(
      Try(where.sql).getOrElse(where.toString),
      target,
      problem)

  /**
   * Replaces resolved columns by their unresolved names. The analyzer may have bound the columns to the
   * table already, but later steps resolve the names again.
   */
  private[sparkzorder] def byName(condition: Expression): Expression =
    SparkLine.inlined(condition).transform {
      case a: AttributeReference => UnresolvedAttribute(Seq(a.name))
    }
}
