// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.table.TableFiles
import io.sparkzorder.util.Paths

/**
 * The records of a table, as they were when this object was made. Writers, readers, reports and the index all ask this
 * class which runs are in force.
 *
 * A run that exchanges files has a numbered record. Its new files belong to the table from the moment when
 * the record appears, even while they still have hidden names. A later record that undoes or abandons the
 * run takes the run out of force.
 */
private[sparkzorder] final class TableLog private (state: StateDirectory, seen: CommitLog) {
  private val covered = seen.checkpoint.toSeq.flatMap(_.content.records)

  // Queries pass over an unreadable record of a published run. The callers here need the content of every record,
  // so the record is read again, which throws its error.
  private def recordOf(o: OpenRecord): (Long, Record) =
    o.known.number -> Option(o.known.record).getOrElse(state.read(o.known.number))

  /** The records whose content is complete, with their numbers, ascending: their files are still needed. */
  lazy val records: Seq[(Long, Record)] =
    covered.filter(_.whole).map(e => e.number -> e.record) ++ seen.open.map(recordOf)

  private lazy val byNumber: Map[Long, Record] = records.toMap

  /** One of [[records]]. */
  def record(number: Long): Option[Record] = byNumber.get(number)

  /**
   * [[records]], and the reduced records of a checkpoint, which list only added files that no later run has
   * replaced. Ascending by number.
   */
  lazy val all: Seq[(Long, Record)] =
    (records ++ covered.filterNot(_.whole).map(e => e.number -> e.record)).sortBy(_._1)

  private lazy val runs = new Runs(all, seen.pendingRuns)

  /** Number of the newest record, 0 when there is none. */
  def last: Long = seen.last

  /** All records after a number; None if the files of some of these records were removed. */
  def after(number: Long): Option[Seq[(Long, Record)]] = {
    val newer = records.filter(_._1 > number)
    if (newer.map(_._1) == (number + 1 to math.max(number, last))) Some(newer) else None
  }

  // --- runs ---

  /** The OPTIMIZE runs that are neither undone nor abandoned, newest first. */
  def inForce: Seq[(Long, Record)] = runs.inForce

  /**
   * The records of the runs in force that have columns, newest first. The first states the present layout: a run
   * without columns (a compaction) keeps the layout.
   */
  def layouts: Seq[Record] = runs.layouts

  /** [[layouts]] as they are when one more run is undone. */
  def layoutsWithout(run: String): Seq[Record] = {
    val undo = Record.marker(Record.Undo, "", "").copy(undone = Some(run))
    new Runs(all :+ (last + 1 -> undo), seen.pendingRuns).layouts
  }

  /** The runs that are committed and not published everywhere. */
  lazy val unfinished: Seq[(Long, Record)] =
    seen.open.filterNot(_.isDone).map(recordOf).filter(_._2.exchangesFiles)

  /** Number of the record by which a run changes the table; None if the run has not committed. */
  def commitOf(run: String): Option[Long] = runs.commitOf(run)

  def isUndone(run: String): Boolean = runs.isUndone(run)

  /** True for a run that a record abandons: the replaced files are, or will be, files of the table again. */
  def isAbandoned(run: String): Boolean = runs.isAbandoned(run)

  /** True if a record forbids the run to commit. */
  def isAborted(run: String): Boolean =
    records.exists { case (_, r) => r.kind == Record.Abort && r.run == run }

  // --- files ---

  /**
   * The changes by runs that are published without a conflict, each with the number of its record. For runs
   * in a checkpoint, the changes also list the files that earlier runs replaced, see [[CheckpointEntry.past]].
   */
  private[sparkzorder] def settledChanges: Seq[(Long, FolderChange)] =
    seen.history.folders.values.toSeq.flatMap(_.steps.map(s => s.known.number -> s.change))

  /** True when no record affects any file of the table. */
  private[sparkzorder] def isEmpty: Boolean =
    isSettled && seen.history.folders.isEmpty && shadows.isEmpty

  /** The runs in shadow mode, whose new files stay hidden beside the files that they replace. */
  def shadows: Shadows = seen.shadows

  /** True when every run is published, without a conflict. */
  private[sparkzorder] def isSettled: Boolean = seen.isSettled

  /**
   * What the runs of the log do to a folder, without shadows, in the order of their records.
   *
   * @param folder relative name of the folder
   */
  private def changesOf(folder: String): Seq[FolderChange] = {
    val settled = seen.history.folders.get(folder).toSeq.flatMap(_.steps).map(s =>
      s.known.number -> s.change)
    (settled ++ pending.getOrElse(folder, Nil)).sortBy(_._1).map(_._2)
  }

  /**
   * The changes of [[changesOf]], also those of the name that the folder had before another program moved it.
   *
   * @param files the names of files in the folder. The name of a new file has the id of its run, so it tells
   *   which change has made it
   */
  private[sparkzorder] def changesTo(folder: String, files: Set[String]): Seq[FolderChange] =
    changesOf(folder) match {
      case Seq() =>
        val moved = (settledChanges ++ pending.values.flatten).map(_._2)
          .filter(_.added.exists(a => files(a.name))).map(_.folder)
        moved.distinct.flatMap(changesOf)
      case changes => changes
    }

  private lazy val pending: Map[String, Seq[(Long, FolderChange)]] =
    seen.pending.flatMap(o => o.known.changes.map(o.known.number -> _)).groupBy(_._2.folder)

  /**
   * Where the listed files of a table disagree with what its published runs did. A disagreement counts only if one of
   * its files is still there, because a listing that took long may show files that a run has just replaced.
   *
   * @param listed files as they were listed
   * @param isRead true for a listed file that readers read; called for replaced files only
   */
  def disagreements(listed: TableFiles, isRead: Path => Boolean): Seq[Disagreement] = {
    val byFolder = listed.files.groupBy(_.folder.path)
      .map { case (path, files) => path -> files.map(f => f.path.getName -> f.status).toMap }
    (seen.history.folders.keySet ++ ended.keySet).toSeq.sorted.flatMap { folder =>
      byFolder.get(Paths.folder(state.root, folder)).toSeq.flatMap { files =>
        historyOf(folder, files)
          .disagreements(files, hiddenIn(folder), n => isRead(files(n).getPath))
      }
    }.filter(d =>
      d.names.exists(n => state.status(new Path(d.folder, new Path(null, null, n))).isDefined))
  }

  /** The changes of done runs that met a conflict in some folder, by folder. */
  private lazy val ended: Map[String, Seq[Step]] =
    seen.pending.filter(_.isDone)
      .flatMap(o => o.known.changes.map(Step(o.known, _, underWay = false)))
      .groupBy(_.change.folder)

  /**
   * The history of a folder, with the runs that are published there and met a conflict elsewhere. The disk is asked for
   * these runs only if the folder has a name again that some run has replaced.
   */
  private def historyOf(folder: String, listed: Map[String, FileStatus]): FolderHistory = {
    val settled = seen.history.folders.getOrElse(
      folder,
      History.ofFolder(Paths.folder(state.root, folder), IndexedSeq.empty))
    val others = ended.getOrElse(folder, Nil)
    def isAgain = settled.namesAgain(listed).nonEmpty ||
      others.exists(_.change.replaced.exists(r => listed.contains(r.name)))
    if (others.isEmpty || !isAgain) settled
    else {
      val published = others.filter(s =>
        new RunFolder(state, s.known.record, s.change).folderState == FolderState.Published)
      History.ofFolder(
        settled.path,
        (settled.steps ++ published).sortBy(_.known.number))
    }
  }

  /**
   * Names of the files of a folder that an OPTIMIZE has hidden and whose publish is not complete. Undos are
   * left out, because an undo brings such names back.
   */
  private def hiddenIn(folder: String): Set[String] = (for {
    run <- unfinished.map(_._2).filter(_.kind == Record.Optimize)
    change <- run.changes.filter(_.folder == folder)
    kept = state.byName(state.own(folder, run.run))
    file <- change.replaced.filter(r => kept.get(r.retained).exists(r.is))
  } yield file.name).toSet

  /** True when a listing agrees with all records. This method reads nothing from disk. */
  private[sparkzorder] def explains(listing: => FolderListing): Boolean =
    isSettled && shadows.isEmpty && {
      val files = listing
      seen.history.folders.values.forall(f => files.files(f.path).forall(f.explains))
    }

  /** The identities of the files of this log. Two logs with equal identities have the same content. */
  private[sparkzorder] def ids: LogFiles = seen.ids
}

