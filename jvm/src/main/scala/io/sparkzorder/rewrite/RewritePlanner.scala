// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.util.UUID

import io.sparkzorder.commands.auto.{ClusteringSpec, WeightsOption}
import io.sparkzorder.conf.Settings
import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn

/**
 * What one OPTIMIZE statement is about to do.
 *
 * @param layout that the new files get
 * @param selected the files that are rewritten
 * @param batches the same files, by batches that are committed one after the other
 * @param reasons why these files are rewritten, if a reason is to be told
 * @param predicted how many more batches a real run has, for a DRY RUN
 * @param newPlans that are kept before the first batch
 * @param goesOn true if there is more to do when all batches are done
 */
private[rewrite] final case class RewritePlan(
    snapshot: TableSnapshot,
    layout: LayoutTag,
    planner: BatchPlanner,
    selected: IndexedSeq[FormatFile],
    batches: Seq[Batch],
    reasons: RewriteReasons,
    predicted: Int = 0,
    newPlans: Seq[RegionPlan] = Nil,
    goesOn: Boolean = false) {

  /** Plans in two passes that the files were dealt by, or are. */
  def plans: Set[String] =
    (selected.flatMap(_.dealt).map(_.plan) ++ batches.flatMap(_.pass.planId)).toSet
}

/** Why files are rewritten or stay: parts of a sentence. */
private[rewrite] final case class RewriteReasons(
    order: Option[String],
    files: Seq[String],
    size: Option[String],
    passes: Seq[String] = Nil)

