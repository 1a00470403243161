// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Which nodes of a plan fail on no more rows if some columns of some rows become NULL. A condition must
 * not let more rows through then, as IS NULL does: an expression above it could fail on the other columns
 * of such a row. So a node may compute what can fail, and a condition may not. Nodes and expressions that are
 * not known here count as able to fail.
 */
private[dynamic] object StrictExpressions extends PredicateHelper {

  def isPlain(node: LogicalPlan): Boolean = node match {
    case p: Project => p.projectList.forall(isStrict)
    case f: Filter => narrows(f.condition)
    case j: Join => dropsRows(j.joinType) && j.condition.forall(narrows)
    case _: Sort | _: Union => node.expressions.forall(isStrict)
    case _ => false
  }

  /** False for joins that keep a row because its key has no partner. */
  private def dropsRows(t: JoinType): Boolean = t match {
    case _: InnerLike | LeftSemi | LeftOuter | RightOuter => true
    case _ => false
  }

  /** NULL for NULL, whatever the other columns hold. */
  private def isStrict(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => true
    case a: Alias => isStrict(a.child)
    case _: GetStructField | _: Cast | _: BinaryArithmetic | _: BinaryComparison =>
      !e.isInstanceOf[EqualNullSafe] && e.children.forall(isStrict)
    case _ => false
  }

  private def narrows(condition: Expression): Boolean =
    splitConjunctivePredicates(condition).forall {
      case IsNotNull(e) => neverFails(e)
      case e => isThreeValued(e)
    }

  /** With a NULL in place of a value the result is what it was, or NULL. */
  private def isThreeValued(e: Expression): Boolean = e match {
    case _: And | _: Or | _: Not => e.children.forall(isThreeValued)
    case _: EqualNullSafe => false
    case _: BinaryComparison | _: In | _: InSet => e.children.forall(neverFails)
    case _ => neverFails(e)
  }

  /** A NULL on the left of AND or OR lets the right side run, so no part of a condition may fail. */
  private def neverFails(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => true
    case g: GetStructField => neverFails(g.child)
    case c: Cast =>
      val (from, to) = (c.child.dataType, c.dataType)
      Cast.canUpCast(from, to) && TotalExpressions.isTotal(from, to) && neverFails(c.child)
    case _ => false
  }
}
