// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

import io.sparkzorder.skipping.scan.{RuntimeFilterBridge, SideOfKeys}

/**
 * Keeps filters from costing a query more than they save. If a plan has two equal parts, Spark runs one of
 * them for both. A filter in only one of the two would make Spark run both. A filter by a join inside of such
 * a part is the same in each copy. Joins outside would give the copies different filters, so all copies get
 * one common filter. A row passes the filter if its key is a key of any of these joins. Where no common filter is
 * possible, the part is closed to filters from outside.
 */
private[dynamic] final class ReuseGuard {
  private val closed = mutable.HashSet.empty[LogicalPlan]
  private val shared = mutable.HashMap.empty[LogicalPlan, Map[Int, Seq[KeySource]]]
  private val changes = mutable.ArrayBuffer.empty[Change]

  /** A number for each side that gives keys. */
  private val sides = mutable.HashMap.empty[SideOfKeys, Int]

  private case class Change(before: LogicalPlan, after: LogicalPlan, filters: Seq[KeyFilter])

  /** Closes the sides of joins from which Spark's own dynamic pruning takes partition values. */
  def protect(plan: LogicalPlan): Unit = plan.collectWithSubqueries {
    case p => p.expressions.foreach(_.foreach {
        case d: DynamicPruningSubquery => closed += d.buildQuery.canonicalized
        case _ =>
      })
  }

  def isClosed(plan: LogicalPlan): Boolean = closed.nonEmpty && closed(plan.canonicalized)

  /** The filters for one copy of a part: the common filters of all copies, if there are any. */
  def forAllCopies(plan: LogicalPlan, filters: Seq[KeyFilter]): Seq[KeyFilter] =
    if (shared.isEmpty) filters
    else shared.get(plan.canonicalized).fold(filters) { byColumn =>
      // A copy gets a common filter only if it has a filter of its own whose keys are among the common keys.
      // Otherwise the copy needs rows that the common filter would drop.
      val own = filters.groupBy(f => columnOf(plan, f))
      byColumn.toSeq.sortBy(_._1).flatMap { case (column, sources) =>
        val forms = sources.map(_.form).toSet
        own.getOrElse(Some(column), Nil)
          .find(_.sources.forall(s => forms(s.form)))
          .map(f => f.copy(sources = sources.map(_.fresh)))
      }
    }

  /**
   * Records that a part got filters.
   *
   * @param after the part with filters from outside
   * @param filters the filters that came from outside
   */
  def record(before: LogicalPlan, after: LogicalPlan, filters: Seq[KeyFilter]): Unit =
    if (before ne after) {
      changes += Change(before, after, filters)
      // The common filters have sources of their own (`fresh`). The original filters count as used, too, so that the
      // joins that made them do not change the sides that give the keys.
      if (shared.contains(before.canonicalized)) filters.foreach(_.markUsed())
    }

  /**
   * Closes each part whose copies are no longer equal, or gives its copies common filters. True if there was
   * such a part.
   *
   * @param result the plan with filters
   */
  def closesMore(plan: LogicalPlan, result: LogicalPlan): Boolean = {
    val byForm = changesIn(result, idsOf(plan)).groupBy(_.before.canonicalized)
    changes.clear()
    var found = false
    if (byForm.nonEmpty) {
      val queries = (plan +: plan.subqueriesAll).map(_.collect { case p => p.canonicalized }
        .filter(byForm.contains).groupBy(identity).map { case (form, all) => form -> all.size })
      byForm.foreach { case (form, changed) =>
        val copies = queries.flatMap(_.get(form))
        if (copies.sum > changed.size ||
          changed.map(c => comparable(c.after)).distinct.size > 1) {
          found = true
          // copies in different subqueries cannot use the same broadcasts, so they get no common filter
          val common =
            if (shared.contains(form) || copies.size != 1 || copies.sum != changed.size) {
              Map.empty[Int, Seq[KeySource]]
            } else ofAll(form, changed)
          shared -= form
          if (common.isEmpty) closed += form else shared += form -> common
        }
      }
    }
    found
  }

  /** The recorded changes that are in the result. A side of a join may have been rewritten more than once. */
  private def changesIn(result: LogicalPlan, ofSpark: Set[ExprId]): Seq[Change] = {
    val places = new IdentityHashMap[LogicalPlan, LogicalPlan]
    def visit(node: LogicalPlan): Unit = {
      places.put(node, node)
      node.children.foreach(visit)
      node.expressions.foreach(_.foreach {
        // our dynamic filters are left out, because their keys come from copies of sides of joins
        case d: DynamicPruningSubquery if !ofSpark(d.exprId) =>
        case s: SubqueryExpression => visit(s.plan)
        case _ =>
      })
    }
    visit(result)
    changes.toSeq.filter(c => places.containsKey(c.after))
  }

  private def idsOf(plan: LogicalPlan): Set[ExprId] = plan.collectWithSubqueries {
    case p => p.expressions.flatMap(_.collect { case d: DynamicPruningSubquery => d.exprId })
  }.flatten.toSet

  /** The sources of the filters that every copy of a part has, by the output column that is filtered. */
  private def ofAll(form: LogicalPlan, copies: Seq[Change]): Map[Int, Seq[KeySource]] = {
    val columns = copies.map { c =>
      c.filters.groupBy(columnOf(c.before, _)).collect {
        case (Some(column), filters) if isFree(form, filters.head) => column -> filters.head.sources
      }
    }
    columns.map(_.keySet).reduce(_ intersect _).toSeq.map { column =>
      val sources = columns.flatMap(_(column))
      column -> sources.groupBy(_.form).map(_._2.head).toSeq.sortBy(_.build.toString)
    }.filter(_._2.size <= ReuseGuard.MaxSources).toMap
  }

  /**
   * True if no side that gives the keys contains the part that the keys filter, or has a dynamic filter, which may come
   * from that part.
   */
  private def isFree(form: LogicalPlan, filter: KeyFilter): Boolean = filter.sources.forall { s =>
    s.build.collectWithSubqueries {
      case p if p.canonicalized == form => p
      case p if p.expressions.exists(_.exists(_.isInstanceOf[DynamicPruningSubquery])) => p
    }.isEmpty
  }

  private def columnOf(plan: LogicalPlan, filter: KeyFilter): Option[Int] =
    Some(plan.output.indexWhere(_.semanticEquals(filter.key))).filter(_ >= 0)

  /** A form of a plan that is equal for two plans if their physical plans, and the scans in these, will be equal. */
  private def comparable(plan: LogicalPlan): LogicalPlan = plan.transform {
    case Filter(condition, child) =>
      Filter(
        condition.transform { case d: DynamicPruningSubquery =>
          val side = SideOfKeys.of(d.buildQuery, d.buildKeys, RuntimeFilterBridge.positions(d))
          EqualNullSafe(d.pruningKey, Literal(sides.getOrElseUpdate(side, sides.size)))
        },
        child)
  }.canonicalized
}

private object ReuseGuard {

  /** A filter by the keys of more sides than this would prune few files. */
  val MaxSources = 8
}
