// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import io.sparkzorder.cluster.{MergeRule, RuledFiles}
import io.sparkzorder.sources.{FormatFile, LayoutTag, TableSnapshot}
import io.sparkzorder.table.stats.FileSpan

/** The files that a run rewrites, and the reason for the choice. */
private[rewrite] final case class Selection(
    files: IndexedSeq[FormatFile],
    reason: Option[String] = None)

/**
 * Selects the files that a run without FULL rewrites. If no folder has a file with the wanted layout, the run
 * rewrites all files. Otherwise it rewrites the new files, and older files that are worth merging with them. A file
 * is laid out already if its commit recorded the wanted layout. If the history no longer has the commit, the ranges
 * of the files of this commit tell whether they are well laid out.
 *
 * @param wanted the layout of the run
 * @param mostBytes the greatest number of bytes of one folder that the run can lay out
 */
private[rewrite] final class FileSelector(
    snapshot: TableSnapshot,
    wanted: LayoutTag,
    mostBytes: Long = Long.MaxValue) {
  private val columns = snapshot.columns
  private val rule =
    new MergeRule(columns, wanted.targetFileSize, wanted.weights, mostBytes)

  /** @param chosen the files that the statement chooses, at least one */
  def select(chosen: IndexedSeq[FormatFile]): Selection = {
    val folders = chosen.groupBy(_.folder).values.map(new FolderFiles(_)).toSeq
    if (folders.exists(_.hasLayout)) merged(chosen, folders)
    else {
      val which = if (chosen.size == snapshot.files.size) "all files" else "all of these"
      Selection(chosen, otherLayout.map(_ + s": $which are rewritten"))
    }
  }

  private def merged(chosen: IndexedSeq[FormatFile], folders: Seq[FolderFiles]): Selection = {
    val unfinished = folders.flatMap(_.unfinished)
    val selected = (unfinished ++ folders.flatMap(_.worthwhile)).toSet
    val fresh = folders.map(_.added.size).sum
    val earlier = selected.size - unfinished.size - folders.map(_.added.count(selected)).sum
    val ofInserts = folders.map(_.filesOfGoodInserts.count(!selected(_))).sum
    val reason =
      if (fresh == 0 && unfinished.isEmpty) {
        Some(
          s"all ${chosen.size} files are laid out by (${columns.map(_.name).mkString(", ")}) " +
            "already; FULL rewrites them")
      } else if (fresh == 0) None // `Batches` reports which pass continues
      else {
        Some(
          s"of ${chosen.size} files $fresh are new, $earlier of earlier runs are merged with " +
            s"them, and ${chosen.size - selected.size} stay as they are" +
            (if (ofInserts == 0) ""
             else s", $ofInserts of them as their writers have laid them out"))
      }
    Selection(chosen.filter(selected), reason)
  }

  /**
   * How the wanted layout differs from the latest other layout of the table; None if no file has another layout.
   */
  private def otherLayout: Option[String] = {
    val others = for {
      file <- snapshot.files
      tag <- file.layout if !tag.isSame(wanted)
    } yield (file, tag)
    if (others.isEmpty) None
    else {
      // For Delta and for version 1 of Iceberg, the numbers of commits are not in the order of time. For version 1
      // of Iceberg, all times of files are 0, too. The latest layout is then the one with the latest `sinceMs`.
      val tag = others.maxBy { case (f, t) => (f.writtenAt, t.sinceMs, f.commit) }._2
      Some(
        if (tag.key != wanted.key) s"its layout was by (${tag.columns})"
        else if (tag.weights != wanted.weights) "its layout had other weights"
        else s"its layout was for files of ${tag.targetFileSize} bytes")
    }
  }

  /** The chosen files of one folder, by the runs that added them. */
  private final class FolderFiles(files: IndexedSeq[FormatFile]) {
    val unfinished: IndexedSeq[FormatFile] = Unfinished.of(files, wanted)

    private val others: IndexedSeq[FormatFile] =
      if (unfinished.isEmpty) files
      else {
        val own = unfinished.toSet
        files.filterNot(own)
      }

    // all commits that belong to one plan in two passes count as one run
    private val runOf: IndexedSeq[Option[String]] = others.map { f =>
      f.finishedPlan.orElse(f.dealt.map(_.plan)).map(p => s"plan $p")
        .orElse(f.commit.map(c => s"commit $c"))
    }

    private val byRun: Map[String, IndexedSeq[FormatFile]] =
      others.zip(runOf).collect { case (f, Some(run)) => f -> run }
        .groupBy(_._2).map { case (run, own) => run -> own.map(_._1) }

    // the runs whose files have the wanted layout
    private val laidOut: Set[String] = byRun.collect {
      case (run, own) if own.forall(_.layout.exists(_.isSame(wanted))) => run
      case (run, own)
          if own.size > 1 && own.forall(_.isForgotten) &&
            rule.isOneLayout(ruled(own)) => run
    }.toSet

    private lazy val excess: Double = rule.excess(ruled(others))

    /** The inserts whose files are laid out about as well as the files of a run ([[MergeRule.isGoodInsert]]). */
    private lazy val goodInserts: Set[String] =
      if (isFirstPass) Set.empty
      else {
        byRun.collect {
          case (run, own) if !laidOut(run) && rule.isGoodInsert(ruled(own), excess) => run
        }.toSet
      }

    /**
     * True if no region of the unfinished plans is laid out yet, so that the first pass may still be under way.
     * Then even well laid out inserts are rewritten, because the first pass takes all inputs of its plan.
     */
    private lazy val isFirstPass: Boolean = unfinished.nonEmpty && {
      val plans = unfinished.flatMap(_.dealt).map(_.plan).toSet
      !others.exists(_.finishedPlan.exists(plans))
    }

    def hasLayout: Boolean = laidOut.nonEmpty || unfinished.nonEmpty

    lazy val added: IndexedSeq[FormatFile] =
      others.zip(runOf).collect { case (f, run) if !run.exists(laidOut) => f }

    lazy val filesOfGoodInserts: IndexedSeq[FormatFile] =
      others.zip(runOf).collect { case (f, run) if run.exists(goodInserts) => f }

    lazy val worthwhile: Seq[FormatFile] =
      if (others.isEmpty) Nil
      else {
        val known = runOf.map(_.filter(r => laidOut(r) || goodInserts(r)))
        rule.choose(ruled(others), known, goodInserts).toSeq.map(others(_))
      }
  }

  private def ruled(files: IndexedSeq[FormatFile]): RuledFiles =
    new RuledFiles(
      files.map(_.bytes),
      files.map(_.records),
      columns.indices.map(c =>
        FileSpan.ofRanges(columns(c).dataType, files.map(_.columns(c).range))))
}

/**
 * The files that the first of two passes has dealt to regions, and that the second pass is to lay out. Region 0
 * has nothing left to lay out ([[io.sparkzorder.sources.DealtTo]]).
 */
private[rewrite] object Unfinished {

  /** @param wanted the layout of the run; files that were dealt for another layout count as new files */
  def of(files: IndexedSeq[FormatFile], wanted: LayoutTag): IndexedSeq[FormatFile] =
    files.filter(f => f.dealt.exists(_.region > 0) && f.layout.exists(_.isSame(wanted)))
}
