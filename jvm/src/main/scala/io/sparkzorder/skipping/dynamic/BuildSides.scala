// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{
  BuildLeft,
  BuildRight,
  BuildSide,
  JoinSelectionHelper
}
import org.apache.spark.sql.catalyst.plans.{Cross, ExistenceJoin, JoinType, LeftAnti}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.datasources.{
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.plans.Repeatability
import io.sparkzorder.skipping.scan.{FormatTable, ScanStrategy}

/** Which side of a join can tell the other side its keys, and whether that is worth anything. */
private[dynamic] object BuildSides extends JoinSelectionHelper with PredicateHelper {

  /** The side that Spark will broadcast, as far as that is known while planning. */
  def broadcastSide(join: Join, conf: SQLConf): Option[BuildSide] = {
    val hint = join.hint
    val left = canBuildBroadcastLeft(join.joinType)
    val right = canBuildBroadcastRight(join.joinType)
    val smaller = getSmallerSide(join.left, join.right)
    def chosen(l: Boolean, r: Boolean): Option[BuildSide] =
      if (l && r) Some(smaller) else if (l) Some(BuildLeft) else if (r) Some(BuildRight) else None
    chosen(left && hintToBroadcastLeft(hint), right && hintToBroadcastRight(hint)).orElse {
      if (hasOtherStrategy(hint)) None
      else {
        chosen(
          left && !hintToNotBroadcastLeft(hint) && canBroadcastBySize(join.left, conf),
          right && !hintToNotBroadcastRight(hint) && canBroadcastBySize(join.right, conf))
      }
    }
  }

  private def hasOtherStrategy(hint: JoinHint): Boolean =
    Seq(hint.leftHint, hint.rightHint).flatten.flatMap(_.strategy).exists {
      case SHUFFLE_MERGE | SHUFFLE_HASH | SHUFFLE_REPLICATE_NL => true
      case _ => false
    }

  /** True for joins that return no row of their left side without a partner. */
  def isLeftPrunable(joinType: JoinType): Boolean =
    joinType == Cross || canPruneLeft(joinType)

  /** True for joins to which rows of their right side without a partner are nothing. */
  def isRightPrunable(joinType: JoinType): Boolean = joinType match {
    // the right side only tells which rows of the left one have a partner
    case LeftAnti | ExistenceJoin(_) | Cross => true
    case other => canPruneRight(other)
  }

  /**
   * @param keys what the side tells; none if it tells bounds
   * @param onlyInBroadcast false if Spark may run the side once more for its keys
   * @param isCopy false if the query has no part that is equal to the side
   */
  def givesKeys(
      side: LogicalPlan,
      keys: Seq[Expression],
      onlyInBroadcast: Boolean,
      isCopy: Boolean,
      conf: SQLConf): Boolean =
    isSelective(side) && fitsDriver(side, keys) && Repeatability.makesSameRows(side) &&
      fitsPlan(side, onlyInBroadcast) && (!isCopy || isPlannedAlike(side, conf)) &&
      (onlyInBroadcast || runsAlike(side))

  /**
   * True if another run of a plan costs less than reading the files that its result lets go.
   *
   * @param share of the relation's files that the result leaves
   */
  def isCheaper(plans: Seq[LogicalPlan], share: Double, relation: LogicalPlan): Boolean = {
    val cost = plans.flatMap(_.collectLeaves()).map(_.stats.sizeInBytes).sum
    BigDecimal(cost) < BigDecimal(relation.stats.sizeInBytes) * (1 - share)
  }

  /** True if a second run of a subquery gives the same rows, and is small enough. */
  def canRunAgain(query: LogicalPlan): Boolean =
    Repeatability.makesSameRows(query) && runsAlike(query) &&
      fitsPlan(query, onlyInBroadcast = false)

  /** A side without any condition has the keys of most rows of the other side. */
  private def isSelective(side: LogicalPlan): Boolean =
    side.stats.sizeInBytes <= TinySide || isFiltered(side)

  /** True if a condition of the query's own likely leaves few rows of the side. */
  def isFiltered(side: LogicalPlan): Boolean = side.exists {
    // Spark has evaluated the conditions on these
    case _: LocalRelation => true
    case Filter(condition, _) => isLikelySelective(condition) ||
      // a condition that Python evaluates is a column by then
      splitConjunctivePredicates(condition).exists(_.isInstanceOf[Attribute])
    case _ => false
  }

  /**
   * True if adaptive execution plans a copy of the side as it plans the side itself, so that each part
   * runs once for both. Adaptive execution chooses the kind of a join again when a shuffle below the join
   * has its rows. It does so for the join's side and for the filter's copy at different moments, may choose
   * differently, and would then run what is above and below twice.
   */
  private def isPlannedAlike(side: LogicalPlan, conf: SQLConf): Boolean =
    !conf.adaptiveExecutionEnabled || !side.exists {
      case j: Join => broadcastSide(j, conf).isEmpty || j.children.exists(_.exists(mayShuffle))
      case _ => false
    }

  private def mayShuffle(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: Filter | _: Union | _: Join | _: LeafNode => false
    case _ => true
  }

  /** Keys of a larger side would need too much memory of the driver. */
  private def fitsDriver(side: LogicalPlan, keys: Seq[Expression]): Boolean = {
    val leaves = side.collectLeaves().map(_.outputSet)
    def isOfOneTable(key: Expression) = leaves.exists(key.references.subsetOf(_))
    // keys of several tables can be as many as there are pairs of rows
    val size = if (keys.forall(isOfOneTable)) sizeOf(side) else side.stats.sizeInBytes
    // a row of few columns is small, and a great number of them fits into MaxSide
    val rows = side.stats.rowCount.getOrElse(size / EstimationUtils.getSizePerRow(side.output))
    size <= MaxSide && rows <= MaxRows
  }

  /**
   * The bytes of a plan, as far as different keys are concerned: a join has no more of these than its tables.
   * Spark takes a join to have as many rows as there are pairs.
   */
  def sizeOf(plan: LogicalPlan): BigInt =
    if (!plan.exists(_.isInstanceOf[Join])) plan.stats.sizeInBytes
    else plan.stats.sizeInBytes.min(plan.collectLeaves().map(_.stats.sizeInBytes).sum)

  /**
   * Each filter holds a copy of the side, and Spark plans each copy. A second run costs an execution of
   * all its joins, too.
   */
  private def fitsPlan(side: LogicalPlan, onlyInBroadcast: Boolean): Boolean =
    side.collectWithSubqueries { case j: Join => j }.size <=
      (if (onlyInBroadcast) MaxJoins else MaxJoinsOfSecondRun)

  /**
   * True if a second run of the plan, apart from the join, surely gives the same rows. The nodes are those
   * that run no functions of users on whole partitions or groups. They read rows in the plan, or files of
   * relations that are ours to list: two scans in one query get one listing of these, though an INSERT of the
   * session changes Spark's own listing meanwhile. A source of another kind may have changed, and what is
   * cached may have been computed anew.
   */
  private def runsAlike(side: LogicalPlan): Boolean =
    !(side +: side.subqueriesAll).exists(_.exists {
      case node if node.expressions.exists(Repeatability.seesBatches) => true
      case r: LogicalRelation => r.relation match {
          // an index of the catalog asks for its partitions at each listing
          case fs: HadoopFsRelation if ScanStrategy.canIndex(r) =>
            !fs.location.isInstanceOf[InMemoryFileIndex]
          // the files were listed when the query was planned
          case _: HadoopFsRelation => FormatTable.of(r).isEmpty
          case _ => true
        }
      // such a scan keeps the snapshot that it was planned for; filters of Spark's own may change its files
      case s: DataSourceV2ScanRelation => FormatTable.of(s).isEmpty || hasDynamicPruning(side)
      case _: LocalRelation | _: Range | _: OneRowRelation => false
      case _: Project | _: Filter | _: Join | _: Aggregate | _: Union | _: Sort | _: Expand => false
      // functions of single rows
      case _: BaseEvalPython => false
      case g: Generate => !isOfFewConstants(g)
      case _ => true
    })

  /** True for rows made of a constant, such as the days of a calendar. */
  private def isOfFewConstants(rows: Generate): Boolean = rows.generator match {
    case e: ExplodeBase => e.child match {
        case Literal(values: ArrayData, _) => values.numElements() <= MaxRows.toInt &&
          rows.child.collectLeaves().forall(_.isInstanceOf[OneRowRelation])
        case _ => false
      }
    case _ => false
  }

  private def hasDynamicPruning(side: LogicalPlan): Boolean =
    side.exists(_.expressions.exists(_.exists(_.isInstanceOf[DynamicPruning])))

  private val TinySide = BigInt(64 << 10)
  private val MaxSide = BigInt(64 << 20)
  private val MaxRows = BigInt(1000000)
  private val MaxJoins = 10
  private val MaxJoinsOfSecondRun = 4
}
