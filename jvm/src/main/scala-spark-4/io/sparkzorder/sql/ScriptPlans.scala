// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.{CurrentOrigin, Origin}

/**
 * Replaces statements in the plan of a script. Spark's own transform loses the handlers of a block, so each
 * kind of block is copied here.
 */
private[sql] object ScriptPlans {

  /**
   * [[Script]] shows a query `SELECT name` to the next parser in place of each of our statements. This method puts our
   * statements back.
   *
   * @param ours from the name and the position of a query to our plan and its position; None if the query stays
   */
  def replace(script: LogicalPlan)(
      ours: (String, Origin) => Option[(LogicalPlan, Origin)]): LogicalPlan = {
    def body(b: CompoundBody): CompoundBody = at(b)(b.copy(
      collection = b.collection.map(part),
      handlers = b.handlers.map(h => at(h)(h.copy(body = body(h.body))))))
    def part(p: CompoundPlanStatement): CompoundPlanStatement = p match {
      case s: SingleStatement => statement(s)
      case b: CompoundBody => body(b)
      case i: IfElseStatement => at(i)(
          i.copy(
            conditionalBodies = i.conditionalBodies.map(body),
            elseBody = i.elseBody.map(body)))
      case c: SearchedCaseStatement => at(c)(
          c.copy(
            conditionalBodies = c.conditionalBodies.map(body),
            elseBody = c.elseBody.map(body)))
      case c: SimpleCaseStatement => at(c)(
          c.copy(
            conditionalBodies = c.conditionalBodies.map(body),
            elseBody = c.elseBody.map(body)))
      case w: WhileStatement => at(w)(w.copy(body = body(w.body)))
      case r: RepeatStatement => at(r)(r.copy(body = body(r.body)))
      case l: LoopStatement => at(l)(l.copy(body = body(l.body)))
      case f: ForStatement => at(f)(f.copy(body = body(f.body)))
      case other => other
    }
    def statement(s: SingleStatement): SingleStatement = s.parsedPlan match {
      case Project(Seq(UnresolvedAttribute(Seq(name))), OneRowRelation()) =>
        ours(name, s.origin).fold(s) { case (plan, origin) =>
          CurrentOrigin.withOrigin(origin)(SingleStatement(plan))
        }
      case _ => s
    }
    script match {
      case b: CompoundBody => body(b)
      case other => other
    }
  }

  private def at[T <: LogicalPlan](old: T)(copy: => T): T =
    CurrentOrigin.withOrigin(old.origin)(copy)
}
