// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Max, Min}
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Filter,
  Join,
  JoinHint,
  LogicalPlan,
  OneRowRelation,
  Project
}
import org.apache.spark.sql.types.BooleanType

import io.sparkzorder.skipping.scan.{RuntimeFilterBridge, RuntimeFilters, SideOfKeys}

/**
 * A filter on one side of a join by keys of the other side. The filter is pushed down the plan of the first
 * side, and this class describes the filter at one position there.
 *
 * @param key the expression that the filter tests, in columns of the plan that the filter has reached
 * @param sources the sources of the keys: one side of a join, or several sides if equal parts of a plan
 *   share one filter
 * @param isOneOf true if the join requires a match for one of several expressions. The key is then a struct
 *   of these expressions, and each expression has its own source
 * @param isAbovePlain true if the join, and each node between the join and the present position of the filter, neither
 *   fails more often nor lets more rows pass because some columns are NULL ([[StrictExpressions]])
 * @param isAboveTotal true if no expression between the join and the present position of the filter can
 *   fail, whatever the values are
 * @param narrows another source of the same join, whose keys include all keys of this filter
 */
private[dynamic] final case class KeyFilter(
    key: Expression,
    sources: Seq[KeySource],
    isOneOf: Boolean = false,
    isAbovePlain: Boolean = true,
    isAboveTotal: Boolean = true,
    narrows: Option[KeySource] = None) {

  /** The expressions of which one must have a match. */
  def keys: Seq[Expression] = key match {
    case struct: CreateNamedStruct if isOneOf => struct.valExprs
    case one => Seq(one)
  }

  /** The filter for the files of a scan. */
  def onFiles: Expression = expression(_.onFiles(_))

  /** The filter for rows. */
  def onRows: Expression = expression(_.onRows(_))

  private def expression(of: (KeySource, Expression) => Expression): Expression = {
    val tested = if (isOneOf) sources.zip(keys) else sources.map(_ -> key)
    tested.map { case (source, k) => of(source, k) }.reduce(Or)
  }

  /** True if computing the key may fail, for example on a row that another filter would drop first. */
  def canFailOnRows: Boolean = !keys.forall(TotalExpressions.isTotal(_))

  /**
   * A form of this filter that also drops rows, not only files. None if the key may fail, or if a second run of
   * a side could return other rows than the join gets.
   */
  def forRows: Option[KeyFilter] =
    if (canFailOnRows || !sources.forall(_.canRunAgain)) None
    else Some(copy(sources = sources.map(_.forRows)))

  /**
   * True if the filter likely saves more than it costs.
   *
   * @param share the share of the files of the relation that one key keeps
   * @param columns estimates what a second run of a side reads
   */
  def isWorth(share: Double, relation: LogicalPlan, columns: PrunableColumns): Boolean =
    sources.forall(_.isWorth(share, relation, columns)) && {
      // Several additional runs, each of them cheap, can together cost more than they save. Two runs, as
      // for the value and the NULL of `a <=> b`, are accepted.
      val again = sources.filterNot(_.isFree).map(_.build)
      !isOneOf || again.size <= 2 || columns.isCheaper(again, share, relation)
    }

  /**
   * True if the join broadcasts all sources anyway, so that the keys cost nothing. Such a filter may be inserted
   * although it prunes no file, so that the recorded workload contains the keys ([[PrunableColumns.isRecorded]]).
   */
  def isForRecord: Boolean = sources.forall(_.isForRecord)

  /**
   * The plan, reduced to the rows that match this filter. None if the keys come from more than one join, if
   * they likely match most rows, or if a second run of their side could return other keys.
   */
  def semiJoined(plan: LogicalPlan): Option[LogicalPlan] = sources match {
    case Seq(keys: EqualKeys) if !isOneOf => keys.semiJoined(plan, key)
    case _ => None
  }

  /** True if the other filter comes from the same join and accepts each row that this filter accepts. */
  def isNarrower(other: KeyFilter): Boolean =
    narrows.exists(n => other.sources.exists(_ eq n)) && key.semanticEquals(other.key)

  /** True once the filter has reached a relation. */
  def isUsed: Boolean = sources.exists(_.isUsed)

  def markUsed(): Unit = sources.foreach(_.isUsed = true)
}

