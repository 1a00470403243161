package io.sparkzorder.sources.delta

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LocalRelation, SubqueryAlias}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.delta.Snapshot
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.errors.ZOrderErrors

/** Stands for the table while Spark resolves and simplifies a WHERE clause. */
private[delta] final case class TableColumns(override val output: Seq[Attribute]) extends LeafNode

/** Turns a WHERE clause into filters that Delta's data skipping takes. */
private[delta] final class DeltaFilter(state: Snapshot, name: String) extends PredicateHelper {

  /**
   * @param where with unresolved columns
   * @return None if no row matches; the conjuncts otherwise
   */
  def of(where: Expression): Option[Seq[Expression]] = {
    val session = SparkLine.session(SparkSession.active)
    val parts = session.sessionState.sqlParser.parseMultipartIdentifier(name)
    val table =
      SubqueryAlias(parts.last, TableColumns(DataTypeUtils.toAttributes(state.schema)))
    val optimized = session.sessionState.executePlan(Filter(where, table)).optimizedPlan
    val found = optimized.collectFirst {
      case f: Filter => Some(splitConjunctivePredicates(f.condition))
      case _: TableColumns => Some(Nil)
      case _: LocalRelation => None
    }.getOrElse(throw new IllegalStateException(s"no filter in $optimized"))
    if (found.exists(_.exists(!_.deterministic))) throw refused(where, "it is not deterministic")
    if (found.exists(_.contains(Literal.FalseLiteral))) None else found
  }

  private def refused(where: Expression, problem: String): Throwable =
    ZOrderErrors.predicateNotTranslatable(
      Try(where.sql).getOrElse(where.toString),
      name,
      problem)
}
