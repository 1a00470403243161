// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.execution.datasources.{
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf

/**
 * Inserts filters on join keys into the optimized plan of one query. The filters of a join go down the side
 * that is not broadcast, or the larger side, through every node that lets them pass, to relations whose files
 * they can prune. If the broadcast side of a join gives keys, no filter goes into this side: the keys come from a
 * copy of the side, and the side must stay equal to the copy.
 *
 * @param isReplaced true if an accelerator may replace the scans. No scan can take the keys from a broadcast
 *   then, so all keys come from a second run of the side.
 */
private[dynamic] final class JoinFilterInsertion(
    whole: LogicalPlan,
    conf: SQLConf,
    isReplaced: Boolean)
    extends PredicateHelper {
  private val columns = new PrunableColumns(isReplaced)
  private val reuse = new ReuseGuard

  /** A cache of plans rewritten without filters from above: each join above a plan would rewrite it again. */
  private val unfiltered = new IdentityHashMap[LogicalPlan, LogicalPlan]

  /** The joins below a limit, of which Spark may run only a part. */
  private val limited = new IdentityHashMap[Join, Join]

  /** Listings of the same paths by two data frames. Spark takes them for equal, though their files may differ. */
  private lazy val twins: Seq[InMemoryFileIndex] = {
    val all = listingsOf(whole)
    all.filter(a => all.exists(b => (a ne b) && a == b))
  }

  /** The plan with filters. */
  def result: LogicalPlan = {
    val plan = if (isReplaced) new ScalarFilters(columns)(whole) else whole
    reuse.protect(plan)
    var changed = rewriteQuery(plan)
    var rounds = 0
    while (reuse.closesMore(plan, changed) && rounds < JoinFilterInsertion.MaxRounds) {
      unfiltered.clear()
      changed = rewriteQuery(plan)
      rounds += 1
    }
    if (rounds < JoinFilterInsertion.MaxRounds) changed else plan // the query keeps its plan
  }

  private def listingsOf(plan: LogicalPlan): Seq[InMemoryFileIndex] =
    (plan +: plan.subqueriesAll).flatMap(_.collect { case l: LogicalRelation => l.relation })
      .collect { case fs: HadoopFsRelation => fs.location }
      // the listings of Delta and other formats are of one version of the table, so equal listings have the same files
      .collect { case listed: InMemoryFileIndex => listed }

  /** As [[BuildSides.givesKeys]], for a side of this query. */
  private def givesKeys(
      side: LogicalPlan,
      keys: Seq[Expression],
      onlyInBroadcast: Boolean,
      isCopy: Boolean = true): Boolean =
    BuildSides.givesKeys(side, keys, onlyInBroadcast, isCopy, conf) &&
      (onlyInBroadcast || !listingsOf(side).exists(twins.contains))

  /** Inserts filters into a query or subquery, and first into its own subqueries. Equal plans get equal filters. */
  private def rewriteQuery(plan: LogicalPlan): LogicalPlan = {
    val inner = plan.transformAllExpressionsWithPruning(_.containsPattern(PLAN_EXPRESSION)) {
      case s: SubqueryExpression =>
        val changed = rewriteQuery(s.plan)
        if (changed eq s.plan) s else s.withNewPlan(changed)
    }
    BuildSides.belowLimit(inner).foreach(join => limited.put(join, join))
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
    case r: LogicalRelation => columns.insert(r, filters)
    case s: DataSourceV2ScanRelation if filters.nonEmpty => columns.insert(s, filters)
    // Spark analyzes the plan of a recursion again in each round of the recursion, and may refuse filters by keys
    case recursion if recursion.nodeName == "UnionLoop" => recursion
    case f: Filter =>
      withChildren(f, Seq(rewrite(f.child, PushedKeys.below(f, filters).head ++ ofExistence(f))))
    case node =>
      val below = PushedKeys.below(node, filters)
      withChildren(
        node,
        node.children.zip(below).map { case (child, f) =>
          if (exchanges(node)) reusable(child, f, TotalExpressions.combines(node))
          else rewrite(child, f)
        })
  }

  private def exchanges(node: LogicalPlan): Boolean = node match {
    case _: Project | _: Union => false
    case _ => true
  }

  /** A plan whose rows Spark may compute once for two places of the query. */
  private def reusable(
      plan: LogicalPlan,
      filters: Seq[KeyFilter],
      isCombined: Boolean = false): LogicalPlan =
    if (filters.isEmpty || reuse.isClosed(plan)) rewrite(plan, Nil)
    else {
      val own = reuse.forAllCopies(plan, filters)
      val changed = if (isCombined) withRows(plan, own) else rewrite(plan, own)
      reuse.record(plan, changed, filters)
      changed
    }

  /**
   * Rewrites the plan below a node that combines rows, such as an aggregate. A filter drops files, not rows, so
   * it may drop only a part of a group. Such a group has no partner in the join above, but expressions between
   * the node and the join see results that the whole group would not give: in ANSI mode, `100 / sum(v)` fails if
   * the remaining values add up to 0. If such an expression may fail, a second filter drops the other rows of the
   * group, too.
   */
  private def withRows(plan: LogicalPlan, filters: Seq[KeyFilter]): LogicalPlan = {
    val (harmless, others) = filters.partition(_.isAboveTotal)
    val ofRows = others.flatMap(f => f.forRows.map(f -> _))
    val changed = rewrite(plan, harmless ++ ofRows.map(_._2))
    val used = ofRows.collect {
      case (f, forRows) if forRows.isUsed =>
        f.markUsed()
        forRows.onRows
    }
    used.reduceOption(And).fold(changed)(Filter(_, changed))
  }

  private def rewriteJoin(
      join: Join,
      leftKeys: Seq[Expression],
      rightKeys: Seq[Expression],
      filters: Seq[KeyFilter]): LogicalPlan = {
    val (toLeft, toRight) = PushedKeys.below(join, leftKeys, rightKeys, filters)
    val isPlain = StrictExpressions.isPlain(join)
    val isTotal = TotalExpressions.isTotal(join)
    def side(plan: LogicalPlan, keys: Seq[Expression], down: Seq[KeyFilter], isPrunable: Boolean) =
      JoinSide(plan, keys, down, isPrunable, isPlain, isTotal)
    val left = side(join.left, leftKeys, toLeft, BuildSides.isLeftPrunable(join.joinType))
    val right = side(join.right, rightKeys, toRight, BuildSides.isRightPrunable(join.joinType))
    val (newLeft, newRight) = BuildSides.broadcastSide(join, conf) match {
      case Some(BuildRight) => broadcast(left, right, join)
      case Some(BuildLeft) => broadcast(right, left, join).swap
      case None => shuffled(left, right, join)
    }
    withChildren(join, Seq(newLeft, newRight))
  }

  /** Rewrites a join that broadcasts `build`. The result has the new plans of `stream` and `build`. */
  private def broadcast(
      stream: JoinSide,
      build: JoinSide,
      join: Join): (LogicalPlan, LogicalPlan) = {
    val whole = rewrite(build.plan, Nil)
    val own = equalKeys(stream, build, whole, onlyInBroadcast = !isReplaced)
    val others = narrowed(stream, build, whole, own, join) ++
      conditions(stream, build, whole, join.condition)
    val newStream = rewrite(stream.plan, stream.filters ++ own ++ others)
    // Spark may stop before it has run all of the streamed side: if a limit has enough rows, or if the other side
    // of an inner join has no rows. A second run, which reads all rows, must then not fail.
    val mayRunWhole = !stream.isPrunable && !limited.containsKey(join) ||
      TotalExpressions.neverFails(stream.plan) && stream.keys.forall(TotalExpressions.isTotal(_))
    val toBuild = (if (own.exists(_.isUsed) && !isReplaced) Nil else build.filters) ++
      (if (mayRunWhole) ofStream(stream, build, whole, own ++ others, join) else Nil)
    (newStream, if (toBuild.isEmpty) whole else reusable(build.plan, toBuild))
  }

  /**
   * Filters of `build` by the keys and bounds of `stream`, which come from a second run of `stream`. They are for
   * joins in which `build` gives no keys to `stream`. An example is
   * `(SELECT * FROM customers WHERE segment = 'vip') LEFT JOIN orders USING (customer)`.
   *
   * @param whole the plan of `build` without filters from above, which gives keys to `stream`
   * @param toStream the filters of `stream` by keys of `build`
   */
  private def ofStream(
      stream: JoinSide,
      build: JoinSide,
      whole: LogicalPlan,
      toStream: Seq[KeyFilter],
      join: Join): Seq[KeyFilter] = {
    // the filters from above include those that `ofExistence` has made of this join, whose keys come from `build`
    def givesToStream = stream.filters.exists(f => f.isUsed && f.sources.exists(_.build eq whole))
    if (toStream.exists(_.isUsed) || givesToStream) Nil
    else {
      val source = rewrite(stream.plan, Nil)
      equalKeys(build, stream, source, onlyInBroadcast = false) ++
        conditions(build, stream, source, join.condition)
    }
  }

  /** Rewrites a join whose sides Spark does not broadcast. A second run of a small side gives the keys. */
  private def shuffled(
      left: JoinSide,
      right: JoinSide,
      join: Join): (LogicalPlan, LogicalPlan) = {
    val isRightSmaller = BuildSides.sizeOf(right.plan) <= BuildSides.sizeOf(left.plan)
    val (stream, build) = if (isRightSmaller) (left, right) else (right, left)
    val whole = rewrite(build.plan, Nil)
    val own = equalKeys(stream, build, whole, onlyInBroadcast = false)
    val others = narrowed(stream, build, whole, own, join) ++
      conditions(stream, build, whole, join.condition)
    val newStream = reusable(stream.plan, stream.filters ++ own ++ others)
    val toBuild = ofStream(stream, build, whole, own ++ others, join)
    val newBuild = reusable(build.plan, build.filters ++ toBuild)
    if (isRightSmaller) (newStream, newBuild) else (newBuild, newStream)
  }

  /**
   * Filters of `stream` by the keys of `build` in the equalities of the join.
   *
   * @param rewritten the plan of `build` that gives the keys, already with its own filters
   */
  private def equalKeys(
      stream: JoinSide,
      build: JoinSide,
      rewritten: => LogicalPlan,
      onlyInBroadcast: Boolean,
      isCopy: Boolean = true): Seq[KeyFilter] =
    if (!stream.isPrunable || build.keys.isEmpty ||
      !givesKeys(build.plan, build.keys, onlyInBroadcast, isCopy)) Nil
    else {
      lazy val runsAgain = givesKeys(build.plan, build.keys, onlyInBroadcast = false, isCopy)
      lazy val whole = rewritten
      // If the broadcast side gives keys, it loses its own filters from above (see `broadcast`). A filter that prunes
      // nothing, and is there for the recorded workload only, is not worth this loss.
      val forRecord = onlyInBroadcast && build.filters.isEmpty
      def source(i: Int) =
        new EqualKeys(whole, build.keys, i, onlyInBroadcast, runsAgain, forRecord)
      val (keys, ofBuild) = (stream.keys.toIndexedSeq, build.keys.toIndexedSeq)
      def nullSafe(all: IndexedSeq[Expression], i: Int) =
        all.lift(i + 1).flatMap(NullSafeKeys.of(all(i), _))
      keys.indices.filter(i => isTestable(keys(i), ofBuild(i))).flatMap { i =>
        nullSafe(keys, i).filter(_ => nullSafe(ofBuild, i).isDefined) match {
          case Some(e) =>
            Some(stream.filter(
              NullSafeKeys.tested(e),
              Seq(source(i), source(i + 1)),
              isOneOf = true))
          case None if i > 0 && nullSafe(keys, i - 1).isDefined => None
          case None => Some(stream.filter(keys(i), Seq(source(i))))
        }
      }
    }

  /**
   * Filters by the keys of only those rows of `build` that have a partner in the joins above. An example is
   * customers of one segment, if segments are a table of their own. A second run of `build`, joined with its
   * partners, gives the keys.
   */
  private def narrowed(
      stream: JoinSide,
      build: JoinSide,
      whole: LogicalPlan,
      own: Seq[KeyFilter],
      join: Join): Seq[KeyFilter] = {
    val (plan, used) = build.filters
      // a filter on a key of this join also filters `stream` directly (see PushedKeys)
      .filterNot(f => build.keys.exists(_.semanticEquals(f.key)))
      .foldLeft((whole, Seq.empty[KeyFilter])) { case ((plan, used), f) =>
        f.semiJoined(plan).fold((plan, used))((_, used :+ f))
      }
    // an outer join keeps a row whose partner is filtered out, with NULL in place of the partner
    if (used.isEmpty || !join.joinType.isInstanceOf[InnerLike]) Nil
    else {
      val side = build.copy(plan = plan, filters = Nil)
      equalKeys(stream, side, plan, onlyInBroadcast = false, isCopy = false).map { f =>
        f.copy(
          isAbovePlain = f.isAbovePlain && used.forall(_.isAbovePlain),
          isAboveTotal = f.isAboveTotal && used.forall(_.isAboveTotal),
          narrows = own.find(_.key.semanticEquals(f.key)).flatMap(_.sources.headOption))
      }
    }
  }

  private def isTestable(key: Expression, ofBuild: Expression): Boolean =
    key.deterministic && key.references.nonEmpty && ofBuild.references.nonEmpty &&
      key.dataType == ofBuild.dataType

  /**
   * Filters by keys that follow from a condition with subqueries, such as
   * `a IN (SELECT ..) OR b IN (SELECT ..) OR c = 5`. At this point, each subquery is a join that adds a
   * column: true if the row has a partner.
   */
  private def ofExistence(filter: Filter): Seq[KeyFilter] = {
    val joins = ExistenceColumns.in(filter.child)
    if (joins.isEmpty) Nil
    else {
      lazy val isPlain = StrictExpressions.isPlain(filter)
      lazy val isTotal = TotalExpressions.isTotal(filter)
      splitConjunctivePredicates(filter.condition).flatMap { condition =>
        val parts = ExistenceColumns.alternatives(condition)
        val sources = parts.map { part =>
          splitConjunctivePredicates(part).collectFirst {
            case a: Attribute if joins.contains(a.exprId) => joins(a.exprId)
          }.fold(KnownCondition.of(part, joins.keySet))(ofExistence(_, filter.child))
        }
        if (sources.contains(None) || !parts.exists(_.references.exists(a =>
            joins.contains(a.exprId))))
          None
        else {
          val (keys, of) = sources.flatten.unzip
          val key = if (keys.size == 1) keys.head else struct(keys)
          Some(KeyFilter(key, of, isOneOf = keys.size > 1, isPlain, isTotal))
        }
      }
    }
  }

  private def ofExistence(join: Join, above: LogicalPlan): Option[(Expression, KeySource)] =
    join match {
      case ExtractEquiJoinKeys(_, keys, ofBuild, _, _, _, right, _) =>
        val onlyInBroadcast =
          !isReplaced && BuildSides.broadcastSide(join, conf).contains(BuildRight)
        if (!givesKeys(right, ofBuild, onlyInBroadcast)) None
        else {
          val runsAgain = givesKeys(right, ofBuild, onlyInBroadcast = false)
          keys.indices.find(i =>
            isTestable(keys(i), ofBuild(i)) && keys(i).references.subsetOf(above.outputSet)).map {
            i =>
              keys(i) ->
                new EqualKeys(rewrite(right, Nil), ofBuild, i, onlyInBroadcast, runsAgain)
          }
        }
      case _ => None
    }

  private def struct(keys: Seq[Expression]): CreateNamedStruct =
    CreateNamedStruct(keys.zipWithIndex.flatMap { case (key, i) => Seq(Literal(s"key$i"), key) })

  /**
   * Filters that follow from the parts of the join's condition that are not equalities. A second run of the
   * other side gives the values.
   */
  private def conditions(
      stream: JoinSide,
      build: JoinSide,
      rewritten: LogicalPlan,
      condition: Option[Expression]): Seq[KeyFilter] = {
    val found =
      if (!stream.isPrunable) Nil
      else condition.toSeq.flatMap(new KeyConditions(stream.plan, build.plan).in)
    def values = found.flatMap(_.keys.collect { case (_, KeyConditions.Equal(value)) => value })
    if (found.isEmpty || !givesKeys(build.plan, values, onlyInBroadcast = false)) Nil
    else found.map { oneOf =>
      val (keys, sources) = oneOf.keys.map {
        case (key, KeyConditions.Equal(value)) =>
          val supplied = Seq(TotalExpressions.orNull(value))
          key -> new EqualKeys(rewritten, supplied, 0, onlyInBroadcast = false, canRunAgain = true)
        case (key, KeyConditions.Bounds(bounds)) =>
          key -> new BoundsOfKeys(oneOf.rows(rewritten, bounds), bounds, oneOf.unless)
      }.unzip
      if (keys.size == 1) stream.filter(keys.head, sources)
      else stream.filter(struct(keys), sources, isOneOf = true)
    }
  }

  private def withChildren(node: LogicalPlan, children: Seq[LogicalPlan]): LogicalPlan =
    if (node.children.zip(children).forall { case (a, b) => a eq b }) node
    else node.withNewChildren(children)
}

private[dynamic] object JoinFilterInsertion {

  /** The maximum number of rounds. Each round takes back filters that would prevent Spark from reusing a result. */
  private val MaxRounds = 8
}