/**
 * One side of a join.
 *
 * @param keys the operands of this side in the equalities of the join
 * @param filters filters from above that reach this side
 * @param isPrunable false if the join returns rows of this side that have no partner
 * @param isPlain true if the join neither fails more often nor returns more rows because some columns are NULL
 *   ([[StrictExpressions]])
 * @param isTotal true if the join's condition cannot fail at all
 */
private[dynamic] final case class JoinSide(
    plan: LogicalPlan,
    keys: Seq[Expression],
    filters: Seq[KeyFilter],
    isPrunable: Boolean,
    isPlain: Boolean,
    isTotal: Boolean) {
  def filter(key: Expression, from: Seq[KeySource], isOneOf: Boolean = false): KeyFilter =
    KeyFilter(key, from, isOneOf, isPlain, isTotal)
}

/** One side of a join, as the source of a filter on the other side. */
private[dynamic] trait KeySource {

  /** The plan of the side, exactly as the join has it. */
  def build: LogicalPlan

  /** The filter on a key of the other side, in the form that prunes the files of a scan. */
  def onFiles(key: Expression): Expression

  /** The same filter, in the form that drops rows. */
  def onRows(key: Expression): Expression

  /** True if the scan also applies [[onFiles]] to its rows. */
  def isOnRows: Boolean = false

  /** True if the join broadcasts `build` anyway, and `build` needs no change for the keys. */
  def isForRecord: Boolean = false

  /** True if Spark does not run `build` once more for the keys. */
  def isFree: Boolean

  /** True if another run of `build` returns the same rows for certain. */
  def canRunAgain: Boolean = true

  /**
   * True if a second run of `build` is not needed, or costs less than reading the files that the keys
   * prune.
   *
   * @param share the share of the files of the relation that one key keeps
   */
  def isWorth(share: Double, relation: LogicalPlan, columns: PrunableColumns): Boolean =
    isFree || columns.isCheaper(Seq(build), share, relation)

  private[dynamic] var isUsed: Boolean = false

  /** A copy of this source that is marked as not used. */
  def fresh: KeySource

  /** A copy of this source that is marked as not used, for a filter that also drops rows. */
  def forRows: KeySource = fresh

  /** A value that is equal for two sources with the same keys. */
  def form: Any
}

/**
 * The keys of an equality join: a row of the other side matches only if its key is one of them.
 *
 * @param keys all keys of the join on this side
 * @param position the position in `keys` of the key that the filter uses
 * @param onlyInBroadcast false if Spark may run `build` once more for the keys
 * @param runsForRows true if Spark runs `build` once more for the filter that drops rows
 */
