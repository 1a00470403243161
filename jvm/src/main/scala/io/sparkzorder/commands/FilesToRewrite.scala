package io.sparkzorder.commands

import io.sparkzorder.conf.Settings
import io.sparkzorder.layout.MergeRule
import io.sparkzorder.rewrite.Record
import io.sparkzorder.tables.TableFiles

/**
 * The files that a run takes up, and why.
 *
 * @param files with the ordinals of the listing
 */
private[commands] final case class Choice(files: Set[Int], reason: Option[String]) {
  def of(all: TableFiles): TableFiles = all.onlyFiles(f => files(f.ordinal))
}

/** Chooses what is rewritten: all files at first and with FULL, else what is new or worth merging. */
private[commands] object FilesToRewrite {

  /**
   * @param records of the table, ascending; not read when all files are taken up anyway
   * @param all FULL or INTO
   */
  def choose(p: Prepared, records: => Seq[Record], all: Boolean): Choice = {
    val everything = Choice(p.files.files.map(_.ordinal).toSet, None)
    // without ordering columns a compaction decides by sizes
    if (all || p.columns.isEmpty || p.files.files.isEmpty) everything
    else {
      val size = p.settings(Settings.TargetFileSize)
      val laidOut = new LaidOutFiles(records, p.files, p.columns.map(_.name), size)
      val runOf = p.files.files.map(laidOut.runOf)
      if (runOf.forall(_.isEmpty)) {
        everything.copy(reason = laidOut.otherLayout.map(_ + ": all files are rewritten"))
      } else chosen(p, runOf, size)
    }
  }

  private def chosen(p: Prepared, runOf: IndexedSeq[Option[String]], size: Long): Choice = {
    val rule = new MergeRule(p.columns, size, p.session.sessionState.conf.resolver)
    val files = p.footers.groupBy(_.file.folder).values.flatMap { own =>
      rule.choose(own, own.map(f => runOf(f.file.ordinal))).map(own(_).file.ordinal)
    }.toSet
    val fresh = runOf.count(_.isEmpty)
    val merged = files.size - fresh
    val reason =
      if (fresh == 0) {
        s"all ${runOf.size} files are laid out by (${p.columns.map(_.name).mkString(", ")}) " +
          "already; FULL rewrites them"
      } else {
        s"of ${runOf.size} files $fresh are new, $merged of earlier runs are merged with them, " +
          s"and ${runOf.size - files.size} stay as they are"
      }
    Choice(files, Some(reason))
  }
}
