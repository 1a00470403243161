// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{
  FileSourceScanExec,
  InSubqueryExec,
  ReusedSubqueryExec,
  ScalarSubquery,
  SparkPlan,
  SubqueryBroadcastExec
}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.types.BooleanType

import io.sparkzorder.conf.Settings

/**
 * A filter of a scan, with the values that it got while the query ran.
 *
 * @param onFiles the filter by which files are pruned
 * @param onRows the filters by which the reader prunes row groups and pages. They are coarser: each of them is true
 *   for each row for which `onFiles` is true
 */
private[sparkzorder] final case class ResolvedFilter(onFiles: Expression, onRows: Seq[Expression])

/**
 * Filters of a scan that have a subquery. Spark runs the subqueries of a node before the node itself, so
 * the values of the subqueries are known when the scan lists its files.
 */
private[sparkzorder] object RuntimeFilters extends PredicateHelper {

  /** Spark puts this filter in the place of a filter on the keys of a join if no broadcast has the keys. */
  private val Unused: Expression = DynamicPruningExpression(Literal.TrueLiteral)

  def isUnused(filter: Expression): Boolean = splitDisjunctivePredicates(filter).contains(Unused)

  /** True for a filter by the keys of joins, in each of the forms that Spark gives it. */
  def isOfJoin(filter: Expression): Boolean =
    splitDisjunctivePredicates(filter).forall(_.isInstanceOf[DynamicPruning])

  /** True if a filter needs the result of a subquery. */
  def isRuntime(filter: Expression): Boolean =
    !isUnused(filter) && (filter.isInstanceOf[DynamicPruning] ||
      filter.exists(_.isInstanceOf[PlanExpression[_]]))

  /**
   * The filters that the execution may use. For some filters, Spark runs a side of a join once more to get its keys.
   * Such a filter is usable only if that second run read the listings that the execution holds, as the join does. The
   * filter is dropped, for example, if a plan is executed again after a failure: the plan keeps the keys of the first
   * execution, but lists the files of the join anew.
   *
   * @param execution the id of the execution for which the thread works
   */
  def usable(filters: Seq[Expression], execution: Option[String]): Seq[Expression] =
    filters.filter(sidesOf(_).forall(side => execution.exists(wasReadIn(side, _))))

  /** True if some filter has keys or bounds from a second run of a side of a join. */
  def areOfSecondRun(filters: Seq[Expression]): Boolean = filters.exists(sidesOf(_).nonEmpty)

  /** The plans of the sides of joins that Spark has run once more for a filter. */
  private def sidesOf(filter: Expression): Seq[SparkPlan] = filter.collect {
    case in: InSubqueryExec if !isOfBroadcast(in.plan) => in.plan
    case s: ScalarSubquery if s.plan.output.exists(_.name == OfBounds) => s.plan
  }

  /** True if each scan of files in a plan that has run used the listing that an execution holds. */
  private def wasReadIn(plan: SparkPlan, execution: String): Boolean =
    (plan match {
      case scan: FileSourceScanExec => scan.relation.location match {
          case ours: ZOrderFileIndex => ours.hasListedFor(execution)
          // Spark's own file indexes may list anew. All other file indexes belong to table formats, and have
          // the files of one snapshot
          case _: PartitioningAwareFileIndex | _: CatalogFileIndex => false
          case _ => true
        }
      case _ => true
    }) && inner(plan).forall(wasReadIn(_, execution)) &&
      plan.subqueries.forall(wasReadIn(_, execution))

  /** The plans that a node runs: its children, or what an adaptive or a reused plan stands for. */
  private[scan] def inner(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.executedPlan)
    case stage: QueryStageExec => Seq(stage.plan)
    case reused: ReusedExchangeExec => Seq(reused.child)
    case reused: ReusedSubqueryExec => Seq(reused.child)
    case other => other.children
  }

  private def isOfBroadcast(plan: SparkPlan): Boolean = plan match {
    case _: SubqueryBroadcastExec => true
    case reused: ReusedSubqueryExec => isOfBroadcast(reused.child)
    case _ => false
  }

  /** The name of the output column of the subqueries that compute the bounds of a side. */
  val OfBounds = "zorder_bounds_of_keys"

  /** The columns of the filters that get their values at run time, for EXPLAIN. */
  def columns(filters: Seq[Expression]): Seq[String] =
    filters.filter(isRuntime).flatMap(_.references.map(_.name)).distinct.sorted

  def columnsOf(filter: Expression): Seq[String] = filter.references.map(_.name).toSeq.distinct

  /** False if the settings forbid pruning by values that become known at run time. */
  def isOn: Boolean =
    Settings.ofSession(Settings.SkippingEnabled) && Settings.ofSession(Settings.SkippingDynamic)

  /**
   * For a filter of a plan that has not run: its text, and the same filter with arbitrary values in place
   * of the values of its subqueries. With the second, a caller finds out whether the index can use such a
   * filter.
   */
  def probe(filter: Expression): (String, Expression) = filter match {
    case d: DynamicPruningSubquery =>
      (s"${d.pruningKey.sql} IN (keys of a join)", EqualTo(d.pruningKey, some(d.pruningKey)))
    case DynamicPruningExpression(compared) => probe(compared)
    case keys: Or if keys.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      val parts = splitDisjunctivePredicates(keys).map(probe).groupBy(_._1).toSeq.sortBy(_._1)
      (parts.map(_._1).mkString(" OR "), parts.map(_._2.head._2).reduce(Or))
    case other =>
      val valued = Try(folded(other.transformUp {
        case s: expressions.ScalarSubquery => some(s)
      }))
      (Try(other.sql).getOrElse(other.toString), valued.getOrElse(other))
  }

  private def some(e: Expression): Literal =
    Try(Literal.default(e.dataType)).getOrElse(Literal(null, e.dataType))

  private[scan] def folded(filter: Expression): Expression = filter.transformUp {
    case s: ScalarSubquery => Literal(s.eval(), s.dataType)
    case e if isConstant(e) => Literal(e.eval(), e.dataType)
  }

  private val OfRun = new TreeNodeTag[Seq[Expression]]("zorder.filtersOfRun")

  /** Stores the resolved filters of a scan in the plan, for the recorded workload. */
  private[scan] def remember(scan: SparkPlan, onFiles: Seq[Expression]): Unit =
    scan.setTagValue(OfRun, onFiles)

  /** The resolved filters of a scan that has run; empty if it has no such filters, or has not run. */
  def ofRun(scan: SparkPlan): Seq[Expression] = scan.getTagValue(OfRun).getOrElse(Nil)

  /**
   * Puts the values of its subqueries into a filter.
   *
   * @param rangeOf returns the least and the greatest value of a column in the files; None if they are not
   *   known
   * @return the filter with the values of its subqueries; None if the filter has no values that could be
   *   used
   */
  def resolve(
      filter: Expression,
      rangeOf: Expression => Option[(Long, Long)]): Option[ResolvedFilter] = filter match {
    case DynamicPruningExpression(in: InSubqueryExec) =>
      in.values().map(values => ofKeys(in.child, values, rangeOf))
    case keys: Or if keys.exists(_.isInstanceOf[DynamicPruning]) =>
      val conditions = conditionsIn(keys)
      val joins =
        splitDisjunctivePredicates(keys).filterNot(isCondition).map {
          case DynamicPruningExpression(in: InSubqueryExec) => in.values().map(in.child -> _)
          case _ => None
        }
      if (joins.isEmpty || joins.contains(None)) None
      else Some(ofOneOf(joins.flatten, rangeOf, conditions))
    case other =>
      // an error of a constant, such as 1 / 0, is reported by the filter above the scan
      Try(folded(other)).toOption.filterNot(isRuntime).map(known =>
        ResolvedFilter(known, Seq(known)))
  }

  /** The conditions of a filter that let a row pass although it has none of the keys. */
  private[scan] def conditionsIn(filter: Expression): Seq[Expression] =
    splitDisjunctivePredicates(filter).collect {
      case d @ DynamicPruningExpression(condition) if isCondition(d) => condition
    }

  private def isCondition(part: Expression): Boolean = part match {
    case Unused => false
    case DynamicPruningExpression(known) => !known.exists(_.isInstanceOf[PlanExpression[_]])
    case _ => false
  }

  /**
   * The filter for rows that have a key of at least one of several joins, or meet one of some conditions.
   * Keys for the same column are merged to one set.
   */
  private[scan] def ofOneOf(
      joins: Seq[(Expression, Array[Any])],
      rangeOf: Expression => Option[(Long, Long)],
      conditions: Seq[Expression]): ResolvedFilter = {
    val ofJoins = joins.map(_._1.canonicalized).distinct.map { form =>
      val same = joins.filter(_._1.canonicalized == form)
      ofKeys(same.head._1, same.flatMap(_._2).toArray, rangeOf)
    }
    (ofJoins ++ conditions.map(c => ResolvedFilter(c, Seq(c)))).reduce(either)
  }

  private def either(a: ResolvedFilter, b: ResolvedFilter): ResolvedFilter = ResolvedFilter(
    Or(a.onFiles, b.onFiles),
    if (a.onRows.isEmpty || b.onRows.isEmpty) Nil
    else Seq(Or(a.onRows.reduce(And), b.onRows.reduce(And))))

  /**
   * The filter for rows that have one of the keys. NULL is left out, because a row with a NULL key has no
   * match.
   */
  private def ofKeys(
      key: Expression,
      values: Array[Any],
      rangeOf: Expression => Option[(Long, Long)]): ResolvedFilter = {
    val present = values.filter(_ != null)
    if (present.isEmpty) {
      val never = Literal(false, BooleanType)
      ResolvedFilter(never, Seq(never))
    } else {
      lazy val within = rangeOf(key)
      val onFiles =
        if (present.length <= MaxKeys) InSet(key, present.toSet)
        else KeyRanges.ranges(key, present, MaxRangesOfFiles, within)
      ResolvedFilter(onFiles, KeyRanges.of(key, present, within))
    }
  }

  // The index compares each key with the bounds of files. More keys than this are replaced by ranges, which prune
  // nearly as many files and need less time.
  private val MaxKeys = 100000
  private val MaxRangesOfFiles = 4096

  private def isConstant(e: Expression): Boolean =
    !e.isInstanceOf[Literal] && e.children.nonEmpty && e.deterministic &&
      e.children.forall(_.isInstanceOf[Literal])
}
