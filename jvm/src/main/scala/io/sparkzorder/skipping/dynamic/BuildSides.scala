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

/**
 * Decides which side of a join can supply keys by which the other side is filtered, and whether that pays.
 */
private[dynamic] object BuildSides extends JoinSelectionHelper with PredicateHelper {

  /** The side that Spark will broadcast, as far as this is known during planning. The rules are Spark's own. */
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

  /** True for joins that return no left row without a match on the right side. */
  def isLeftPrunable(joinType: JoinType): Boolean =
    joinType == Cross || canPruneLeft(joinType)

  /** True for joins whose result does not depend on right rows without a match on the left side. */
  def isRightPrunable(joinType: JoinType): Boolean = joinType match {
    // LEFT ANTI and ExistenceJoin use the right side only to find out which left rows have a match
    case LeftAnti | ExistenceJoin(_) | Cross => true
    case other => canPruneRight(other)
  }

  /**
   * True if a side of a join may supply keys or bounds.
   *
   * @param keys the keys that the side supplies; empty if it supplies bounds
   * @param onlyInBroadcast true if the keys must come from the broadcast of the join; false if a second run may give
   *   them
   * @param isCopy true if the side in the filter is equal to the side in the join, so that Spark can run both once
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

  /** True if a second run of a subquery gives the same rows, and is small enough. */
  def canRunAgain(query: LogicalPlan): Boolean =
    Repeatability.makesSameRows(query) && runsAlike(query) &&
      fitsPlan(query, onlyInBroadcast = false)

  /**
   * True if the side likely lacks many keys of the other side. A large side without a filter, such as a whole
   * dimension table, mostly has all of these keys, and would prune no file.
   */
  private def isSelective(side: LogicalPlan): Boolean =
    side.stats.sizeInBytes <= TinySide || isFiltered(side)

  /** True if a filter of the query itself likely leaves few rows of the side. */
  def isFiltered(side: LogicalPlan): Boolean = side.exists {
    // Spark may already have evaluated the filters on a local relation
    case _: LocalRelation => true
    case Filter(condition, _) => isLikelySelective(condition) ||
      // here, a condition that Python evaluates has already been replaced by a column with its result
      splitConjunctivePredicates(condition).exists(_.isInstanceOf[Attribute])
    case _ => false
  }

  /**
   * True if adaptive execution plans the copy of a side in the same way as the side itself, so that each
   * part runs once for both. Adaptive execution chooses the join strategy again when a shuffle below the
   * join has ended. This happens at different times for the side and for the copy. If the strategies then differ,
   * the two plans are not equal any more, and Spark runs these parts twice.
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

  /** True if the keys of the side fit into the memory of the driver. */
  private def fitsDriver(side: LogicalPlan, keys: Seq[Expression]): Boolean = {
    val leaves = side.collectLeaves().map(_.outputSet)
    def isOfOneTable(key: Expression) = leaves.exists(key.references.subsetOf(_))
    // a key with columns of several tables can have as many values as there are pairs of rows
    val size = if (keys.forall(isOfOneTable)) sizeOf(side) else side.stats.sizeInBytes
    // a side with few columns has small rows, so MaxSide alone would let millions of rows pass
    val rows = side.stats.rowCount.getOrElse(size / EstimationUtils.getSizePerRow(side.output))
    size <= MaxSide && rows <= MaxRows
  }

  /**
   * An estimate of the bytes of the different keys in a plan. A join has no more different keys than its
   * tables have, but Spark estimates the size of a join by the number of pairs of rows.
   */
  def sizeOf(plan: LogicalPlan): BigInt =
    if (!plan.exists(_.isInstanceOf[Join])) plan.stats.sizeInBytes
    else plan.stats.sizeInBytes.min(plan.collectLeaves().map(_.stats.sizeInBytes).sum)

  /**
   * True if the side has few enough joins. Each filter has a copy of the side, and Spark plans each copy. A
   * second run of the side also executes all these joins once more.
   */
  private def fitsPlan(side: LogicalPlan, onlyInBroadcast: Boolean): Boolean =
    side.collectWithSubqueries { case j: Join => j }.size <=
      (if (onlyInBroadcast) MaxJoins else MaxJoinsOfSecondRun)

  /**
   * True if a second run of the plan, apart from the join, returns the same rows for certain. The plan may
   * have only nodes that run no user function on whole partitions or groups. Its rows must come from the plan
   * itself or from relations whose files we list, because all scans of such a relation in one query share one
   * listing. An INSERT of the same session may change Spark's own listing during the query. Other sources may
   * change between the two runs, and Spark may compute a cached plan anew.
   */
  private def runsAlike(side: LogicalPlan): Boolean =
    !(side +: side.subqueriesAll).exists(_.exists {
      case node if node.expressions.exists(Repeatability.seesBatches) => true
      case r: LogicalRelation => r.relation match {
          // a file index of the catalog asks for its partitions at each listing, so it may list other files
          case fs: HadoopFsRelation if ScanStrategy.canIndex(r) =>
            !fs.location.isInstanceOf[InMemoryFileIndex]
          // the files of a supported table format were listed when the query was planned
          case _: HadoopFsRelation => FormatTable.of(r).isEmpty
          case _ => true
        }
      // the scan of a supported table format keeps its snapshot, but Spark's own filters may change its
      // files
      case s: DataSourceV2ScanRelation => FormatTable.of(s).isEmpty || hasDynamicPruning(side)
      case _: LocalRelation | _: Range | _: OneRowRelation => false
      case _: Project | _: Filter | _: Join | _: Aggregate | _: Union | _: Sort | _: Expand => false
      // these Python functions get single rows
      case _: BaseEvalPython => false
      case g: Generate => !isOfFewConstants(g)
      case _ => true
    })

  /** True for rows that are exploded from one constant array that is not too long, such as days of a calendar. */
  private def isOfFewConstants(rows: Generate): Boolean = rows.generator match {
    case e: ExplodeBase => e.child match {
        case Literal(values: ArrayData, _) => values.numElements() <= MaxRows.toInt &&
          rows.child.collectLeaves().forall(_.isInstanceOf[OneRowRelation])
        case _ => false
      }
    case _ => false
  }

  /** The joins that Spark may run only in part, because a limit above them has enough rows. */
  def belowLimit(plan: LogicalPlan, isLimited: Boolean = false): Seq[Join] = plan match {
    case _: GlobalLimit | _: LocalLimit => plan.children.flatMap(belowLimit(_, isLimited = true))
    // these nodes ask for all rows
    case _: Aggregate | _: Window => plan.children.flatMap(belowLimit(_))
    case s: Sort if s.global => belowLimit(s.child)
    case j: Join => (if (isLimited) Seq(j) else Nil) ++ j.children.flatMap(belowLimit(_, isLimited))
    case _ => plan.children.flatMap(belowLimit(_, isLimited))
  }

  private def hasDynamicPruning(side: LogicalPlan): Boolean =
    side.exists(_.expressions.exists(_.exists(_.isInstanceOf[DynamicPruning])))

  // a side of at most this size counts as selective even without a filter
  private val TinySide = BigInt(64 << 10)

  // the greatest estimated size and number of rows of a side whose keys the driver holds
  private val MaxSide = BigInt(64 << 20)
  private val MaxRows = BigInt(1000000)
  private val MaxJoins = 10
  private val MaxJoinsOfSecondRun = 4
}