/** Lists a table, and chooses what a statement rewrites. Changes nothing. */
private[rewrite] final class RewritePlanner(
    format: TableFormat,
    statement: Statement,
    startMs: Long) {
  import statement.{clauses, phases, user}

  // the layout of a compaction is its size of files
  private lazy val last = format.lastLayout
  private lazy val lastOrder = last.filter(_.columns.nonEmpty)

  def plan(): RewritePlan = {
    val listing = phases("list")(format.list(statement))
    val order = wanted(listing)
    val snapshot = listing.snapshot(order.names, settingsFor)
    val settings = settingsFor(snapshot.columns)
    val layout = tag(snapshot, order, settings(Settings.TargetFileSize))
    val planner =
      if (snapshot.columns.nonEmpty) {
        new ClusterPlanner(snapshot, layout, order.queries, settings, phases)
      } else new CompactPlanner(settings(Settings.TargetFileSize), format.isCopy)
    val selection = select(snapshot, order, planner, layout)
    val batches = inBatches(snapshot, layout, planner, selection.files)
    val byWhere = snapshot.chosen.map(own =>
      s"WHERE chooses ${own.size} of ${snapshot.files.size} files")
    val reasons =
      RewriteReasons(
        order.reason,
        byWhere.toSeq ++ selection.reason,
        settings.sizeKept,
        batches.reasons)
    RewritePlan(
      snapshot,
      layout,
      planner,
      selection.files,
      batches.batches,
      reasons,
      batches.predicted,
      batches.plans,
      batches.goesOn)
  }

  /**
   * What is left to do when the batches of a plan are done that goes on, such as the second of two passes.
   *
   * @param before the plan of which all batches are done
   */
  def next(before: RewritePlan): RewritePlan = {
    val columns = before.snapshot.columns
    // the runs of this statement are no longer those of others
    phases("list")(format.recover())
    val snapshot = phases("list")(format.list(format.ofSecondPass(statement)))
      .snapshot(columns.map(_.parts), settingsFor)
    val planner = new ClusterPlanner(
      snapshot,
      before.layout,
      IndexedSeq.empty,
      settingsFor(columns),
      phases)
    // not those of another statement, which may not have dealt all of its inputs yet
    val own = before.plans
    val selected =
      Unfinished.of(snapshot.files, before.layout).filter(_.dealt.exists(d => own(d.plan)))
    val batches = inBatches(snapshot, before.layout, planner, selected)
    before.copy(
      snapshot = snapshot,
      planner = planner,
      selected = selected,
      batches = batches.batches,
      newPlans = batches.plans,
      goesOn = batches.goesOn)
  }

  private def inBatches(
      snapshot: TableSnapshot,
      layout: LayoutTag,
      planner: BatchPlanner,
      files: IndexedSeq[FormatFile]): PlannedBatches = {
    val batches = new Batches(format, statement, snapshot, layout, planner).of(files)
    phases("check")(snapshot.check(batches.batches.map(_.files), room(batches.batches)))
    batches
  }

  /** Without retention, replaced files of two passes go after each batch. */
  private def room(batches: Seq[Batch]): Long = {
    val (once, twice) = batches.partition(_.pass == OnePass)
    val ofPasses = twice.map(_.files.map(_.bytes).sum)
    val isFreed = statement.settings(Settings.Retention) == 0L
    once.map(_.files.map(_.bytes).sum).sum +
      (if (isFreed) ofPasses.foldLeft(0L)(_ max _) else ofPasses.sum)
  }

  /** The columns of ZORDER BY, else the last layout, else the declared order. */
  private def wanted(listing: TableListing): ClusteringSpec = {
    def auto = ClusteringSpec.auto(
      user,
      statement.settings,
      new SampledTable(format, listing, statement),
      statement.where.isDefined,
      phases)
    if (clauses.auto) auto
    else if (clauses.columns.nonEmpty) ClusteringSpec(clauses.columns)
    // a table without a layout is at least compacted
    else if (format.isAuto) auto.copy(isLeft = false)
    else {
      lastOrder.map(l => ClusteringSpec(l.columns, l.weights))
        .getOrElse(format.orderWithoutLayout(statement))
    }
  }

  /** A run that keeps the columns of the layout keeps the size of its files, too. */
  private def settingsFor(columns: Seq[OrderingColumn]): Settings = {
    val size = last.filter(_.columns == columns.map(_.parts)).map(_.targetFileSize)
    statement.settings.keeping(size.filter(_ > 0))
  }

  private def tag(
      snapshot: TableSnapshot,
      order: ClusteringSpec,
      targetFileSize: Long): LayoutTag = {
    val columns = snapshot.columns
    val weights = new WeightsOption(user, statement.settings).of(columns)
      .getOrElse(if (columns.isEmpty) Nil else order.weights)
    // the first layout of a table is not a change; the same layout that AUTO cuts for other queries is
    val since = lastOrder.fold(0L) { l =>
      val isSame = l.columns == columns.map(_.parts) && l.weights == weights
      if (isSame && !order.rewritesAll) l.sinceMs else startMs
    }
    LayoutTag(
      columns.map(_.name).mkString(", "),
      snapshot.layoutKey,
      targetFileSize,
      weights,
      UUID.randomUUID().toString,
      since)
  }

  /** Of the files that WHERE chooses those that are worth rewriting. */
  private def select(
      snapshot: TableSnapshot,
      order: ClusteringSpec,
      planner: BatchPlanner,
      layout: LayoutTag): Selection = {
    val chosen = snapshot.chosen.getOrElse(snapshot.files)
    if (order.isLeft && !format.isCopy) Selection(IndexedSeq.empty)
    else if (clauses.full || order.rewritesAll || format.isCopy || chosen.isEmpty) {
      planner.selectAll(if (format.isCopy) chosen else withoutFinished(chosen, layout))
    } else planner.select(chosen)
  }

  /** FULL goes on with two passes that have begun, and does not begin anew with what is finished. */
  private def withoutFinished(
      files: IndexedSeq[FormatFile],
      layout: LayoutTag): IndexedSeq[FormatFile] = {
    val plans = files.groupBy(_.folder).map { case (folder, own) =>
      folder -> Unfinished.of(own, layout).map(_.dealt.get.plan).toSet
    }
    files.filterNot(f => f.finishedPlan.exists(plans(f.folder)))
  }
}
