// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import scala.util.Try

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf

/** What is known of the rows of a write before the query runs. */
private[ordered] object ExpectedSize {

  /** Bytes of the rows by Spark's estimate; None where Spark does not know. */
  def bytes(query: LogicalPlan): Option[Double] =
    // Spark refuses to estimate some sources before it has planned their scans
    Try(estimate(query)).toOption.flatten

  private def estimate(plan: LogicalPlan): Option[Double] = plan match {
    // without statistics of columns, Spark takes the product of both sides
    case j: Join =>
      for (left <- estimate(j.left); right <- estimate(j.right))
        yield math.min(size(j), left + right)
    case u: UnaryNode => estimate(u.child).map(below => below * (size(u) / size(u.child)))
    case leaf if leaf.children.isEmpty =>
      // a relation that cannot tell its size, such as a batch of a stream
      Some(size(leaf)).filter(_ < SQLConf.get.defaultSizeInBytes.toDouble)
    case other =>
      if (other.children.forall(estimate(_).isDefined)) Some(size(other)) else None
  }

  private def size(plan: LogicalPlan): Double =
    math.max(1.0, plan.stats.sizeInBytes.toDouble)

  /** True if the query itself deals its rows: by ORDER BY, or by a hint such as COALESCE or REBALANCE. */
  def hasOwnPartitions(query: LogicalPlan): Boolean = query match {
    case _: RepartitionOperation | _: RebalancePartitions => true
    case s: Sort => s.global || hasOwnPartitions(s.child)
    case p: Project => hasOwnPartitions(p.child)
    case f: Filter => hasOwnPartitions(f.child)
    case _ => false
  }
}