private[sparkzorder] object TableLog {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE */
  def read(state: StateDirectory): TableLog =
    new TableLog(state, new CommitLogReader(state).read())
}

/**
 * Finds which runs are in force.
 *
 * @param all the records, ascending by number
 * @param pending the runs that are not published, or met a conflict
 */
private[sparkzorder] final class Runs(all: Seq[(Long, Record)], pending: Set[String] = Set.empty) {
  private val abandoned: Set[String] =
    all.collect { case (_, r) if r.kind == Record.Abandon => r.run }.toSet
  // An UNDO that was abandoned undoes nothing, unless it was published everywhere before.
  private val undone: Set[String] =
    all.map(_._2).filterNot(r => abandoned(r.run) && pending(r.run)).flatMap(_.undone).toSet

  private val publishes = all.map(_._2).filter(_.publishedRuns.nonEmpty)

  /**
   * The shadows that were taken back together with the PUBLISH LAYOUT of their files: an UNDO or ABANDON of that run
   * does not put the files back into the directories of the shadows. In each folder of such a shadow a file is missing.
   */
  private lazy val takenBack: Set[String] = {
    // of two that published one shadow in different folders, one may be undone
    val ended = publishes.filter(r => undone(r.run) || abandoned(r.run))
    if (ended.isEmpty) Set.empty
    else {
      // VACUUM may have removed the files of a shadow that a later, published shadow has replaced
      val files =
        Shadows.filesOf(ended ++ all.map(_._2).filter(_.kind == Record.Expired))
      val runs = ended.flatMap(_.publishedRuns).toSet
      def isGone(c: FolderChange) = c.added.exists(a => files(c.folder -> a.name))
      all.map(_._2).filter(r => r.makesShadow && runs(r.run) && r.changes.nonEmpty)
        .filter(_.changes.forall(isGone)).map(_.run).toSet
    }
  }

  def isUndone(run: String): Boolean = undone(run) || takenBack(run)
  def isAbandoned(run: String): Boolean = abandoned(run)

  /** The OPTIMIZE runs that are neither undone nor abandoned, newest first. */
  def inForce: Seq[(Long, Record)] = all.reverse.filter { case (_, r) =>
    r.kind == Record.Optimize && !isUndone(r.run) && !abandoned(r.run)
  }

  def layouts: Seq[Record] = inForce.map(_._2).filter(_.columns.nonEmpty)

  // clean-up asks for each of perhaps thousands of runs; of two records of one run, the first counts
  private lazy val commits: Map[String, Long] =
    all.reverseIterator.collect { case (n, r) if r.commitsRun => r.run -> n }.toMap

  def commitOf(run: String): Option[Long] = commits.get(run)
}

/** A listing of the data files of some folders. It may be of any age. */
private[sparkzorder] trait FolderListing {

  /** The files of a folder by name; None when the listing does not cover the folder. */
  def files(folder: Path): Option[Map[String, FileStatus]]

  /** The files of a folder in the order of the listing; None if the listing would have to group its files first. */
  def inOrder(folder: Path): Option[Iterator[FileStatus]] = None
}

private[sparkzorder] object FolderListing {
  type Files = Map[Path, Map[String, FileStatus]]
}
