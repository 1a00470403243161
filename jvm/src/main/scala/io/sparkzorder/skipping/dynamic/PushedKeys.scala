// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

import io.sparkzorder.plans.Repeatability

/**
 * Pushes filters on keys through one node of a plan. A filter passes a node only if dropping rows below
 * the node changes no row of the node's result that the filter would keep.
 */
private[dynamic] object PushedKeys extends AliasHelper {

  /** The filters that pass the node, for each of its children in terms of the child's columns. */
  def below(node: LogicalPlan, filters: Seq[KeyFilter]): Seq[Seq[KeyFilter]] =
    passing(node, above(node, filters))

  /** The filters below the node: `isAbovePlain` and `isAboveTotal` stay true only if they hold for this node, too. */
  private def above(node: LogicalPlan, filters: Seq[KeyFilter]): Seq[KeyFilter] =
    if (filters.isEmpty) Nil
    else {
      lazy val isPlain = StrictExpressions.isPlain(node)
      lazy val isTotal = TotalExpressions.isTotal(node)
      filters.map(f =>
        f.copy(isAbovePlain = f.isAbovePlain && isPlain, isAboveTotal = f.isAboveTotal && isTotal))
    }

  private def passing(node: LogicalPlan, filters: Seq[KeyFilter]): Seq[Seq[KeyFilter]] =
    node match {
      case p: Project if p.projectList.forall(_.deterministic) =>
        Seq(inTermsOf(p.child, filters, replaceAlias(_, getAliasMap(p))))
      case a: Aggregate
          if a.groupingExpressions.nonEmpty && a.aggregateExpressions.forall(_.deterministic) =>
        val grouping = AttributeSet(a.groupingExpressions.collect { case g: Attribute => g })
        val below = inTermsOf(a.child, filters, replaceAlias(_, getAliasMap(a)))
        // the value of any other column depends on the whole group
        Seq(below.filter(f => f.key.references.subsetOf(grouping) && isSameForEqual(f.key)))
      case f: Filter if f.condition.deterministic => Seq(filters.filter(reads(f.child)))
      case w: Window if w.windowExpressions.forall(_.deterministic) =>
        Seq(filters.filter(isOf(w.partitionSpec)))
      case w: WindowGroupLimit => Seq(filters.filter(isOf(w.partitionSpec)))
      case s: Sort => Seq(filters.filter(reads(s.child)))
      case u: Union =>
        u.children.map { child =>
          val columns = AttributeMap(u.output.zip(child.output))
          inTermsOf(child, filters, _.transform { case a: Attribute => columns.getOrElse(a, a) })
        }
      case other => other.children.map(_ => Nil)
    }

  /** True if the filter drops all rows of a window partition, or none of them. */
  private def isOf(partition: Seq[Expression])(f: KeyFilter): Boolean =
    isSameForEqual(f.key) &&
      f.key.references.subsetOf(AttributeSet(partition.collect { case a: Attribute => a }))

  /**
   * True if the key has one value for all rows of a group. The rows of a group may have different values that Spark
   * takes for equal: 0.0 and -0.0 are one group, but `cast(x AS STRING)` tells them apart, so a filter on that key
   * would drop a part of the group.
   */
  private def isSameForEqual(key: Expression): Boolean = key match {
    // Spark wraps each DOUBLE key of a join, also one that is computed from a column with both zeros
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(_: Attribute)) => true
    case a: Attribute => !Repeatability.hasEqualValues(a.dataType)
    case e => e.children.forall(isSameForEqual)
  }

  /** The filters that pass a join, for its left and right side. */
  def below(
      join: Join,
      leftKeys: Seq[Expression],
      rightKeys: Seq[Expression],
      filters: Seq[KeyFilter]): (Seq[KeyFilter], Seq[KeyFilter]) = {
    val isDeterministic = join.condition.forall(_.deterministic)
    val passed = above(join, filters)
    val left = passed.filter(f => isDeterministic && toLeft(join.joinType) && reads(join.left)(f))
    val right =
      passed.filter(f => isDeterministic && toRight(join.joinType) && reads(join.right)(f))
    // matching rows of both sides have equal keys, so a filter on a key of one side also holds for the other
    val across = if (isDeterministic) leftKeys.zip(rightKeys) else Nil
    val alsoRight =
      if (!fromLeft(join.joinType)) Nil
      else left.filter(crosses(join.joinType, filters)).flatMap(moved(_, across))
    val alsoLeft =
      right.filter(crosses(join.joinType, filters)).flatMap(moved(_, across.map(_.swap)))
    (left ++ alsoLeft, right ++ alsoRight)
  }

  /**
   * True if a filter may also go to the other side of the join. A filter prunes files, not rows. If only the
   * inner side of an outer join is pruned, a row of the outer side whose file stays gets NULL in place of its
   * partner. The join above drops this row, but expressions between the two joins must not fail on the NULL, as
   * `coalesce(c, raise_error('no partner'))` does.
   */
  private def crosses(t: JoinType, above: Seq[KeyFilter])(f: KeyFilter): Boolean = t match {
    case LeftOuter | RightOuter => above.exists(a => a.isAbovePlain && (a.sources eq f.sources))
    case _ => true
  }

  private def moved(f: KeyFilter, pairs: Seq[(Expression, Expression)]): Seq[KeyFilter] =
    NullSafeKeys.testedBy(f).fold {
      // a filter that one of several expressions must pass does not restrict a single one of them
      (if (f.isOneOf) Nil else pairs).collect {
        case (from, to) if from.semanticEquals(f.key) && from.dataType == to.dataType =>
          f.copy(key = to)
      }
    } { key =>
      (pairs ++ NullSafeKeys.pairs(pairs)).collect {
        case (from, to) if from.semanticEquals(key) && from.dataType == to.dataType =>
          f.copy(key = NullSafeKeys.tested(to))
      }
    }

  private def toLeft(t: JoinType): Boolean = t match {
    case _: InnerLike | LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => true
    case _ => false
  }
  private def toRight(t: JoinType): Boolean = t match {
    case _: InnerLike | RightOuter => true
    case _ => false
  }
  private def fromLeft(t: JoinType): Boolean = t match {
    case _: InnerLike | LeftOuter | LeftSemi => true
    case _ => false
  }

  private def inTermsOf(
      child: LogicalPlan,
      filters: Seq[KeyFilter],
      replaced: Expression => Expression): Seq[KeyFilter] =
    filters.map(f => f.copy(key = replaced(f.key))).filter(reads(child))

  private def reads(plan: LogicalPlan)(f: KeyFilter): Boolean =
    f.key.deterministic && f.key.references.nonEmpty &&
      f.key.references.subsetOf(plan.outputSet) &&
      !f.key.exists(_.isInstanceOf[PlanExpression[_]])
}
