// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.util.UUID

import scala.collection.mutable.ArrayBuffer

import io.sparkzorder.commands.auto.{ClusteringSpec, WeightsOption}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn

/**
 * What one OPTIMIZE statement is about to do.
 *
 * @param layout that the new files get
 * @param selected the files that are rewritten
 * @param batches the same files, by batches that are committed one after the other
 * @param reasons why these files are rewritten, if a reason is to be told
 */
private[rewrite] final case class RewritePlan(
    snapshot: TableSnapshot,
    layout: LayoutTag,
    planner: BatchPlanner,
    selected: IndexedSeq[FormatFile],
    batches: Seq[IndexedSeq[FormatFile]],
    reasons: RewriteReasons)

/** Why files are rewritten or stay: parts of a sentence. */
private[rewrite] final case class RewriteReasons(
    order: Option[String],
    files: Seq[String],
    size: Option[String])

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
    val selection = select(snapshot, order, planner)
    val batches = inBatches(selection.files)
    phases("check")(snapshot.check(batches))
    val byWhere = snapshot.chosen.map(own =>
      s"WHERE chooses ${own.size} of ${snapshot.files.size} files")
    val reasons =
      RewriteReasons(order.reason, byWhere.toSeq ++ selection.reason, settings.sizeKept)
    RewritePlan(snapshot, layout, planner, selection.files, batches, reasons)
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
      planner: BatchPlanner): Selection = {
    val chosen = snapshot.chosen.getOrElse(snapshot.files)
    if (order.isLeft && !format.isCopy) Selection(IndexedSeq.empty)
    else if (clauses.full || order.rewritesAll || format.isCopy || chosen.isEmpty) {
      planner.selectAll(chosen)
    } else planner.select(chosen)
  }

  /**
   * Puts whole folders into batches of up to `batchSize` bytes. Each batch is rewritten and committed by
   * itself; one job writes folders of one group.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_TOO_LARGE for a folder above that size,
   *   unless OPTIONS have a batch size
   */
  private def inBatches(files: IndexedSeq[FormatFile]): Seq[IndexedSeq[FormatFile]] = {
    val byFolder = files.groupBy(_.folder)
    files.map(_.folder).distinct.groupBy(_.group).toSeq.sortBy(_._1).flatMap { case (_, folders) =>
      filled(folders)(byFolder(_).map(_.bytes).sum).map(_.flatMap(byFolder))
    }
  }

  private def filled(folders: IndexedSeq[FormatFolder])(
      bytes: FormatFolder => Long): Seq[IndexedSeq[FormatFolder]] = {
    val limit = statement.settings(Settings.BatchSize)
    val isLimited = !format.isCopy &&
      !clauses.options.keys.exists(_.equalsIgnoreCase(Settings.BatchSize.key))
    val groups = ArrayBuffer(ArrayBuffer.empty[FormatFolder])
    var sum = 0L
    folders.foreach { folder =>
      val size = bytes(folder)
      if (size > limit && isLimited) {
        throw ZOrderErrors.partitionTooLarge(format.name, folder.toString, size, limit)
      }
      if (groups.last.nonEmpty && sum + size > limit) {
        groups += ArrayBuffer.empty
        sum = 0L
      }
      groups.last += folder
      sum += size
    }
    groups.toSeq.filter(_.nonEmpty).map(_.toIndexedSeq)
  }
}
