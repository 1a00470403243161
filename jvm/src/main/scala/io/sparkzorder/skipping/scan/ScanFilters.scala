// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ScanOperation
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
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
