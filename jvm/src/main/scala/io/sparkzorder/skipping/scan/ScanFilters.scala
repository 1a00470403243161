// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ScanOperation
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf

/**
 * The filters of a relation that only its scan uses to prune. Their values come from joins and subqueries,
 * and are known only when the query runs.
 */
private[skipping] object ScanFilters extends PredicateHelper {

  /**
   * Returns the plan without the filters that joins have pushed to the scan, and the filters that the scan
   * must get in addition. The filters of joins leave the plan because Spark would test them for each row,
   * and the join tests each row anyway. Filters of joins on partition columns stay in the plan, for Spark.
   */
  def split(plan: LogicalPlan): (LogicalPlan, Seq[Expression]) = plan match {
    case ScanOperation(_, _, filters, r: LogicalRelation) =>
      val conjuncts = filters.flatMap(splitConjunctivePredicates)
      val ofJoins = filtersOfJoins(filters, r)
      val onFiles =
        if (!RuntimeFilters.isOn) Nil
        else ofJoins ++ conjuncts.filter(isToCopy(_, r))
      (without(plan, ofJoins), onFiles.map(asNamed(_, r)))
    case _ => (plan, Nil)
  }

  /** The keys of the filters of joins by which the scan of a relation can prune files. */
  def keys(filters: Seq[Expression], r: LogicalRelation): Seq[KeysOfJoin] =
    filtersOfJoins(filters, r).map(KeysOfJoin.of(_, r))

  /**
   * Those of the filters from [[split]] whose values may be computed while the files are listed. Left out are
   * filters whose keys may come from a broadcast alone (`onlyInBroadcast`). For the others, the rule that
   * inserted them found that the subquery returns the same rows when it is run again, and that this is worth the
   * cost.
   */
  def atListing(filters: Seq[Expression]): Seq[Expression] = filters.filter { f =>
    RuntimeFilters.isOfJoin(f) && !f.exists {
      case d: DynamicPruningSubquery => d.onlyInBroadcast
      case _ => false
    }
  }

  private def filtersOfJoins(filters: Seq[Expression], r: LogicalRelation): Seq[Expression] =
    filters.flatMap(splitConjunctivePredicates).filter(isOfJoinOnData(_, r))

  /** The filter with the column names of the relation, because the readers find columns by name. */
  private def asNamed(filter: Expression, r: LogicalRelation): Expression = filter.transform {
    case a: AttributeReference =>
      r.output.find(_.semanticEquals(a)).fold(a)(n => a.withName(n.name))
  }

  /** A plan without some conjuncts of its filters. */
  private[scan] def without(plan: LogicalPlan, dropped: Seq[Expression]): LogicalPlan =
    if (dropped.isEmpty) plan
    else plan.transformUp { case f @ Filter(condition, child) =>
      val all = splitConjunctivePredicates(condition)
      val kept = all.filterNot(c => dropped.exists(_ eq c))
      if (kept.size == all.size) f else kept.reduceOption(And).fold(child)(Filter(_, child))
    }

  /** True for a filter by keys of joins that reads data columns, and nothing else. */
  private[scan] def isOfJoinOnData(filter: Expression, r: LogicalRelation): Boolean =
    RuntimeFilters.isOfJoin(filter) && isOnData(filter, r)

  /**
   * True for a filter that we must hand to the scan ourselves. Spark 3.5 passes no filter with a scalar
   * subquery to a scan.
   */
  private def isToCopy(filter: Expression, r: LogicalRelation): Boolean =
    !RuntimeFilterBridge.scansGetScalarSubqueries &&
      // the filter above the scan has the same subquery; without this setting, Spark would run it twice
      SQLConf.get.subqueryReuseEnabled && dataComparesWithSubquery(filter, r)

  /** True for a filter on data columns that has a scalar subquery and no subquery of another kind. */
  private[skipping] def dataComparesWithSubquery(filter: Expression, r: LogicalRelation): Boolean =
    isOnData(filter, r) && comparesWithSubquery(filter)

  /** True for a filter that has a scalar subquery and no subquery of another kind. */
  private[scan] def comparesWithSubquery(filter: Expression): Boolean =
    filter.deterministic && !filter.isInstanceOf[DynamicPruning] &&
      !filter.exists(_.isInstanceOf[BloomFilterMightContain]) &&
      filter.exists(_.isInstanceOf[ScalarSubquery]) &&
      !filter.exists {
        case _: ScalarSubquery => false
        case _: PlanExpression[_] => true
        case _ => false
      }

  /** True if a filter reads data columns of the relation, and nothing else. */
  def isOnData(filter: Expression, r: LogicalRelation): Boolean = r.relation match {
    case fs: HadoopFsRelation =>
      val ofPartitions = AttributeSet(
        r.resolve(fs.partitionSchema, SQLConf.get.resolver))
      isOnColumns(filter, r) && filter.references.intersect(ofPartitions).isEmpty
    case _ => false
  }

  private[scan] def isOnColumns(filter: Expression, r: LogicalPlan): Boolean =
    filter.references.nonEmpty && filter.references.subsetOf(r.outputSet)
}

