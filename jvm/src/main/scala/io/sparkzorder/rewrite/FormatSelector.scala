package io.sparkzorder.rewrite

import io.sparkzorder.cluster.{MergeRule, RuledFiles}
import io.sparkzorder.sources.{FormatFile, LayoutTag}
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.FileSpan

/** The files that a run rewrites, and the reason for the choice. */
private[rewrite] final case class FormatSelection(
    files: IndexedSeq[FormatFile],
    reason: Option[String])

/**
 * Selects new files, and files that are worth merging with them. The layout that the commit of a
 * file recorded tells which run wrote it. If the history has forgotten the commit, the ranges of
 * its files tell whether they are well laid out.
 */
private[rewrite] final class FormatSelector(columns: Seq[OrderingColumn], wanted: LayoutTag) {
  private val rule =
    new MergeRule(columns, wanted.targetFileSize, (a, b) => a == b, wanted.weights)

  /** @param chosen at least one file */
  def select(chosen: IndexedSeq[FormatFile]): FormatSelection = {
    val folders = chosen.groupBy(_.folder).values.map(new Runs(_)).toSeq
    if (!folders.exists(_.hasLayout)) {
      FormatSelection(
        chosen,
        otherLayout(chosen).map(_ + s": all ${chosen.size} files are rewritten"))
    } else {
      val files = folders.flatMap(_.worthwhile)
      val fresh = folders.map(_.added).sum
      val earlier = files.size - folders.map(_.addedOf).sum
      val names = columns.map(_.name).mkString(", ")
      val reason =
        if (files.isEmpty) {
          s"all ${chosen.size} files are laid out by ($names) already; FULL rewrites them"
        } else {
          s"of ${chosen.size} files $fresh are new, $earlier of earlier runs are merged with " +
            s"them, and ${chosen.size - files.size} stay as they are"
        }
      FormatSelection(files.sortBy(_.path).toIndexedSeq, Some(reason))
    }
  }

  private def otherLayout(chosen: IndexedSeq[FormatFile]): Option[String] =
    chosen.flatMap(_.layout).lastOption.map { tag =>
      if (tag.key != wanted.key) s"its layout was by (${tag.columns})"
      else if (tag.weights != wanted.weights) "its layout had other weights"
      else s"its layout was for files of ${tag.targetFileSize} bytes"
    }

  /** The files of one folder, by the runs that wrote them. */
  private final class Runs(files: IndexedSeq[FormatFile]) {
    private val byCommit: Map[Long, IndexedSeq[FormatFile]] = files.groupBy(_.commit)

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

    lazy val worthwhile: IndexedSeq[FormatFile] = {
      val runOf = files.map(f =>
        if (runs(f.commit)) Some(s"run ${f.commit}")
        else if (inserts(f.commit)) Some(s"insert ${f.commit}")
        else None)
      rule.choose(ruled(files), runOf, inserts.map(c => s"insert $c")).toIndexedSeq.sorted
        .map(files(_))
    }

    def added: Int = files.count(f => !runs(f.commit))
    def addedOf: Int = worthwhile.count(f => !runs(f.commit))
  }

  private def ruled(files: IndexedSeq[FormatFile]): RuledFiles =
    new RuledFiles(
      files.map(_.bytes),
      files.map(_.records),
      columns.indices.map(c =>
        FileSpan.ofRanges(columns(c).dataType, files.map(_.columns(c).range))))
}
