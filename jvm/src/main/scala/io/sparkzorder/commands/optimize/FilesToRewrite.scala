package io.sparkzorder.commands.optimize

import io.sparkzorder.cluster.MergeRule
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.Record
import io.sparkzorder.table.TableFiles

/**
 * The files that a run takes up, and why.
 *
 * @param files with the ordinals of the listing
 */
private[sparkzorder] final case class Choice(files: Set[Int], reason: Option[String]) {
  def of(all: TableFiles): TableFiles = all.onlyFiles(f => files(f.ordinal))
}

/** Chooses what is rewritten: all files at first and with FULL, else what is new or worth merging. */
private[sparkzorder] object FilesToRewrite {

  /**
   * @param records of the table, ascending; not read when all files are taken up anyway
   * @param all FULL or INTO
   * @param where files that WHERE chooses; None when it says nothing of data columns
   */
  def choose(
      p: Prepared,
      records: => Seq[Record],
      all: Boolean,
      where: Option[Set[Int]]): Choice = {
    val choice = byLayout(p, records, all, where.getOrElse(p.files.files.map(_.ordinal).toSet))
    val text = where.map(w => s"WHERE chooses ${w.size} of ${p.files.files.size} files")
    choice.copy(reason = (text ++ choice.reason).reduceOption(_ + "; " + _))
  }

  private def byLayout(
      p: Prepared,
      records: => Seq[Record],
      all: Boolean,
      chosen: Set[Int]): Choice = {
    val everything = Choice(chosen, None)
    // without ordering columns a compaction decides by sizes
    if (all || chosen.isEmpty || p.columns.isEmpty) everything
    else {
      val size = p.settings(Settings.TargetFileSize)
      val laidOut = new LaidOutFiles(records, p.files, p.columns.map(_.name), size)
      val runOf = p.files.files.map(laidOut.runOf)
      if (chosen.forall(runOf(_).isEmpty)) {
        val which = if (chosen.size == runOf.size) "all files" else "all of these"
        everything.copy(reason = laidOut.otherLayout.map(_ + s": $which are rewritten"))
      } else merged(p, chosen, runOf, size)
    }
  }

  private def merged(
      p: Prepared,
      chosen: Set[Int],
      runOf: IndexedSeq[Option[String]],
      size: Long): Choice = {
    val rule = new MergeRule(p.columns, size, p.session.sessionState.conf.resolver)
    val candidates = p.footers.filter(f => chosen(f.file.ordinal))
    val files = candidates.groupBy(_.file.folder).values.flatMap { own =>
      rule.choose(own, own.map(f => runOf(f.file.ordinal))).map(own(_).file.ordinal)
    }.toSet
    val fresh = chosen.count(runOf(_).isEmpty)
    val merged = files.size - fresh
    val reason =
      if (fresh == 0) {
        s"all ${chosen.size} files are laid out by (${p.columns.map(_.name).mkString(", ")}) " +
          "already; FULL rewrites them"
      } else {
        s"of ${chosen.size} files $fresh are new, $merged of earlier runs are merged with them, " +
          s"and ${chosen.size - files.size} stay as they are"
      }
    Choice(files, Some(reason))
  }
}