private[dynamic] final class EqualKeys(
    val build: LogicalPlan,
    keys: Seq[Expression],
    position: Int,
    onlyInBroadcast: Boolean,
    override val canRunAgain: Boolean,
    override val isForRecord: Boolean = false,
    runsForRows: Boolean = false)
    extends KeySource {

  override def onFiles(key: Expression): Expression =
    RuntimeFilterBridge.pruning(key, build, keys, position, onlyInBroadcast)

  /**
   * A subquery, because Spark gives the keys from a broadcast to the driver and not to the tasks that test
   * rows.
   */
  override def onRows(key: Expression): Expression = {
    val one = Alias(keys(position), "key")()
    val all = Aggregate(Seq(one.child), Seq(one), build)
    InSubquery(Seq(key), ListQuery(all, numCols = 1))
  }

  /** Another plan, reduced to the rows whose value of `key` is among the keys. */
  def semiJoined(plan: LogicalPlan, key: Expression): Option[LogicalPlan] =
    // with `runsForRows`, the filter needs a second filter that drops rows; a filter by the keys of the semi-join
    // would come without that second filter
    if (!canRunAgain || runsForRows || !BuildSides.isFiltered(build) ||
      plan.outputSet.intersect(build.outputSet).nonEmpty) None
    else {
      // The key may fail on a row that the join itself never gets. Such a row gets NULL and does not match.
      val condition = EqualTo(TotalExpressions.orNull(key), keys(position))
      Some(Join(plan, build, LeftSemi, Some(condition), JoinHint.NONE))
    }

  override def isFree: Boolean = onlyInBroadcast && !runsForRows
  override def fresh: EqualKeys = copied(runsForRows)
  override def forRows: EqualKeys = copied(rows = true)

  private def copied(rows: Boolean): EqualKeys =
    new EqualKeys(
      build,
      keys,
      position,
      onlyInBroadcast,
      canRunAgain,
      isForRecord && !rows,
      rows)

  override lazy val form: Any = (SideOfKeys.of(build, keys, Seq(position)), onlyInBroadcast)
}

/**
 * A condition that lets a row pass although the row has no match, such as `f.a > 5` in
 * `f.k = d.k OR f.a > 5`. The key of the filter is the condition itself.
 */
private[dynamic] final class KnownCondition extends KeySource {
  override def build: LogicalPlan = OneRowRelation()

  /** The condition in the form of a dynamic filter, so that Spark does not take it for a filter of rows. */
  override def onFiles(key: Expression): Expression = DynamicPruningExpression(key)
  override def onRows(key: Expression): Expression = key
  override def isFree: Boolean = true
  override def fresh: KnownCondition = new KnownCondition
  override def form: Any = KnownCondition
}

private[dynamic] object KnownCondition {

  /** @param unknown the columns that no relation has, such as computed columns */
  def of(condition: Expression, unknown: Set[ExprId]): Option[(Expression, KeySource)] =
    if (!condition.deterministic || condition.references.isEmpty ||
      condition.references.exists(a => unknown(a.exprId)) ||
      condition.exists(_.isInstanceOf[PlanExpression[_]])) None
    else Some(condition -> new KnownCondition)
}

/**
 * A bound that each row of this side of a join sets for a key of the other side.
 *
 * @param value an expression over the columns of this side
 * @param isLower true if the key is not less than the value
 * @param isInclusive true if the key may be the value
 */
private[dynamic] final case class KeyBound(
    value: Expression,
    isLower: Boolean,
    isInclusive: Boolean)

/**
 * The least lower bound and the greatest upper bound that the rows of one side of a join give for a key of
 * the other side. They come from a scalar subquery over a copy of the side.
 *
 * @param unless a condition on the rows of this side. If the condition is true for one of these rows, each row
 *   of the other side has a match, whatever its key is
 */
