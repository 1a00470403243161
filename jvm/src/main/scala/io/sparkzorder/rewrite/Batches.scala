// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import scala.collection.mutable.ArrayBuffer

import org.apache.commons.io.FileUtils.byteCountToDisplaySize

import io.sparkzorder.cluster.FolderGrid
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources._

/**
 * What a batch does to the files of its folders: either it gives them their final layout, or it is one of two
 * passes that together give them this layout.
 *
 * @param planId the plan of a layout in two passes
 * @param number 1 or 2, for a layout in two passes
 */
private[rewrite] sealed abstract class Pass(val planId: Option[String], val number: Option[Int])

/** The files get their final layout. */
private[rewrite] case object OnePass extends Pass(None, None)

/**
 * The first of two passes: the rows are dealt to the regions of a plan. Each new file has rows of one region
 * only.
 */
private[rewrite] final case class Deal(plan: String, regions: FolderGrid)
    extends Pass(Some(plan), Some(1))

/** The second pass: the files of one region get their final layout. */
private[rewrite] final case class Gather(plan: String) extends Pass(Some(plan), Some(2))

/** Files that are rewritten and committed together. */
private[rewrite] final case class Batch(files: IndexedSeq[FormatFile], pass: Pass = OnePass) {

  /** For the log. */
  def describe: String = {
    val folders = files.map(_.folder).distinct.size
    val what = pass match {
      case OnePass => ""
      case Deal(plan, regions) =>
        s", dealt to ${regions.cells.size} regions (pass 1 of 2, plan $plan)"
      case Gather(plan) =>
        s", region ${files.head.dealt.fold(0)(_.region)} (pass 2 of 2, plan $plan)"
    }
    s"${files.size} files in $folders folders$what"
  }
}

/**
 * Batches that are committed one after the other.
 *
 * @param reasons what the report says of folders that take two passes
 * @param predicted for DRY RUN, how many more batches a real run would have
 * @param plans the new plans of folders in two passes, which are stored before the first batch
 * @param isDeferred true if regions that are too large wait for a later pass, in which they are divided again
 */
private[rewrite] final case class PlannedBatches(
    batches: Seq[Batch],
    reasons: Seq[String] = Nil,
    predicted: Int = 0,
    plans: Seq[RegionPlan] = Nil,
    isDeferred: Boolean = false) {

  /** True if another pass follows when all batches are done. */
  def goesOn: Boolean = isDeferred || batches.exists(_.pass.number.contains(1))

  def told(reason: String): PlannedBatches = copy(reasons = reason +: reasons)

  def +(more: PlannedBatches): PlannedBatches = PlannedBatches(
    batches ++ more.batches,
    reasons ++ more.reasons,
    predicted + more.predicted,
    plans ++ more.plans,
    isDeferred || more.isDeferred)
}

/**
 * Puts files into batches of up to `batchSize` bytes. Each batch is rewritten and committed by itself. All
 * folders of a batch have the same `FormatFolder.group`, because one job writes them.
 *
 * A copy (INTO) takes each folder as a whole. A compaction divides a folder above that size into batches of its files.
 * With ordering columns, such a folder takes two passes, like an external sort of more rows than fit into memory. A
 * sample of the whole folder gives the regions, which are the first cells of the tree that one shuffle would
 * use. The first pass shuffles batches of inputs to the regions, and the second pass lays out one region
 * after the other. Each committed file has the number of its pass and region, so a later statement continues
 * where an earlier statement has ended.
 */
