// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.util.UUID

import io.sparkzorder.commands.auto.{ClusteringSpec, WeightsOption}
import io.sparkzorder.conf.Settings
import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn

/**
 * The plan of one OPTIMIZE statement.
 *
 * @param layout the layout tag of the new files
 * @param selected the files to rewrite
 * @param planned the same files in batches
 * @param reasons why these files are rewritten, for the report
 */
private[rewrite] final case class RewritePlan(
    snapshot: TableSnapshot,
    layout: LayoutTag,
    planner: BatchPlanner,
    selected: IndexedSeq[FormatFile],
    planned: PlannedBatches,
    reasons: RewriteReasons) {

  def batches: Seq[Batch] = planned.batches

  /** The ids of the plans by which the selected files were dealt, or will be dealt in these batches. */
  def plans: Set[String] =
    (selected.flatMap(_.dealt).map(_.plan) ++ batches.flatMap(_.pass.planId)).toSet
}

/**
 * Why files are rewritten or stay. Each reason is a part of a sentence.
 *
 * @param order why the ordering columns were chosen
 * @param files why some files are rewritten and others stay
 * @param size why the target size of the files differs from the settings
 */
private[rewrite] final case class RewriteReasons(
    order: Option[String],
    files: Seq[String],
    size: Option[String])

/** Lists a table, and chooses the files that a statement rewrites. Writes nothing. */
private[rewrite] final class RewritePlanner(
    format: TableFormat,
    statement: Statement,
    startMs: Long) {
  import statement.{clauses, phases, user}

  // In a plain table, a compaction leaves a layout without columns, but with a target size of files. Delta and
  // Iceberg tables have no last layout after a compaction.
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
    val planned = inBatches(snapshot, layout, planner, selection.files)
    val byWhere = snapshot.chosen.map(own =>
      s"WHERE chooses ${own.size} of ${snapshot.files.size} files")
    val reasons =
      RewriteReasons(order.reason, byWhere.toSeq ++ selection.reason, settings.sizeKept)
    RewritePlan(snapshot, layout, planner, selection.files, planned, reasons)
  }

  /**
   * The plan of the next pass, after a plan whose [[PlannedBatches.goesOn]] is true.
   *
   * @param before the earlier plan; all its batches are done
   */
  def next(before: RewritePlan): RewritePlan = {
    val columns = before.snapshot.columns
    // `recover` notes the last record: otherwise the runs that this statement has committed would count as
    // conflicting runs of other statements
    phases("list")(format.recover())
    val snapshot = phases("list")(format.list(format.ofSecondPass(statement)))
      .snapshot(columns.map(_.parts), settingsFor)
    val planner = new ClusterPlanner(
      snapshot,
      before.layout,
      IndexedSeq.empty,
      settingsFor(columns),
      phases)
    // files that another statement dealt are left out, because the first pass of that statement may be incomplete
    val own = before.plans
    val selected =
      Unfinished.of(snapshot.files, before.layout).filter(_.dealt.exists(d => own(d.plan)))
    before.copy(
      snapshot = snapshot,
      planner = planner,
      selected = selected,
      planned = inBatches(snapshot, before.layout, planner, selected))
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

  /**
   * The bytes that must be free on storage. Without retention, the files that a batch of two passes replaces are
   * deleted after this batch, so only the largest such batch of this pass counts.
   */
  private def room(batches: Seq[Batch]): Long = {
    val (once, twice) = batches.partition(_.pass == OnePass)
    val ofPasses = twice.map(_.files.map(_.bytes).sum)
    val isFreed = statement.settings(Settings.Retention) == 0L
    once.map(_.files.map(_.bytes).sum).sum +
      (if (isFreed) ofPasses.foldLeft(0L)(_ max _) else ofPasses.sum)
  }

  /**
   * The order of the statement: the columns of ZORDER BY, or those that AUTO chooses. If the statement names
   * neither, a table that is declared with AUTO gets the choice of AUTO. Any other table gets the order of its
   * last layout, else its declared order.
   */
  private def wanted(listing: TableListing): ClusteringSpec = {
    def auto = ClusteringSpec.auto(
      user,
      statement.settings,
      new SampledTable(format, listing, statement),
      statement.where.isDefined,
      phases)
    if (clauses.auto) auto
    else if (clauses.columns.nonEmpty) ClusteringSpec(clauses.columns)
    // the table is declared with SORT BY ZORDER AUTO
    else if (format.isAuto) {
      // if AUTO chooses no columns, the files are still compacted
      auto.copy(leavesTable = false)
    } else {
      lastOrder.map(l => ClusteringSpec(l.columns, l.weights))
        .getOrElse(format.orderWithoutLayout(statement))
    }
  }

  /**
   * The settings of a run by `columns`. If the last layout had the same columns, the run keeps its target file
   * size.
   */
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
    // The first layout of a table is not a change of layout. If AUTO cuts the same columns anew for other queries,
    // this is a change.
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

  /** Those of the files chosen by WHERE that are worth rewriting. */
  private def select(
      snapshot: TableSnapshot,
      order: ClusteringSpec,
      planner: BatchPlanner,
      layout: LayoutTag): Selection = {
    val chosen = snapshot.chosen.getOrElse(snapshot.files)
    if (order.leavesTable && !format.isCopy) Selection(IndexedSeq.empty)
    else if (clauses.full || order.rewritesAll || format.isCopy || chosen.isEmpty) {
      planner.selectAll(if (format.isCopy) chosen else withoutFinished(chosen, layout))
    } else planner.select(chosen)
  }

  /**
   * Leaves out the finished files of plans in two passes that still have unfinished files. FULL continues such
   * a plan, and does not rewrite the regions that are done. Only the files of a region with one key, which have no
   * second pass, are dealt again.
   */
  private def withoutFinished(
      files: IndexedSeq[FormatFile],
      layout: LayoutTag): IndexedSeq[FormatFile] = {
    val plans = files.groupBy(_.folder).map { case (folder, own) =>
      folder -> Unfinished.of(own, layout).map(_.dealt.get.plan).toSet
    }
    files.filterNot(f => f.finishedPlan.exists(plans(f.folder)))
  }
}
