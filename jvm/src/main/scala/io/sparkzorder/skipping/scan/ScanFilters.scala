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
 * The filters of a relation that only its scan uses, because only the run of the query gives them
 * values.
 */
private[skipping] object ScanFilters extends PredicateHelper {

  /**
   * The plan of a scan without its filters of joins, which would be tested for each row although
   * the join tests them anyway; and the filters that the scan has to get in addition. Spark keeps
   * the filters of joins on partition columns.
   */
  def split(plan: LogicalPlan): (LogicalPlan, Seq[Expression]) = plan match {
    case ScanOperation(_, _, filters, r: LogicalRelation) =>
      val conjuncts = filters.flatMap(splitConjunctivePredicates)
      val ofJoins = filtersOfJoins(filters, r)
      val rest = if (ofJoins.isEmpty) plan else without(plan, ofJoins)
      val onFiles =
        if (!RuntimeFilters.isOn) Nil
        else ofJoins ++ conjuncts.filter(isToCopy(_, r))
      (rest, onFiles.map(asNamed(_, r)))
    case _ => (plan, Nil)
  }

  /** The keys of joins and the subqueries by which the scan of a relation can prune files. */
  def keys(filters: Seq[Expression], r: LogicalRelation): Seq[KeysOfJoin] =
    filtersOfJoins(filters, r).map(KeysOfJoin.of(_, r))

  /**
   * Those of the filters from [[split]] whose values the listing of files can find out: their queries were
   * found to give the same rows again, at a cost that is worth it.
   */
  def atListing(filters: Seq[Expression]): Seq[Expression] = filters.filter { f =>
    RuntimeFilters.isOfJoin(f) && !f.exists {
      case d: DynamicPruningSubquery => d.onlyInBroadcast
      case _ => false
    }
  }

  private def filtersOfJoins(filters: Seq[Expression], r: LogicalRelation): Seq[Expression] =
    filters.flatMap(splitConjunctivePredicates).filter(isOfJoin(_, r))

  /** Readers find columns by the names that the relation gives them. */
  private def asNamed(filter: Expression, r: LogicalRelation): Expression = filter.transform {
    case a: AttributeReference =>
      r.output.find(_.semanticEquals(a)).fold(a)(n => a.withName(n.name))
  }

  private def without(plan: LogicalPlan, dropped: Seq[Expression]): LogicalPlan =
    plan.transformUp { case Filter(condition, child) =>
      val kept = splitConjunctivePredicates(condition).filterNot(c => dropped.exists(_ eq c))
      kept.reduceOption(And).fold(child)(Filter(_, child))
    }

  private def isOfJoin(filter: Expression, r: LogicalRelation): Boolean =
    splitDisjunctivePredicates(filter).forall {
      case _: DynamicPruningSubquery | _: DynamicPruningExpression => true
      case _ => false
    } && isOnData(filter, r)

  /** Spark 3.5 hands no filter with a scalar subquery to a scan. */
  private def isToCopy(filter: Expression, r: LogicalRelation): Boolean =
    !RuntimeFilterBridge.scansGetScalarSubqueries &&
      // the filter after the scan has the same subquery, and Spark must run it once
      SQLConf.get.subqueryReuseEnabled && comparesWithSubquery(filter, r)

  /** True for a filter on data columns by the value of a scalar subquery, and of no other subquery. */
  private[skipping] def comparesWithSubquery(filter: Expression, r: LogicalRelation): Boolean =
    isOnData(filter, r) && comparesWithSubquery(filter)

  /** The same, whatever columns the filter reads. */
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
      filter.references.nonEmpty && filter.references.subsetOf(r.outputSet) &&
      filter.references.intersect(ofPartitions).isEmpty
    case _ => false
  }
}

/**
 * What a filter of joins says, apart from any plan that computes it. Two of these are equal if they
 * filter the same column by the same keys.
 *
 * @param keys of the scan, one for each source, and conditions that stand beside them, in terms of the positions
 *   of the relation's columns
 * @param sources the sides of joins that give the keys
 */
private[skipping] final case class KeysOfJoin(keys: Seq[Expression], sources: Seq[SideOfKeys])

/**
 * The side of a join that gives keys.
 *
 * @param build canonical plan of the side, without filters by keys of its own joins
 * @param keys of the join, in terms of the positions of the side's columns
 * @param positions of the filter's key among `keys`
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
   * The side has the same rows with our filters by the keys of its own joins, and without. Spark's own
   * filters, on partition columns, may be by the keys of a join above the side.
   */
  private def withoutKeys(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case Filter(condition, r: LogicalRelation) =>
      splitConjunctivePredicates(condition)
        .filterNot(f => RuntimeFilters.isOfJoin(f) && ScanFilters.isOnData(f, r))
        .reduceOption(And).fold[LogicalPlan](r)(Filter(_, r))
    case Filter(condition, s: DataSourceV2ScanRelation) if condition.exists(isDynamic) =>
      FormatTable.of(s).fold(splitConjunctivePredicates(condition)) { table =>
        splitConjunctivePredicates(condition).filterNot(FormatTable.isOfJoin(_, s, table))
      }.reduceOption(And).fold[LogicalPlan](s)(Filter(_, s))
  }

  private def isDynamic(e: Expression): Boolean = e.isInstanceOf[DynamicPruningSubquery]
}

private[scan] object KeysOfJoin {
  def of(filter: Expression, r: LogicalRelation): KeysOfJoin = {
    val parts = filter.collect { case d: DynamicPruningSubquery => d }
    KeysOfJoin(
      // a comparison with a subquery is a key by itself
      (if (parts.isEmpty) Seq(filter)
       else parts.map(_.pruningKey) ++ RuntimeFilters.conditionsIn(filter))
        .map(QueryPlan.normalizeExpressions(_, r.output).canonicalized),
      parts.map(d =>
        SideOfKeys.of(d.buildQuery, d.buildKeys, RuntimeFilterBridge.positions(d))))
  }
}