private[rewrite] final class Batches(
    format: TableFormat,
    statement: Statement,
    snapshot: TableSnapshot,
    layout: LayoutTag,
    planner: BatchPlanner) {
  import statement.clauses

  private val limit = statement.settings(Settings.BatchSize)
  private val isLimited = !format.isCopy
  private val isNamed = clauses.options.keys.exists(_.equalsIgnoreCase(Settings.BatchSize.key))
  private val plans = if (snapshot.columns.isEmpty) None else snapshot.plans
  private val target = layout.targetFileSize

  /**
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_TOO_LARGE for a folder above
   *   `batchSize` for which two passes do not suffice, unless OPTIONS set `batchSize`
   */
  def of(files: IndexedSeq[FormatFile]): PlannedBatches = {
    val byFolder = files.groupBy(_.folder)
    val folders = files.map(_.folder).distinct
    val (whole, large) = folders.partition(f => isWhole(byFolder(f)))
    val batches = whole.groupBy(_.group).toSeq.sortBy(_._1).flatMap { case (_, own) =>
      Batches.filled(own, limit)(f => bytesOf(byFolder(f))).map(_.flatMap(byFolder))
    }
    large.map(f => ofFolder(f, byFolder(f)))
      .foldLeft(PlannedBatches(batches.map(Batch(_))))(_ + _)
  }

  private def unfinished(files: IndexedSeq[FormatFile]): IndexedSeq[FormatFile] =
    if (plans.isEmpty) IndexedSeq.empty else Unfinished.of(files, layout)

  private def isWhole(files: IndexedSeq[FormatFile]): Boolean =
    !isLimited || (bytesOf(files) <= limit && unfinished(files).isEmpty)

  private def ofFolder(folder: FormatFolder, files: IndexedSeq[FormatFile]): PlannedBatches = {
    val dealt = unfinished(files)
    if (dealt.isEmpty) fresh(folder, files)
    else {
      // the newest plan first; there are several if a plan was lost, or if a region was divided again
      val ids = dealt.groupBy(_.dealt.get.plan).toSeq.sortBy(-_._2.map(_.writtenAt).max).map(_._1)
      def isOf(plan: String)(f: FormatFile) = f.dealt.exists(d => d.plan == plan && d.region > 0)
      val hasBegun = snapshot.files.exists(f =>
        f.folder == folder && f.finishedPlan.contains(ids.head))
      if (hasBegun || files.forall(isOf(ids.head))) {
        val waiting = dealt.toSet
        gathers(dealt).told(second(folder, dealt)) + fresh(folder, files.filterNot(waiting))
      } else {
        ids.view.flatMap(id => plans.get.read(id).map(id -> _)).headOption match {
          case Some((plan, regions)) =>
            val rest = files.filterNot(isOf(plan))
            if (rest.isEmpty) gathers(files).told(second(folder, files))
            else {
              val batches =
                if (clauses.dryRun) predicted(files, rest, regions.cells.size)
                else PlannedBatches(deals(rest, plan, regions))
              batches.told(
                s"a layout in two passes goes on with the first pass: ${files.size - rest.size} files of " +
                  s"$folder are dealt to regions, and ${rest.size} are not")
            }
          // without the regions of its plan, the first pass cannot go on
          case None =>
            fresh(folder, files).told(
              s"a layout in two passes begins anew, since the plan of $folder is lost or damaged")
        }
      }
    }
  }

  private def second(folder: FormatFolder, dealt: Seq[FormatFile]): String =
    s"a layout in two passes goes on with the second pass: ${dealt.size} files of $folder wait for it"

  private def fresh(folder: FormatFolder, files: IndexedSeq[FormatFile]): PlannedBatches =
    if (files.isEmpty) PlannedBatches(Nil)
    else if (bytesOf(files) <= limit) PlannedBatches(Seq(Batch(files)))
    else {
      planner.parts(files, limit).map(parts => PlannedBatches(parts.map(Batch(_))))
        .orElse(inTwoPasses(files))
        .getOrElse {
          if (!isNamed) {
            val needed =
              if (plans.isEmpty) bytesOf(files) else Batches.least(bytesOf(files), target)
            throw ZOrderErrors.partitionTooLarge(
              format.name,
              folder.toString,
              bytesOf(files),
              limit,
              needed)
          }
          PlannedBatches(Seq(Batch(files)))
        }
    }

  private def inTwoPasses(files: IndexedSeq[FormatFile]): Option[PlannedBatches] =
    if (plans.isEmpty || limit < Batches.least(bytesOf(files), target)) None
    else if (clauses.dryRun)
      Some(predicted(files, files, Batches.regions(bytesOf(files), limit)))
    else {
      val rows = snapshot.rows(statement.session, files)
      val plan =
        try planner.regions(rows, limit)
        finally rows.close()
      Some(PlannedBatches(deals(files, plan.id, plan.grid), plans = Seq(plan)))
    }

  /**
   * Two passes as one batch, for DRY RUN. The final files are about the same; a real run also writes each byte
   * in the first pass.
   *
   * @param toDeal the files that the first pass deals; it deals no file twice to the regions of one plan
   */
  private def predicted(
      files: IndexedSeq[FormatFile],
      toDeal: IndexedSeq[FormatFile],
      regions: Int): PlannedBatches = {
    val first = inOrder(toDeal).size
    PlannedBatches(
      Seq(Batch(files)),
      Seq(s"${byteCountToDisplaySize(bytesOf(files))} of ${files.head.folder} are laid out in two passes: " +
        s"$first batches, then about $regions batches, so each byte is shuffled and written twice"),
      first + regions - 1)
  }

  private def deals(
      files: IndexedSeq[FormatFile],
      plan: String,
      regions: FolderGrid): Seq[Batch] =
    inOrder(files).map(Batch(_, Deal(plan, regions)))

  /** Batches in the order of time. Files of similar times often have similar values, so a batch fills few regions. */
  private def inOrder(files: IndexedSeq[FormatFile]): Seq[IndexedSeq[FormatFile]] =
    Batches.filled(files.sortBy(f => (f.writtenAt, f.path)), limit)(_.bytes)

  private def gathers(dealt: IndexedSeq[FormatFile]): PlannedBatches = {
    val byRegion = dealt.groupBy(_.dealt.get).toSeq.sortBy(r => (r._1.plan, r._1.region)).map(_._2)
    // regions that are now too large, for example because batchSize is smaller, are divided again
    val (good, large) = byRegion.partition(bytesOf(_) <= Batches.MostOfLimit * limit)
    def gather(files: IndexedSeq[FormatFile]) = Batch(files, Gather(files.head.dealt.get.plan))
    def divided =
      if (large.isEmpty) PlannedBatches(Nil)
      else inTwoPasses(large.flatten.toIndexedSeq).getOrElse(PlannedBatches(large.map(gather)))
    // Large regions wait until the others are laid out, and then one new plan divides all of them. So a statement
    // that goes on after a crash finds only one plan. DRY RUN has no later pass, so it predicts their batches now.
    if (good.isEmpty || clauses.dryRun) PlannedBatches(good.map(gather)) + divided
    else PlannedBatches(good.map(gather), isDeferred = large.nonEmpty)
  }

  private def bytesOf(files: Seq[FormatFile]): Long = files.map(_.bytes).sum
}

