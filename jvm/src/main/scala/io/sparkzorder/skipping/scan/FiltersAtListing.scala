// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, LeafExecNode, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.util.WeakIdentityMap

/**
 * Filters of a scan that need the keys of a join or the result of a subquery. Usually the scan waits for these
 * values. If an accelerator replaces the scan, no node of the plan can wait for them, so the listing of the files
 * computes them. For the keys of a join, the listing runs the other side of the join once more, as a small query
 * of its own. This query returns the same rows as the side does in the join.
 *
 * @param filters by keys of joins, or with scalar subqueries, in terms of the relation's columns
 */
private[sparkzorder] final class FiltersAtListing(
    private[sparkzorder] val filters: Seq[Expression]) {

  /** The schema of the columns that the scan reads. */
  @volatile private[scan] var read: StructType = new StructType

  /**
   * Equal for two sets of filters that have the same queries, if these queries read the same listings. Listings
   * are compared by identity: Spark takes two listings of one directory for equal, although one may be older.
   */
  private[scan] lazy val identity: AnyRef = filters.map(f =>
    (f.canonicalized, f.collect { case s: SubqueryExpression => OfPlan(s.plan) }))

  /** The filters with their values, for the index. Runs each query that has not run in this execution yet. */
  private[scan] def resolved(
      execution: QueryExecution,
      id: String,
      rangeOf: Expression => Option[(Long, Long)]): Seq[Expression] = {
    val queries = new QueriesOfExecution(execution, id)
    filters.filter(isOfExecution).flatMap { filter =>
      PruningFailure.orElse(Option.empty[Expression], s"the filter $filter prunes no files")(
        Some(resolved(filter, queries, rangeOf)))
    }
  }

  /**
   * True if the execution holds the listings of all relations that the filter's subqueries read. Counterexample:
   * a part of the query that was planned separately, such as a cached data frame. The execution does not hold its
   * listings, which may change between the run of the side for the join and the run for its keys. The two runs
   * would then return different rows.
   */
  private def isOfExecution(filter: Expression): Boolean =
    filter.collect { case s: SubqueryExpression => s.plan }
      .flatMap(_.collectWithSubqueries { case r: LogicalRelation => r.relation }).forall {
        case fs: HadoopFsRelation =>
          ListingsOfExecution.current(fs.location, fs.sparkSession.sparkContext).isDefined
        case _ => false
      }

  private def resolved(
      filter: Expression,
      queries: QueriesOfExecution,
      rangeOf: Expression => Option[(Long, Long)]): Expression =
    filter.collect { case d: DynamicPruningSubquery => d } match {
      case Nil => RuntimeFilters.folded(filter.transform {
          case d: DynamicPruningExpression => d.child
          case s: ScalarSubquery => queries.value(s)
        })
      case joins =>
        val keys = joins.map(d => d.pruningKey -> queries.keys(d).toArray)
        RuntimeFilters.ofOneOf(keys, rangeOf, RuntimeFilters.conditionsIn(filter)).onFiles
    }
}

/** A plan and the identities of the listings that it reads. */
private[scan] final case class OfPlan(plan: LogicalPlan, listings: Seq[SameObject])

private[scan] object OfPlan {
  def apply(plan: LogicalPlan): OfPlan = new OfPlan(
    plan.canonicalized,
    plan.collectWithSubqueries { case r: LogicalRelation => r.relation }.map {
      case fs: HadoopFsRelation => new SameObject(fs.location)
      case other => new SameObject(other)
    })
}

private[scan] final class SameObject(private val of: AnyRef) {
  override def equals(other: Any): Boolean = other match {
    case that: SameObject => that.of eq of
    case _ => false
  }
  override def hashCode(): Int = System.identityHashCode(of)
}

/**
 * The small queries of one execution, and their results. Each query runs once, as a part of the execution: its
 * scans get the listings that the scans of the execution have ([[ListingsOfExecution]]).
 *
 * @param id the id of the execution. The results belong to one id, because a query that is executed again after a
 *   failure lists its files anew
 */
private final class QueriesOfExecution(execution: QueryExecution, id: String) {
  private val results = QueriesOfExecution.of(execution)