private[dynamic] final class BoundsOfKeys(
    val build: LogicalPlan,
    bounds: Seq[KeyBound],
    unless: Option[Expression])
    extends KeySource {

  /**
   * A row of the other side has a match only if its key is above the least lower bound and below the
   * greatest upper bound. If the side has no rows, or only bounds that are NULL, the subquery returns NULLs. No row
   * then passes the test, which is right, because no row has a match.
   */
  override def onFiles(key: Expression): Expression = {
    val extremes = bounds.map { b =>
      // If the bound of a row cannot be computed, either the query fails anyway or the row has no match. So
      // NULL may stand for this bound.
      val value = TotalExpressions.orNull(b.value)
      (if (b.isLower) Min(value) else Max(value)).toAggregateExpression()
    }
    // the greatest of some truth values is true if one of them is
    val values = extremes ++ unless.map(Max(_).toAggregateExpression())
    val row = CreateNamedStruct(values.zipWithIndex.flatMap { case (e, i) =>
      Seq(Literal(s"bound$i"), e)
    })
    val subquery =
      ScalarSubquery(Aggregate(Nil, Seq(Alias(row, RuntimeFilters.OfBounds)()), build))
    bounds.zipWithIndex.map { case (b, i) =>
      val extreme = GetStructField(subquery, i)
      (b.isLower, b.isInclusive) match {
        case (true, true) => GreaterThanOrEqual(key, extreme)
        case (true, false) => GreaterThan(key, extreme)
        case (false, true) => LessThanOrEqual(key, extreme)
        case (false, false) => LessThan(key, extreme)
      }
    }.reduce[Expression](And) match {
      case within if unless.isEmpty => within
      case within => Or(within, GetStructField(subquery, bounds.size))
    }
  }

  override def onRows(key: Expression): Expression = onFiles(key)
  override def isOnRows: Boolean = true
  override def fresh: BoundsOfKeys = new BoundsOfKeys(build, bounds, unless)

  // a side with one row ends in an aggregate without GROUP BY, and Spark reuses the shuffle of this aggregate
  override def isFree: Boolean = BoundsOfKeys.isOneRow(build)

  override lazy val form: Any =
    (
      SideOfKeys.of(build, bounds.map(_.value) ++ unless, Nil),
      bounds.map(b => (b.isLower, b.isInclusive)))
}

private[dynamic] object BoundsOfKeys {

  /** True for a filter that [[BoundsOfKeys.onFiles]] has made. */
  def isIn(filter: Expression): Boolean = filter.exists {
    case s: ScalarSubquery => s.plan.output.headOption.exists(_.name == RuntimeFilters.OfBounds)
    case _ => false
  }

  private def isOneRow(plan: LogicalPlan): Boolean = plan match {
    case a: Aggregate => a.groupingExpressions.isEmpty
    case p: Project => isOneRow(p.child)
    case f: Filter => isOneRow(f.child)
    case _ => false
  }
}

/**
 * Keys of `a <=> b`, which are also equal if both are NULL. Spark makes two keys of such a comparison: the
 * value, with a default in place of NULL, and whether the value is NULL. With a filter for each of the two, a
 * file could pass by different rows: one row with NULL, and another with the default value. So one filter
 * tests both: the value is a key, or the value is NULL and NULL is a key.
 */
private[dynamic] object NullSafeKeys {

  /** The expression of which Spark makes the two keys. */
  def of(key: Expression, next: Expression): Option[Expression] = (key, next) match {
    case (Coalesce(Seq(a, _: Literal)), IsNull(b)) if a.semanticEquals(b) => Some(a)
    case _ => None
  }

  /**
   * The two sides of each `a <=> b` among the keys of a join. A `coalesce(a, 0)` of the query is not one of
   * them.
   */
  def pairs(keys: Seq[(Expression, Expression)]): Seq[(Expression, Expression)] =
    keys.zip(keys.drop(1)).flatMap { case ((left, right), (nextLeft, nextRight)) =>
      for (a <- of(left, nextLeft); b <- of(right, nextRight) if default(left) == default(right))
        yield (a, b)
    }

  private def default(key: Expression): Option[Expression] = key match {
    case Coalesce(Seq(_, default)) => Some(default.canonicalized)
    case _ => None
  }

  /** The key of the filter for an expression: its value, and a flag that is TRUE if the expression is NULL. */
  def tested(e: Expression): CreateNamedStruct = CreateNamedStruct(Seq(
    Literal("value"),
    e,
    Literal("isNull"),
    If(IsNull(e), Literal.TrueLiteral, Literal(null, BooleanType))))

  /** The expression that a filter tests in this way. */
  def testedBy(f: KeyFilter): Option[Expression] =
    if (!f.isOneOf || f.sources.exists(_.isInstanceOf[KnownCondition])) None
    else f.keys match {
      case Seq(value, If(IsNull(other), Literal.TrueLiteral, Literal(null, BooleanType)))
          if value.semanticEquals(other) =>
        Some(value)
      case _ => None
    }
}
