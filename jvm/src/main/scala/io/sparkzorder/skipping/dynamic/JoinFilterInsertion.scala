package io.sparkzorder.skipping.dynamic

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.internal.SQLConf

/**
 * Inserts filters on join keys into the optimized plan of one query. The filters of a join go down
 * the side that is not broadcast, through every node that lets them pass, to relations whose files
 * they can prune.
 *
 * No filter goes into the broadcast side of a join that gives keys itself. The keys come from a
 * copy of that side, which must stay equal to it.
 *
 * @param isReplaced true if an accelerator may replace the scans. No scan can take the keys from a broadcast
 *   then, so all keys come from a second run of the side.
 */
private[dynamic] final class JoinFilterInsertion(conf: SQLConf, isReplaced: Boolean) {
  private val columns = new PrunableColumns
  private val reuse = new ReuseGuard

  /** A side of a join is asked for without filters at each join that it is below. */
  private val unfiltered = new IdentityHashMap[LogicalPlan, LogicalPlan]

  def apply(whole: LogicalPlan): LogicalPlan = {
    val plan = if (isReplaced) new ScalarFilters(columns)(whole) else whole
    reuse.protect(plan)
    var result = wholly(plan)
    var rounds = 0
    while (reuse.closesMore(plan, result) && rounds < JoinFilterInsertion.MaxRounds) {
      unfiltered.clear()
      result = wholly(plan)
      rounds += 1
    }
    if (rounds < JoinFilterInsertion.MaxRounds) result else plan
  }

  /** A query or subquery, with its own subqueries. Equal plans get equal filters. */
  private def wholly(plan: LogicalPlan): LogicalPlan = {
    val inner = plan.transformAllExpressionsWithPruning(_.containsPattern(PLAN_EXPRESSION)) {
      case s: SubqueryExpression =>
        val changed = wholly(s.plan)
        if (changed eq s.plan) s else s.withNewPlan(changed)
    }
    rewrite(inner, Nil)
  }

  private def rewrite(plan: LogicalPlan, filters: Seq[KeyFilter]): LogicalPlan =
    if (filters.nonEmpty) rewriteNode(plan, filters)
    else Option(unfiltered.get(plan)).getOrElse {
      val made = rewriteNode(plan, Nil)
      unfiltered.put(plan, made)
      made
    }

  private def rewriteNode(plan: LogicalPlan, filters: Seq[KeyFilter]): LogicalPlan = plan match {
    case j @ ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, _, _, _) =>
      rewriteJoin(j, leftKeys, rightKeys, filters)
    case j: Join => rewriteJoin(j, Nil, Nil, filters)
    case r: LogicalRelation => insert(r, filters)
    // Spark analyzes the plan of a recursion again in each round, and then may refuse filters by keys
    case recursion if recursion.nodeName == "UnionLoop" => recursion
    case node =>
      val below = PushedKeys.below(node, filters)
      withChildren(
        node,
        node.children.zip(below).map { case (child, f) =>
          if (exchanges(node)) reusable(child, f) else rewrite(child, f)
        })
  }

  private def exchanges(node: LogicalPlan): Boolean = node match {
    case _: Project | _: Filter | _: Union => false
    case _ => true
  }

  /** A plan whose rows Spark may compute once for two places of the query. */
  private def reusable(plan: LogicalPlan, filters: Seq[KeyFilter]): LogicalPlan =
    if (filters.isEmpty || reuse.isClosed(plan)) rewrite(plan, Nil)
    else {
      val changed = rewrite(plan, reuse.forAllCopies(plan, filters))
      reuse.note(plan, changed, filters)
      changed
    }

  private def rewriteJoin(
      join: Join,
      leftKeys: Seq[Expression],
      rightKeys: Seq[Expression],
      filters: Seq[KeyFilter]): LogicalPlan = {
    val (toLeft, toRight) = PushedKeys.below(join, leftKeys, rightKeys, filters)
    val isPlain = StrictExpressions.isPlain(join)
    val left = Side(join.left, leftKeys, toLeft, BuildSides.canPruneLeft(join.joinType), isPlain)
    val right =
      Side(join.right, rightKeys, toRight, BuildSides.canPruneRight(join.joinType), isPlain)
    BuildSides.broadcastSide(join, conf) match {
      case Some(BuildRight) =>
        val (l, r) = broadcast(left, right)
        withChildren(join, Seq(l, r))
      case Some(BuildLeft) =>
        val (r, l) = broadcast(right, left)
        withChildren(join, Seq(l, r))
      case None =>
        val (l, r) = shuffled(left, right)
        withChildren(join, Seq(l, r))
    }
  }

  /**
   * @param filters filters from above that reach this side
   * @param isPrunable false if the join returns rows of this side that have no partner
   * @param isPlain true if the join's condition cannot fail on NULL
   */
  private case class Side(
      plan: LogicalPlan,
      keys: Seq[Expression],
      filters: Seq[KeyFilter],
      isPrunable: Boolean,
      isPlain: Boolean)

  private def broadcast(stream: Side, build: Side): (LogicalPlan, LogicalPlan) = {
    val whole = rewrite(build.plan, Nil)
    val own = keysFor(stream, build, whole, onlyInBroadcast = !isReplaced)
    val newStream = rewrite(stream.plan, stream.filters ++ own)
    val newBuild =
      if (build.filters.isEmpty || (own.exists(_.isUsed) && !isReplaced)) whole
      else reusable(build.plan, build.filters)
    (newStream, newBuild)
  }

  /** A small side that Spark cannot broadcast gives its keys too, by a second run. */
  private def shuffled(left: Side, right: Side): (LogicalPlan, LogicalPlan) = {
    val isRightSmaller = right.plan.stats.sizeInBytes <= left.plan.stats.sizeInBytes
    val (stream, build) = if (isRightSmaller) (left, right) else (right, left)
    val own = keysFor(stream, build, rewrite(build.plan, Nil), onlyInBroadcast = false)
    val newStream = reusable(stream.plan, stream.filters ++ own)
    val newBuild = reusable(build.plan, build.filters)
    if (isRightSmaller) (newStream, newBuild) else (newBuild, newStream)
  }

  private def keysFor(
      stream: Side,
      build: Side,
      rewritten: LogicalPlan,
      onlyInBroadcast: Boolean): Seq[KeyFilter] =
    if (!stream.isPrunable || build.keys.isEmpty || !BuildSides.isSelective(build.plan) ||
      !BuildSides.fitsDriver(build.plan) || !BuildSides.isRepeatable(build.plan) ||
      !BuildSides.fitsPlan(build.plan, onlyInBroadcast) ||
      !BuildSides.isPlannedAlike(build.plan, conf) ||
      !(onlyInBroadcast || BuildSides.runsAlike(build.plan))) Nil
    else {
      stream.keys.zip(build.keys).zipWithIndex.collect {
        case ((key, ofBuild), i)
            if key.deterministic && key.references.nonEmpty && ofBuild.references.nonEmpty &&
              key.dataType == ofBuild.dataType =>
          // keys that only the record wants must not cost the broadcast side the filters from above
          val forRecord = onlyInBroadcast && build.filters.isEmpty
          val source = new KeySource(rewritten, build.keys, i, onlyInBroadcast, forRecord)
          KeyFilter(key, Seq(source), stream.isPlain)
      }
    }

  private def insert(r: LogicalRelation, filters: Seq[KeyFilter]): LogicalPlan = {
    val (worth, others) = filters.partition(f => columns.share(f.key, r).exists(f.isWorth(_, r)))
    val noted = others.filter(f => f.isForRecord && columns.isNoted(f.key, r))
    val useful = (worth ++ noted).take(JoinFilterInsertion.MaxFilters)
    useful.foreach(_.markUsed())
    useful.map(_.expression).reduceOption[Expression](And).fold[LogicalPlan](r)(Filter(_, r))
  }

  private def withChildren(node: LogicalPlan, children: Seq[LogicalPlan]): LogicalPlan =
    if (node.children.zip(children).forall { case (a, b) => a eq b }) node
    else node.withNewChildren(children)
}

private[dynamic] object JoinFilterInsertion {

  /** How often the filters are inserted again because they would have cost a reuse. */
  private val MaxRounds = 8

  private val MaxFilters = 8
}