private[rewrite] object Batches {

  /** A region may be larger than a batch by this factor, because a sample does not cut exactly. */
  val MostOfLimit = 1.3

  // two passes are taken only if the mean file between them has at least this share of the target size
  private val LeastFile = 0.25

  /** Groups of neighbouring parts, each up to a limit. A part above the limit is a group of its own. */
  def filled[T](parts: Seq[T], limit: Long)(bytes: T => Long): Seq[IndexedSeq[T]] = {
    val groups = ArrayBuffer(ArrayBuffer.empty[T])
    var sum = 0L
    parts.foreach { part =>
      val size = bytes(part)
      if (groups.last.nonEmpty && sum + size > limit) {
        groups += ArrayBuffer.empty
        sum = 0L
      }
      groups.last += part
      sum += size
    }
    groups.filter(_.nonEmpty).map(_.toIndexedSeq).toSeq
  }

  /**
   * The number of regions: the least power of two that is not below the number of batches. It is a power of two because
   * each cut halves a region.
   */
  def regions(bytes: Long, limit: Long): Int = {
    val batches = math.max(1.0, bytes.toDouble / limit)
    math.pow(2, math.ceil(math.log(batches) / math.log(2))).toInt
  }

  /**
   * The least batch size with which two passes can lay out a folder. With B batches and up to 2 B regions,
   * the mean size of a file between the passes is bytes / (2 B^2).
   *
   * @param target the wanted size of a file
   */
  def least(bytes: Long, target: Long): Long = {
    val files = math.sqrt(2.0 * LeastFile * bytes * target)
    math.min(bytes, math.max(2 * target, math.ceil(files).toLong))
  }

  /** The size of the largest folder that can be laid out with a batch size, in one pass or in two. */
  def most(limit: Long, target: Long): Long =
    if (limit < 2 * target) limit
    else math.max(limit, math.floor(limit.toDouble * limit / (2.0 * LeastFile * target)).toLong)
}
