// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

import io.sparkzorder.skipping.scan.{RuntimeFilterBridge, SideOfKeys}

/**
 * Keeps filters from costing a query more than they save. Spark runs a part of a plan once if the
 * plan has it twice. A filter that comes into one of two equal parts, and not into the other, would
 * make Spark run both. Filters between the tables of such a part come into both alike. Of the filters
 * from outside, all copies of a part get the same one: their keys are those of all copies. Where that
 * cannot be, the part is closed to filters from outside.
 */
private[dynamic] final class ReuseGuard {
  private val closed = mutable.HashSet.empty[LogicalPlan]
  private val shared = mutable.HashMap.empty[LogicalPlan, Map[Int, Seq[KeySource]]]
  private val changes = mutable.ArrayBuffer.empty[Change]

  /** A number for each side that gives keys. */
  private val sides = mutable.HashMap.empty[SideOfKeys, Int]

  private case class Change(before: LogicalPlan, after: LogicalPlan, filters: Seq[KeyFilter])

  /** Spark's own dynamic pruning takes partition values from these sides of joins. */
  def protect(plan: LogicalPlan): Unit = plan.collectWithSubqueries {
    case p => p.expressions.foreach(_.foreach {
        case d: DynamicPruningSubquery => closed += d.buildQuery.canonicalized
        case _ =>
      })
  }

  def isClosed(plan: LogicalPlan): Boolean = closed.nonEmpty && closed(plan.canonicalized)

  /** The filters that come into a copy: the filters of all copies, where that was found to work. */
  def forAllCopies(plan: LogicalPlan, filters: Seq[KeyFilter]): Seq[KeyFilter] =
    if (shared.isEmpty) filters
    else shared.get(plan.canonicalized).fold(filters) { byColumn =>
      // a copy that lacks a filter has rows that the filter would drop
      val own = filters.groupBy(f => columnOf(plan, f))
      byColumn.toSeq.sortBy(_._1).flatMap { case (column, sources) =>
        val forms = sources.map(_.form).toSet
        own.getOrElse(Some(column), Nil)
          .find(_.sources.forall(s => forms(s.form)))
          .map(f => f.copy(sources = sources.map(_.fresh)))
      }
    }

  /**
   * @param after the part with filters from outside
   * @param filters those that came from outside
   */
  def note(before: LogicalPlan, after: LogicalPlan, filters: Seq[KeyFilter]): Unit =
    if (before ne after) {
      changes += Change(before, after, filters)
      // the sides of the joins, which give the keys, must stay as they are
      if (shared.contains(before.canonicalized)) filters.foreach(_.markUsed())
    }

  /**
   * Finds the parts that have lost their equals. True if there were any.
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
          // the copies of different subqueries do not see the same broadcasts
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

  /** A side of a join may be rewritten more than once; only what is in the result counts. */
  private def changesIn(result: LogicalPlan, ofSpark: Set[ExprId]): Seq[Change] = {
    val places = new IdentityHashMap[LogicalPlan, LogicalPlan]
    def visit(node: LogicalPlan): Unit = {
      places.put(node, node)
      node.children.foreach(visit)
      node.expressions.foreach(_.foreach {
        // the keys of our filters come from copies of the sides of joins
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

  /** The sources for each output column of a part by which every copy is filtered. */
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

  /** True if nothing that gives the keys can wait for the part that the keys filter. */
  private def isFree(form: LogicalPlan, filter: KeyFilter): Boolean = filter.sources.forall { s =>
    s.build.collectWithSubqueries {
      case p if p.canonicalized == form => p
      case p if p.expressions.exists(_.exists(_.isInstanceOf[DynamicPruningSubquery])) => p
    }.isEmpty
  }

  private def columnOf(plan: LogicalPlan, filter: KeyFilter): Option[Int] =
    Some(plan.output.indexWhere(_.semanticEquals(filter.key))).filter(_ >= 0)

  /** Two plans are equal in this form if Spark's physical plans of them will be, as scans compare them. */
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

  /** A filter of more sides of joins lets few files go. */
  val MaxSources = 8
}