/**
 * Identifies a filter by the keys of joins. Two instances are equal if they filter the same columns by the same
 * keys, although their plans have attributes with different ids.
 *
 * @param keys one expression of the scan for each source, and the conditions beside these expressions. All
 *   are normalized: columns are given by their positions in the relation
 * @param sources the sides of joins that supply the keys, in the order of `keys`
 */
private[skipping] final case class KeysOfJoin(keys: Seq[Expression], sources: Seq[SideOfKeys])

/**
 * The side of a join that supplies keys.
 *
 * @param build the canonical plan of the side, without our filters by keys of joins inside the side
 * @param keys the join keys, normalized: columns are given by their positions in the side
 * @param positions the positions in `keys` of the keys that the filter uses
 */
private[skipping] final case class SideOfKeys(
    build: LogicalPlan,
    keys: Seq[Expression],
    positions: Seq[Int])

private[skipping] object SideOfKeys extends PredicateHelper {
  def of(build: LogicalPlan, keys: Seq[Expression], positions: Seq[Int]): SideOfKeys =
    SideOfKeys(
      withoutKeys(build).canonicalized,
      keys.map(QueryPlan.normalizeExpressions(_, build.output).canonicalized),
      positions)

  /**
   * Removes our filters by the keys of joins inside the side, because the side has the same rows without
   * them. Spark's own such filters, on partition columns, stay. Their keys may come from a join above the side,
   * and then the side has fewer rows with them.
   */
  private def withoutKeys(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case Filter(condition, r: LogicalRelation) =>
      splitConjunctivePredicates(condition)
        .filterNot(ScanFilters.isOfJoinOnData(_, r))
        .reduceOption(And).fold[LogicalPlan](r)(Filter(_, r))
    case Filter(condition, s: DataSourceV2ScanRelation)
        if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      FormatTable.of(s).fold(splitConjunctivePredicates(condition)) { table =>
        splitConjunctivePredicates(condition).filterNot(FormatTable.isOfJoin(_, s, table))
      }.reduceOption(And).fold[LogicalPlan](s)(Filter(_, s))
  }
}

private[scan] object KeysOfJoin {
  def of(filter: Expression, r: LogicalRelation): KeysOfJoin = {
    val parts = filter.collect { case d: DynamicPruningSubquery => d }
    KeysOfJoin(
      // a comparison with a scalar subquery has no source, so the whole comparison is the key
      (if (parts.isEmpty) Seq(filter)
       else parts.map(_.pruningKey) ++ RuntimeFilters.conditionsIn(filter))
        .map(QueryPlan.normalizeExpressions(_, r.output).canonicalized),
      parts.map(d =>
        SideOfKeys.of(d.buildQuery, d.buildKeys, RuntimeFilterBridge.positions(d))))
  }
}
