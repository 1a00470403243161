package io.sparkzorder.skipping.scan

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{InSubqueryExec, ScalarSubquery}
import org.apache.spark.sql.types.BooleanType

/**
 * A filter of a scan whose values became known while the query ran.
 *
 * @param onFiles what it says, for the index
 * @param onRows what the reader may use for row groups and pages: as much or less
 */
private[sparkzorder] final case class ResolvedFilter(onFiles: Expression, onRows: Seq[Expression])

/**
 * Filters of a scan that hold a subquery. Spark runs the subqueries of a node before it runs the
 * node, so their values are known when the scan lists its files.
 */
private[sparkzorder] object RuntimeFilters {

  /** What Spark makes of a filter from a join if it finds no broadcast to take the keys from. */
  private val Unused: Expression = DynamicPruningExpression(Literal.TrueLiteral)

  def isUnused(filter: Expression): Boolean = filter == Unused

  /** True when a filter needs the result of a subquery. */
  def isRuntime(filter: Expression): Boolean =
    !isUnused(filter) && (filter.isInstanceOf[DynamicPruning] ||
      filter.exists(_.isInstanceOf[PlanExpression[_]]))

  /** Columns that the filters restrict at run time, as EXPLAIN shows them. */
  def columns(filters: Seq[Expression]): Seq[String] =
    filters.filter(isRuntime).flatMap(_.references.map(_.name)).distinct.sorted

  /** @return None if the filter says nothing that the index could use */
  def resolve(filter: Expression): Option[ResolvedFilter] = filter match {
    case DynamicPruningExpression(in: InSubqueryExec) =>
      in.values().map(values => ofKeys(in.child, values))
    case other =>
      // an error of a constant, such as 1 / 0, is for the filter after the scan to report
      Try(other.transformUp {
        case s: ScalarSubquery => Literal(s.eval(), s.dataType)
        case e if isConstant(e) => Literal(e.eval(), e.dataType)
      }).toOption.filterNot(isRuntime).map(known => ResolvedFilter(known, Seq(known)))
  }

  /** No row with NULL as its key finds a partner in a join. */
  private def ofKeys(key: Expression, values: Array[Any]): ResolvedFilter = {
    val present = values.filter(_ != null)
    if (present.isEmpty) {
      val never = Literal(false, BooleanType)
      ResolvedFilter(never, Seq(never))
    } else ResolvedFilter(InSet(key, present.toSet), KeyRanges.of(key, present))
  }

  private def isConstant(e: Expression): Boolean =
    !e.isInstanceOf[Literal] && e.children.nonEmpty && e.deterministic &&
      e.children.forall(_.isInstanceOf[Literal])
}
