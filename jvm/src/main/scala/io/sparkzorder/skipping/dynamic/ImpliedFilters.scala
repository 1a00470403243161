// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types._

import io.sparkzorder.plans.Repeatability.hasEqualValues
import io.sparkzorder.skipping.scan.{DerivedRanges, FormatTable, ScanStrategy}

/**
 * Adds filters below nodes through which Spark pushes no filter. Such a filter drops rows that cannot change the
 * result, because of a filter above the node or because of the node itself:
 *
 *  - below GROUPING SETS, CUBE, ROLLUP and UNPIVOT, if the filter above keeps none of the rows made of the row
 *  - below `explode` of a list, if the filter above keeps none of the elements
 *  - below a window, if every expression that the filter tests is an expression of PARTITION BY
 *  - below GROUP BY, if HAVING tests the greatest or the least value of a grouping column
 *  - below aggregates without GROUP BY, if each of them only uses rows that meet a condition
 *
 * The added filters follow from the query, so they hold for every engine that runs the plan. The filters of the
 * query stay.
 */
private[sparkzorder] object ImpliedFilters extends Rule[LogicalPlan] with PredicateHelper {

  import TotalExpressions.isTotal

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!DerivedRanges.isOn || plan.isStreaming || !plan.exists(isKnown)) plan
    else {
      val changed = plan.transformUp {
        case f @ Filter(condition, e: Expand) => belowExpand(f, condition, e)
        case f @ Filter(condition, g: Generate) => belowGenerate(f, condition, g)
        case f @ Filter(condition, a: Aggregate) => belowGroups(f, condition, a)
        case f @ Filter(condition, w @ (_: Window | _: WindowGroupLimit)) =>
          belowWindow(w, splitConjunctivePredicates(condition)).fold(f)(c => f.copy(child = c))
        case a: Aggregate => belowAggregate(a)
      }
      if (changed fastEquals plan) plan else DerivedRanges(PushDownPredicates(changed))
    }

  /** True for a table whose files can be skipped. */
  private def isKnown(leaf: LogicalPlan): Boolean = leaf match {
    case r: LogicalRelation => ScanStrategy.canIndex(r) || FormatTable.takesRanges(r)
    case other => other.children.isEmpty && FormatTable.takesRanges(other)
  }

  private def isPlain(e: Expression): Boolean = e.deterministic && !e.exists {
    case _: PlanExpression[_] | _: UserDefinedExpression | _: AggregateExpression => true
    case _: WindowExpression | _: Generator => true
    case _ => false
  }

  /**
   * The child under a new filter. None if no condition can be used, or if all rows of the child already satisfy
   * the conditions.
   *
   * @param isEvaluated true if the query itself evaluates all of these conditions for each row of the child. If a
   *   condition fails on a row, the query then fails without the new filter, too
   */
  private def filtered(
      child: LogicalPlan,
      conditions: Seq[Expression],
      isEvaluated: Boolean): Option[LogicalPlan] = {
    val some = conditions.map(simplified).filterNot(_ == Literal.TrueLiteral)
      .filter(c => c.references.nonEmpty && c.references.subsetOf(child.outputSet))
      // a condition that can fail must not be evaluated for a row that the query drops first, for example by
      // a join
      .filter(c => isTotal(c) && isSafe(child) || isEvaluated && isOfOneTable(child))
    if (some.isEmpty) None
    else some.filterNot(child.constraints.contains).reduceOption(And).map(Filter(_, child))
  }

  /**
   * True if Spark can push a condition through the plan without making the condition fail. When Spark pushes a
   * condition through a projection or an aggregate, it replaces each column by the expression of the column, and
   * this expression could fail.
   */
  private def isSafe(plan: LogicalPlan): Boolean = isOfOneTable(plan) || !plan.exists {
    case p: Project => !p.projectList.forall(isTotal(_))
    case a: Aggregate => !a.aggregateExpressions.forall(e =>
        e.exists(_.isInstanceOf[AggregateExpression]) || isTotal(e))
    case _ => false
  }

  /**
   * True if Spark evaluates the filters of the plan before a filter above them. Filters with a subquery or a Python
   * function are excluded: Spark turns the subquery into a join, evaluates the function in a node of its own, and
   * then pushes other filters below that join or node. Sources of version 2 are excluded because they may return
   * the filters in another order.
   */
  private def isOfOneTable(plan: LogicalPlan): Boolean = plan match {
    case p: Project => isOfOneTable(p.child)
    case f: Filter => isPlain(f.condition) && isOfOneTable(f.child)
    case _: LogicalRelation => true
    case _ => false
  }

  // ---- nodes that make several rows of one

  /** A row is needed if the filter keeps at least one of the rows that Expand makes of this row. */
  private def belowExpand(f: Filter, condition: Expression, e: Expand): LogicalPlan = {
    val rows = e.projections.map(row => AttributeMap(e.output.zip(row)))
    val conjuncts = splitConjunctivePredicates(condition)
    val found =
      if (rows.size > MaxRows) None
      else conjuncts.filter(isPlain).reduceOption(And).flatMap(oneOf(_, rows))
    found.flatMap(c => filtered(e.child, Seq(c), isEvaluated = conjuncts.forall(isPlain)))
      .fold(f)(child => f.copy(child = e.copy(child = child)))
  }

  private def belowGenerate(f: Filter, condition: Expression, g: Generate): LogicalPlan = {
    val elements = (g.generator, g.generatorOutput) match {
      case (Explode(list), Seq(column)) if !g.outer =>
        elementsOf(list).map(_.map(e => Seq((column, e))))
      case (PosExplode(list), Seq(place, column)) if !g.outer =>
        elementsOf(list).map(_.zipWithIndex.map { case (e, i) =>
          Seq((place, Literal(i): Expression), (column, e))
        })
      case _ => None
    }
    elements.filter(_.size <= MaxRows).flatMap { rows =>
      val made = AttributeSet(g.generatorOutput)
      val all = splitConjunctivePredicates(condition)
      val conjuncts = all.filter(c => isPlain(c) && c.references.exists(made.contains))
      conjuncts.reduceOption(And).flatMap(oneOf(_, rows.map(AttributeMap(_))))
        .flatMap(c => filtered(g.child, Seq(c), isEvaluated = conjuncts.size == all.size))
    }.fold(f)(child => f.copy(child = g.copy(child = child)))
  }

  private def elementsOf(list: Expression): Option[Seq[Expression]] = list match {
    case CreateArray(values, _) if values.nonEmpty && values.forall(isPlain) => Some(values)
    case Literal(array: ArrayData, ArrayType(t, _)) =>
      Some(array.toSeq[Any](t).map(Literal(_, t)))
    case _ => None
  }

  private def oneOf(
      condition: Expression,
      rows: Seq[AttributeMap[Expression]]): Option[Expression] =
    if (rows.isEmpty) None
    else {
      val each = rows.map { row =>
        simplified(condition.transform { case a: Attribute if row.contains(a) => row(a) })
      }.filterNot(isNever).distinct
      // if the filter keeps none of the rows, `each` is empty, and the filter is FALSE
      Some(each.reduceOption(Or).getOrElse(Literal.FalseLiteral)).filter(isPlain)
    }

  // ---- groups

  /** MAX and MIN of a grouping column are the column itself, so HAVING on them is a condition on the rows. */
  private def belowGroups(f: Filter, condition: Expression, a: Aggregate): LogicalPlan = {
    val keys = a.groupingExpressions
    val same = a.aggregateExpressions.collect {
      case alias @ Alias(AggregateExpression(f @ (_: Max | _: Min), Complete, _, None, _), _)
          if keys.exists(_.semanticEquals(f.children.head)) && !hasEqualValues(f.dataType) =>
        (alias.toAttribute, f.children.head)
    }
    val byKey = AttributeMap[Expression](same)
    val all = splitConjunctivePredicates(condition)
    val conjuncts = all
      .filter(c => isPlain(c) && c.references.nonEmpty && c.references.forall(byKey.contains))
      .map(_.transform { case x: Attribute => byKey.getOrElse(x, x) })
    if (keys.isEmpty || conjuncts.isEmpty) f
    else {
      filtered(a.child, conjuncts, isEvaluated = conjuncts.size == all.size)
        .fold(f)(child => f.copy(child = a.copy(child = child)))
    }
  }

  /**
   * All rows of a window partition have the same values of the PARTITION BY expressions. So a condition on these
   * expressions keeps or drops whole partitions. Of several windows above each other, each must be partitioned by
   * the expressions; otherwise a window would get only some rows of a partition.
   */
  private def belowWindow(
      node: LogicalPlan,
      conjuncts: Seq[Expression],
      ofWindowsAbove: Option[AttributeSet] = None): Option[LogicalPlan] = {
    val (spec, child) = node match {
      case w: Window => (w.partitionSpec, w.child)
      case w: WindowGroupLimit => (w.partitionSpec, w.child)
      case other => (Nil, other)
    }
    val own = AttributeSet(spec.collect { case a: Attribute if !hasEqualValues(a.dataType) => a })
    val keys = ofWindowsAbove.fold(own)(own.intersect)
    child match {
      case _: Window | _: WindowGroupLimit if keys.nonEmpty =>
        belowWindow(child, conjuncts, Some(keys)).map(c => node.withNewChildren(Seq(c)))
      case p: Project if keys.nonEmpty =>
        // the filter may use another alias of an expression by which the window is partitioned
        val aliases = p.projectList.collect { case a @ Alias(e, _) => a.toAttribute -> e }
        val byName = AttributeMap[Expression](aliases)
        val functions = aliases.filter(a => keys.contains(a._1))
        val ofKeys = conjuncts.filter(isPlain)
          .map(_.transform { case a: Attribute if byName.contains(a) => byName(a) })
          .map(_.transformDown {
            case e if functions.exists(_._2.semanticEquals(e)) =>
              functions.find(_._2.semanticEquals(e)).get._1
          }).filter(c => isPlain(c) && c.references.nonEmpty && c.references.subsetOf(keys))
        filtered(p, ofKeys, isEvaluated = ofKeys.size == conjuncts.size)
          .map(c => node.withNewChildren(Seq(c)))
      case _ => None
    }
  }

  // ---- aggregates of conditions

  /** Without GROUP BY, the result is one row, even if the new filter drops all rows. */
  private def belowAggregate(a: Aggregate): LogicalPlan = {
    val calls = a.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e })
    val conditions = calls.map(conditionOf)
    if (a.groupingExpressions.nonEmpty || calls.isEmpty || conditions.contains(None)) a
    else {
      val any = conditions.flatten.map(simplified).distinct.reduce(Or)
      if (any.exists(_ == Literal.TrueLiteral) || !isPlain(any)) a
      else filtered(a.child, Seq(any), isEvaluated = true).fold(a)(child => a.copy(child = child))
    }
  }

  /** A condition that is true for every row that the aggregate uses; None if no such condition is known. */
  private def conditionOf(call: AggregateExpression): Option[Expression] =
    if (call.mode != Complete) None
    else call.filter.orElse(call.aggregateFunction match {
      case Count(Seq(e)) => notNull(e)
      case f @ (_: Sum | _: Average | _: Min | _: Max) => notNull(f.children.head)
      case f @ (_: CentralMomentAgg | _: HyperLogLogPlusPlus) => notNull(f.children.head)
      case _ => None
    })

  /** A condition that is true for every row for which `e` is not NULL; None if no such condition is known. */
  private def notNull(e: Expression): Option[Expression] = e match {
    case CaseWhen(branches, otherwise) if otherwise.forall(isNull) =>
      // A row that an earlier branch takes does not reach the later conditions, which could fail on it. So if
      // some condition can fail, the branches with NULL stay, too.
      val some = if (branches.forall(b => isTotal(b._1))) branches.filterNot(b => isNull(b._2))
      else branches
      some.map(_._1).reduceOption(Or)
    case If(condition, value, no) if isNull(no) && !isNull(value) => Some(condition)
    // COUNT_IF
    case If(Not(condition), no, value) if isNull(no) && value.semanticEquals(condition) =>
      Some(condition)
    case If(EqualTo(condition, Literal.FalseLiteral), no, value)
        if isNull(no) && value.semanticEquals(condition) => Some(condition)
    case c: Cast => notNull(c.child)
    case u: UnscaledValue => notNull(u.child)
    case u: UnaryMinus => notNull(u.child)
    // if one operand is NULL or a zero divisor, Spark may not evaluate the other, so its condition must not fail
    case b: BinaryArithmetic =>
      notNull(b.left).filter(isTotal(_)).orElse(notNull(b.right).filter(isTotal(_)))
    case _ => None
  }

  private def isNull(e: Expression): Boolean = e match {
    case Literal(value, _) => value == null
    case c: Cast => isNull(c.child)
    case _ => false
  }

  // ---- conditions

  private def isNever(e: Expression): Boolean = e match {
    case Literal(value, BooleanType) => value == null || value == false
    case _ => false
  }

  /** The condition with its constant parts evaluated. The result may be FALSE where the condition is NULL. */
  private def simplified(e: Expression): Expression = e match {
    case And(l, r) =>
      (simplified(l), simplified(r)) match {
        case (a, b) if isNever(a) || isNever(b) => Literal.FalseLiteral
        case (Literal.TrueLiteral, b) => b
        case (a, Literal.TrueLiteral) => a
        case (a, b) => And(a, b)
      }
    case Or(l, r) =>
      (simplified(l), simplified(r)) match {
        case (a, b) if a == Literal.TrueLiteral || b == Literal.TrueLiteral => Literal.TrueLiteral
        case (a, b) if isNever(a) => b
        case (a, b) if isNever(b) => a
        case (a, b) => Or(a, b)
      }
    case _: Literal => e
    case other if other.references.isEmpty && other.foldable =>
      try Literal(other.eval(), other.dataType)
      catch { case NonFatal(_) => other }
    case other
        if other.children.exists(isNull) && other.isInstanceOf[BinaryComparison] &&
          !other.isInstanceOf[EqualNullSafe] => Literal.FalseLiteral
    case other => other
  }

  /** If a node makes more rows than this of one row, nothing is derived. */
  private val MaxRows = 16
}
