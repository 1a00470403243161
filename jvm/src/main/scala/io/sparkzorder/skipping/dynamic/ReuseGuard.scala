package io.sparkzorder.skipping.dynamic

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

/**
 * Keeps filters from costing a query more than they save. Spark runs a part of a plan once if the
 * plan has it twice. A filter that comes into one of two equal parts, and not into the other, would
 * make Spark run both. Such parts are closed to filters from outside. Filters between the tables of
 * such a part come into both alike.
 */
private[dynamic] final class ReuseGuard {
  private val closed = mutable.HashSet.empty[LogicalPlan]
  private val changes = mutable.ArrayBuffer.empty[(LogicalPlan, LogicalPlan)]

  /** Spark's own dynamic pruning takes partition values from these sides of joins. */
  def protect(plan: LogicalPlan): Unit = plan.collectWithSubqueries {
    case p => p.expressions.foreach(_.foreach {
        case d: DynamicPruningSubquery => closed += d.buildQuery.canonicalized
        case _ =>
      })
  }

  def isClosed(plan: LogicalPlan): Boolean = closed.nonEmpty && closed(plan.canonicalized)

  /** @param after the part with filters from outside */
  def note(before: LogicalPlan, after: LogicalPlan): Unit =
    if (before ne after) changes += before -> after

  /** Closes the parts that have lost their equals. True if there were any. */
  def closesMore(plan: LogicalPlan): Boolean = {
    val byForm = changes.toSeq.groupBy(_._1.canonicalized)
    changes.clear()
    val lost = if (byForm.isEmpty) Nil
    else {
      val forms = plan.collectWithSubqueries { case p => p.canonicalized }
        .filter(byForm.contains).groupBy(identity)
      byForm.collect {
        case (form, changed) if {
              val count = forms.get(form).fold(0)(_.size)
              count > changed.size || changed.map(c => comparable(c._2)).distinct.size > 1
            } => form
      }
    }
    closed ++= lost
    lost.nonEmpty
  }

  /** Two plans are equal in this form if Spark's physical plans of them will be. */
  private def comparable(plan: LogicalPlan): LogicalPlan = plan.transform {
    case Filter(condition, child) =>
      Filter(
        condition.transform { case d: DynamicPruningSubquery =>
          val source = d.buildQuery.canonicalized.hashCode * 31 + d.buildKeys.size
          EqualNullSafe(d.pruningKey, Literal(source))
        },
        child)
  }.canonicalized
}
