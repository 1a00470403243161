// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Join,
  JoinHint,
  LogicalPlan,
  OneRowRelation
}

import io.sparkzorder.skipping.scan.{RuntimeFilterBridge, SideOfKeys}

/**
 * What a join says of one of its sides by the rows of the other, on its way down the first side.
 *
 * @param key what the filter tests, in terms of the plan that the filter has reached
 * @param sources where the keys come from: one side of a join, or several if equal parts of a plan
 *   get one filter
 * @param isOneOf true if the join wants one of several expressions to have a partner. The key is a struct
 *   of them then, with a source for each
 * @param isAbovePlain true if nothing between the join of the keys and this place of the plan can fail on
 *   a row that the join drops
 * @param isAboveTotal true if nothing between the join of the keys and this place of the plan can fail,
 *   whatever the values are
 * @param narrows the source whose keys include all keys of this filter
 */
private[dynamic] final case class KeyFilter(
    key: Expression,
    sources: Seq[KeySource],
    isOneOf: Boolean = false,
    isAbovePlain: Boolean = true,
    isAboveTotal: Boolean = true,
    narrows: Option[KeySource] = None) {

  /** The expressions of which one has a partner. */
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

  /** True if the scan tests its rows, too, and the key may fail on a row that another filter drops. */
  def canFailOnRows: Boolean = !keys.forall(TotalExpressions.isTotal(_))

  /** This filter where it has to drop rows; None if the rows of the sides could differ from the join's. */
  def forRows: Option[KeyFilter] =
    if (canFailOnRows || !sources.forall(_.canRunAgain)) None
    else Some(copy(sources = sources.map(_.forRows)))

  def isWorth(share: Double, relation: LogicalPlan): Boolean =
    sources.forall(_.isWorth(share, relation)) && {
      // many runs that are cheap one by one can cost more than they save
      val again = sources.filterNot(_.isFree).map(_.build)
      !isOneOf || again.size <= 2 || BuildSides.isCheaper(again, share, relation)
    }

  /** True if the keys may be used for the record of the workload alone: they cost nothing. */
  def isForRecord: Boolean = sources.forall(_.isForRecord)

  /**
   * A plan with those of its rows alone that this filter wants. None if the keys are not those of one join, are
   * those of most rows, or could be others when Spark runs their side once more.
   */
  def semiJoined(plan: LogicalPlan): Option[LogicalPlan] = sources match {
    case Seq(keys: EqualKeys) if !isOneOf => keys.semiJoined(plan, key)
    case _ => None
  }

  /** True if the other filter wants each row that this filter wants, and comes from the same join. */
  def isNarrower(other: KeyFilter): Boolean =
    narrows.exists(n => other.sources.exists(_ eq n)) && key.semanticEquals(other.key)

  /** True once the filter has reached a relation. */
  def isUsed: Boolean = sources.exists(_.isUsed)

  def markUsed(): Unit = sources.foreach(_.isUsed = true)
}

/** One side of a join as it tells something of the other. */
private[dynamic] trait KeySource {

  /** The side, exactly as the join has it. */
  def build: LogicalPlan

  /** What the side says of a key of the other side, for the files of a scan. */
  def onFiles(key: Expression): Expression

  /** The same for rows. */
  def onRows(key: Expression): Expression

  /** True if a scan tests its rows by the filter for files, too. */
  def isOnRows: Boolean

  /** True if the join makes a broadcast of `build` anyway, and no filter is left out of `build` for the keys. */
  def isForRecord: Boolean

  /** True if Spark does not run `build` once more for the keys. */
  def isFree: Boolean

  /** True if another run of `build` surely gives the same rows. */
  def canRunAgain: Boolean

  /**
   * A second run of `build` must cost less than reading the files that the keys let go.
   *
   * @param share of the relation's files that one key reads
   */
  def isWorth(share: Double, relation: LogicalPlan): Boolean =
    isFree || BuildSides.isCheaper(Seq(build), share, relation)

  private[dynamic] var isUsed: Boolean = false

  /** The same source, not used yet. */
  def fresh: KeySource

  /** The same source, not used yet, where its filter for rows is used as well. */
  def forRows: KeySource

  /** Equal for two sources of the same keys. */
  def form: Any
}

/**
 * The keys that a side has: a row of the other side needs one of them.
 *
 * @param keys all keys of the join on this side
 * @param position of the filter's key among them
 * @param onlyInBroadcast false if Spark may run `build` once more for the keys
 * @param runsForRows true if Spark runs `build` once more for a filter of rows
 */
private[dynamic] final class EqualKeys(
    val build: LogicalPlan,
    keys: Seq[Expression],
    position: Int,
    onlyInBroadcast: Boolean,
    val isForRecord: Boolean,
    val canRunAgain: Boolean,
    runsForRows: Boolean = false)
    extends KeySource {

  override def onFiles(key: Expression): Expression =
    RuntimeFilterBridge.pruning(key, build, keys, position, onlyInBroadcast)

  /** Spark does not send the keys that it takes from a broadcast to the tasks that test rows. */
  override def onRows(key: Expression): Expression = {
    val one = Alias(keys(position), "key")()
    val all = Aggregate(Seq(one.child), Seq(one), build)
    InSubquery(Seq(key), ListQuery(all, numCols = 1))
  }

  /** The rows of another plan whose value of `key` is among the keys. */
  def semiJoined(plan: LogicalPlan, key: Expression): Option[LogicalPlan] =
    // the filter of rows that belongs to this one would be missing
    if (!canRunAgain || runsForRows || !BuildSides.isFiltered(build) ||
      plan.outputSet.intersect(build.outputSet).nonEmpty) None
    else {
      // the join above may see fewer rows of the plan
      val condition = EqualTo(TotalExpressions.orNull(key), keys(position))
      Some(Join(plan, build, LeftSemi, Some(condition), JoinHint.NONE))
    }

  override def isOnRows: Boolean = false
  override def isFree: Boolean = onlyInBroadcast && !runsForRows
  override def fresh: EqualKeys = copied(runsForRows)
  override def forRows: EqualKeys = copied(rows = true)

  private def copied(rows: Boolean): EqualKeys =
    new EqualKeys(
      build,
      keys,
      position,
      onlyInBroadcast,
      isForRecord && !rows,
      canRunAgain,
      rows)

  override lazy val form: Any = (SideOfKeys.of(build, keys, Seq(position)), onlyInBroadcast)
}

/** A condition by which a row is wanted although it has no partner: the filter's key is the condition. */
private[dynamic] final class KnownCondition extends KeySource {
  override def build: LogicalPlan = OneRowRelation()

  /** This form keeps the condition apart from filters of rows, as those by keys are. */
  override def onFiles(key: Expression): Expression = DynamicPruningExpression(key)
  override def onRows(key: Expression): Expression = key
  override def isOnRows: Boolean = false
  override def isForRecord: Boolean = false
  override def isFree: Boolean = true
  override def canRunAgain: Boolean = true
  override def fresh: KnownCondition = new KnownCondition
  override def forRows: KnownCondition = fresh
  override def form: Any = KnownCondition
}

private[dynamic] object KnownCondition {

  /** @param unknown columns that no relation has */
  def of(condition: Expression, unknown: Set[ExprId]): Option[(Expression, KeySource)] =
    if (!condition.deterministic || condition.references.isEmpty ||
      condition.references.exists(a => unknown(a.exprId)) ||
      condition.exists(_.isInstanceOf[PlanExpression[_]])) None
    else Some(condition -> new KnownCondition)
}