  def keys(side: DynamicPruningSubquery): Seq[Any] = {
    val key = side.buildKeys(RuntimeFilterBridge.positions(side).head)
    val column = Alias(key, "key")()
    val query = Aggregate(Seq(column), Seq(column), side.buildQuery)
    val normal = QueryPlan.normalizeExpressions(key, side.buildQuery.output).canonicalized
    rows((OfPlan(side.buildQuery), normal), query).map(_.get(0, key.dataType)).toSeq
  }

  /**
   * @throws IllegalStateException if the subquery gives more than one row. The filter then prunes nothing, and
   *   Spark's own run of the subquery fails the query
   */
  def value(subquery: ScalarSubquery): Literal = rows(OfPlan(subquery.plan), subquery.plan) match {
    case Array() => Literal(null, subquery.dataType)
    case Array(row) => Literal(row.get(0, subquery.dataType), subquery.dataType)
    case more => throw new IllegalStateException(s"${more.length} rows")
  }

  // No lock is held while a query runs, because the query may need another one. Two threads may therefore run the
  // same query.
  private def rows(key: AnyRef, query: LogicalPlan): Array[InternalRow] =
    Option(results.get(id -> key)).getOrElse {
      val session = SparkLine.session(
        SparkSession.getActiveSession.getOrElse(execution.sparkSession))
      val found = QueryExecution.prepareExecutedPlan(session, query).executeCollect()
      results.put(id -> key, found)
      found
    }
}

private[skipping] object QueriesOfExecution {
  private val all =
    new WeakIdentityMap[QueryExecution, ConcurrentHashMap[AnyRef, Array[InternalRow]]]

  private def of(execution: QueryExecution): ConcurrentHashMap[AnyRef, Array[InternalRow]] =
    all.getOrElseUpdate(execution)(new ConcurrentHashMap[AnyRef, Array[InternalRow]])
}

/**
 * Extensions that put nodes of their own in the place of Spark's, such as Comet, Gluten and RAPIDS. They know
 * Spark's scan node and not ours. So in a session with such an extension, a scan stays Spark's own node, and the
 * file index computes the values that are known only when the query runs ([[FiltersAtListing]]).
 */
private[skipping] object Accelerators {

  /** True if the session of this thread has rules for columnar plans. spark-zorder itself adds no such rule. */
  def areHere: Boolean = SparkSession.getActiveSession.exists(s =>
    SparkLine.session(s).sessionState.columnarRules.nonEmpty)
}

/**
 * Makes all scans of an execution use listings of this execution. Comet lists the files of a scan while the query
 * is planned, and keeps the listing. But a query may be planned long before it runs, for example by a Thrift
 * server, and then the keys of joins are not known yet. Adaptive execution calls this rule for each stage when the
 * query runs. The rule copies a node with an older listing, together with the nodes inside of it, and the copy
 * lists again.
 *
 * Spark drops a copy that equals its original. So the copy gets a file index that does not equal the earlier file
 * index.
 */
private[sparkzorder] object ListedAgain extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!Accelerators.areHere) plan
    else plan.transformUp {
      case scan: LeafExecNode if !scan.isInstanceOf[FileSourceScanExec] =>
        relationOf(scan).flatMap { case (relation, files) =>
          files.ofExecution.map(now =>
            copyOf(scan, files, relation.copy(location = now)(relation.sparkSession)))
        }.getOrElse(scan)
    }

  private def relationOf(node: SparkPlan): Option[(HadoopFsRelation, ZOrderFileIndex)] =
    node.productIterator.collectFirst {
      case r @ HadoopFsRelation(ours: ZOrderFileIndex, _, _, _, _, _) => (r, ours)
    }

  private def copyOf(
      node: SparkPlan,
      before: ZOrderFileIndex,
      now: HadoopFsRelation): SparkPlan = {
    val copy = node.makeCopy(node.productIterator.map {
      case r: HadoopFsRelation if r.location eq before => now
      case held: SparkPlan => copyOf(held, before, now)
      case other => other.asInstanceOf[AnyRef]
    }.toArray)
    node.logicalLink.foreach(copy.setLogicalLink)
    copy
  }
}
