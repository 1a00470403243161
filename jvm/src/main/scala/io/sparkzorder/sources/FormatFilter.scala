// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LocalRelation, SubqueryAlias}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors

/** Stands for a table while Spark resolves and simplifies a WHERE clause. */
private[sources] final case class ColumnsOfFormat(override val output: Seq[Attribute])
    extends LeafNode

/** A WHERE clause as Spark simplifies it, for the filters of a format. */
private[sources] object FormatFilter extends PredicateHelper {

  /**
   * @param where with unresolved columns
   * @param name of the table, quoted for SQL
   * @return the conjuncts; None if no row matches
   */
  def simplified(where: Expression, name: String, schema: StructType): Option[Seq[Expression]] = {
    val session = SparkLine.session(SparkSession.active)
    val parts = session.sessionState.sqlParser.parseMultipartIdentifier(name)
    val table =
      SubqueryAlias(parts.last, ColumnsOfFormat(DataTypeUtils.toAttributes(schema)))
    val optimized = session.sessionState.executePlan(Filter(where, table)).optimizedPlan
    optimized.collectFirst {
      case f: Filter => Some(splitConjunctivePredicates(f.condition))
      case _: ColumnsOfFormat => Some(Nil)
      case _: LocalRelation => None
    }.getOrElse(throw new IllegalStateException(s"no filter in $optimized"))
      .filterNot(_.contains(Literal.FalseLiteral)).map(_.filterNot(_ == Literal.TrueLiteral))
  }

  def untranslatable(where: Expression, name: String, problem: String): Throwable =
    ZOrderErrors.predicateNotTranslatable(
      Try(where.sql).getOrElse(where.toString),
      name,
      problem)
}
