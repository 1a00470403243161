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
 * Selects files in a table that is clustered already: new files, and files that are worth merging with
 * them. The layout that the commit of a file recorded tells which run wrote it. If the history has
 * forgotten the commit, the ranges of its files tell whether they are well laid out.
 *
 * @param wanted the layout of the run
 */
private[rewrite] final class FileSelector(snapshot: TableSnapshot, wanted: LayoutTag) {
  private val columns = snapshot.columns
  private val rule =
    new MergeRule(columns, wanted.targetFileSize, wanted.weights)

  /** @param chosen the files that the statement chooses, at least one */
  def select(chosen: IndexedSeq[FormatFile]): Selection = {
    val folders = chosen.groupBy(_.folder).values.map(new Runs(_)).toSeq
    if (folders.exists(_.hasLayout)) merged(chosen, folders)
    else {
      val which = if (chosen.size == snapshot.files.size) "all files" else "all of these"
      Selection(chosen, otherLayout.map(_ + s": $which are rewritten"))
    }
  }

  private def merged(chosen: IndexedSeq[FormatFile], folders: Seq[Runs]): Selection = {
    val selected = folders.flatMap(_.worthwhile).toSet
    val fresh = folders.map(_.added.size).sum
    val earlier = selected.size - folders.map(_.added.count(selected)).sum
    val dealt = folders.map(_.dealt.count(!selected(_))).sum
    val reason =
      if (fresh == 0) {
        s"all ${chosen.size} files are laid out by (${columns.map(_.name).mkString(", ")}) " +
          "already; FULL rewrites them"
      } else {
        s"of ${chosen.size} files $fresh are new, $earlier of earlier runs are merged with " +
          s"them, and ${chosen.size - selected.size} stay as they are" +
          (if (dealt == 0) "" else s", $dealt of them as their writers have laid them out")
      }
    Selection(chosen.filter(selected), Some(reason))
  }

  /** Why files of the latest run with another layout are rewritten, if there are such files. */
  private def otherLayout: Option[String] = {
    val others = for {
      file <- snapshot.files
      tag <- file.layout if !tag.isSame(wanted)
    } yield (file.commit, tag)
    if (others.isEmpty) None
    else {
      val tag = others.maxBy(_._1)._2
      Some(
        if (tag.key != wanted.key) s"its layout was by (${tag.columns})"
        else if (tag.weights != wanted.weights) "its layout had other weights"
        else s"its layout was for files of ${tag.targetFileSize} bytes")
    }
  }

  /** The chosen files of one folder, by the commits that added them. */
  private final class Runs(files: IndexedSeq[FormatFile]) {
    private val byCommit: Map[Long, IndexedSeq[FormatFile]] =
      files.filter(_.commit.isDefined).groupBy(_.commit.get)

    private val runs: Set[Long] = byCommit.collect {
      case (commit, own) if own.forall(_.layout.exists(_.isSame(wanted))) => commit
      case (commit, own)
          if own.size > 1 && own.forall(_.isForgotten) &&
            rule.isOneLayout(ruled(own)) => commit
    }.toSet

    private lazy val excess: Double = rule.excess(ruled(files))

    /** Writes of others whose files are as good as those of a run. */
    private lazy val inserts: Set[Long] =
      byCommit.collect {
        case (c, own) if !runs(c) && rule.isDealt(ruled(own), excess) => c
      }.toSet

    def hasLayout: Boolean = runs.nonEmpty

    lazy val added: IndexedSeq[FormatFile] = files.filterNot(_.commit.exists(runs))

    lazy val dealt: IndexedSeq[FormatFile] = files.filter(_.commit.exists(inserts))

    lazy val worthwhile: Seq[FormatFile] = {
      val runOf = files.map(_.commit.collect {
        case c if runs(c) => s"run $c"
        case c if inserts(c) => s"insert $c"
      })
      rule.choose(ruled(files), runOf, inserts.map(c => s"insert $c")).toSeq.map(files(_))
    }
  }

  private def ruled(files: IndexedSeq[FormatFile]): RuledFiles =
    new RuledFiles(
      files.map(_.bytes),
      files.map(_.records),
      columns.indices.map(c =>
        FileSpan.ofRanges(columns(c).dataType, files.map(_.columns(c).range))))
}
