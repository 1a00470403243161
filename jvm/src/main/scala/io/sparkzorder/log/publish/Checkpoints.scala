// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.util.UUID
import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.log._
import io.sparkzorder.util.{Directories, ExclusiveFile, FileMove, ManyFiles}

/**
 * Writes checkpoints, and removes the record files that nothing needs any more. After a crash between two steps,
 * there are record files that readers ignore because of the checkpoint, and the next OPTIMIZE removes them. A crash
 * may also leave a directory `_tmp_dropped_*`, which is removed like other temporary files
 * ([[Leftovers.temporary]]).
 *
 * @param nowMs the present time in milliseconds since 1970
 * @param isClosed true for a folder that this user may not enter; tests replace it, because root may enter every folder
 */
private[sparkzorder] final class Checkpoints(
    state: StateDirectory,
    nowMs: Long,
    isClosed: String => Boolean)
    extends Logging {
  def this(state: StateDirectory, nowMs: Long) = this(state, nowMs, state.isClosed(_))

  private val fs = state.fs

  /**
   * Writes a checkpoint if there are enough new records, and removes obsolete files. OPTIMIZE calls this method
   * after it has published earlier runs and removed expired files. A failure is only logged, because a missing
   * checkpoint costs only time.
   */
  def writeIfDue(): Unit =
    try {
      val log = new CommitLogReader(state).read()
      val upTo = lastToCover(log)
      if (upTo - log.upTo >= Checkpoints.Interval) write(log, upTo)
      removeObsolete()
    } catch { case NonFatal(e) => logWarning(s"no checkpoint of ${state.commits}", e) }

  /**
   * The last record that a new checkpoint may cover. It comes before the first run that is not published, before
   * the first record that cannot be read, and before the newest `Kept` records.
   */
  private def lastToCover(log: CommitLog): Long = {
    // A marker ([[Record.marker]]) needs no publish, so it does not count as open. It may have no mark for ever, if its
    // writer was killed before the mark.
    val open = log.open.filterNot(o => o.isDone || isMarker(o)).map(_.known.number)
    val unread = log.open.filter(_.known.record == null).map(_.known.number)
    (Seq(log.last - Checkpoints.Kept) ++ (open ++ unread).map(_ - 1)).min
  }

  private def isMarker(o: OpenRecord): Boolean =
    o.known.record != null && !o.known.record.commitsRun

  private def write(log: CommitLog, upTo: Long): Unit = {
    val covered = log.checkpoint.toSeq.flatMap(_.content.records) ++
      log.open.takeWhile(_.known.number <= upTo).map { o =>
        CheckpointEntry(
          o.known.number,
          whole = true,
          o.known.record,
          conflict = !o.isSettled && !isMarker(o))
      }
    val next = log.open.map(_.known).find(_.number == upTo + 1)
    // A checkpoint names the run of the next record, so this record must be readable. A gap in the numbers means that
    // another program has removed records, so no checkpoint is written.
    if (next.exists(_.record != null) && isComplete(log, upTo)) {
      val facts = new LiveFacts(covered)
      val checkedBefore = log.checkpoint.fold(0L)(_.content.checked)
      val isChecked =
        facts.size > 2 * checkedBefore + Checkpoints.ListFoldersAbove && forgetRemovedFiles(
          log,
          facts)
      val content = Checkpoint(
        Checkpoint.Version,
        upTo,
        next.get.record.run,
        if (isChecked) facts.size else checkedBefore,
        facts.entriesFor(needed(log), new Runs(all(log), log.pendingRuns)))
      val path = new Path(state.commits, Checkpoint.name(upTo))
      val id = UUID.randomUUID().toString
      // if the file exists, another process has just written the same checkpoint
      if (ExclusiveFile.create(fs, path, id, Checkpoint.toJson(content), fs.getConf)) {
        logInfo(s"$path holds what ${content.records.size} of $upTo records still tell")
      }
    }
  }

  private def isComplete(log: CommitLog, upTo: Long): Boolean =
    log.open.map(_.known.number).takeWhile(_ <= upTo) == (log.upTo + 1 to upTo)

  /**
   * Tells which entries must stay whole. An entry that is not whole lacks facts, so it never gets whole again. A
   * whole entry stays whole if one of these is true:
   *
   *   - Its run met a conflict.
   *   - Its run has an intent, so the run still keeps files.
   *   - It is the newest OPTIMIZE in force, which UNDO needs.
   *   - It makes a shadow, or lets files of a shadow expire, and the shadow is in force or has an intent. Or it
   *     published such a shadow, and was undone or abandoned.
   *   - It aborted a run less than [[Checkpoints.AbortMs]] ago. The process of that run may still be at work. It
   *     finds the record before it commits.
   */
  private def needed(log: CommitLog): CheckpointEntry => Boolean = {
    val runs = new Intents(state).runs()
    val inForce = new Runs(all(log), log.pendingRuns).inForce
    val (newest, numbers) = (inForce.headOption.map(_._1), inForce.map(_._1).toSet)
    val shadows = inForce.map(_._2).filter(_.makesShadow).map(_.run).toSet ++ runs
    e =>
      e.whole && (e.conflict || runs(e.record.run) || newest.contains(e.number) ||
        ((e.record.makesShadow || e.record.kind == Record.Expired) && shadows(e.record.run)) ||
        (e.record.publishedRuns.exists(shadows) && !numbers(e.number)) ||
        (e.record.kind == Record.Abort && e.record.createdMs + Checkpoints.AbortMs > nowMs))
  }

  private def all(log: CommitLog): Seq[(Long, Record)] =
    log.checkpoint.toSeq.flatMap(_.content.records).map(e => e.number -> e.record) ++
      log.open.map(_.known).filter(_.record != null).map(k => k.number -> k.record)

  /**
   * Lists the folders with added files, and forgets the files that another program has removed. In a folder where an
   * earlier run still keeps replaced files, nothing is forgotten: a removed file may be the reason why [[Evidence]]
   * finds that the replaced files are the only copy of rows. Nothing is forgotten in a folder that this user may not
   * enter or list, either: its files exist, but this user does not see them.
   *
   * @return false, and nothing is forgotten, if some record has no mark, because files may be hidden then, or if the
   *   records changed while the folders were listed
   */
  private def forgetRemovedFiles(log: CommitLog, facts: LiveFacts): Boolean =
    log.open.forall(_.isDone) && {
      val keeping = new Intents(state).all().flatMap(_._2.folders).toSet
      val names = ManyFiles.map(facts.folders.filterNot(keeping).toSeq) { folder =>
        folder -> namesIn(folder)
      }.toMap
      val same = new CommitLogReader(state).ids() == log.ids
      if (same) facts.retain((folder, name) => names.getOrElse(folder, None).forall(_(name)))
      same
    }

  /** The names of the files of a folder; None if this user may not see them. */
  private def namesIn(folder: String): Option[Set[String]] =
    if (isClosed(folder)) None
    else {
      try Some(state.files(state.folder(folder)).filter(_.isFile).map(_.getPath.getName).toSet)
      catch { case e if Directories.isDenied(e) => None }
    }

  /**
   * Removes the record files that no checkpoint needs, and old checkpoints. One old checkpoint stays, because a
   * slow listing can miss the newest checkpoint. The files are first renamed into a directory. If the table is
   * overwritten meanwhile, this directory is gone, so the renames fail, and no record of the new table is touched.
   */
  private def removeObsolete(): Unit =
    if (obsolete(new CommitLogReader(state).read()).nonEmpty && fs.exists(state.commits)) {
      val trash = new Path(state.commits, s"${ExclusiveFile.Temporary}dropped_${UUID.randomUUID()}")
      // `make` does not make `_commits` again if the table was dropped meanwhile
      Directories.make(fs, trash, fs.getConf)
      val names = obsolete(new CommitLogReader(state).read())
      // a record without its mark would be a run that is not published, so all marks go after all records
      val (records, others) = names.partition(LogFiles.numberOf(_).isDefined)
      Seq(records, others).foreach(ManyFiles.map(_)(n =>
        FileMove.rename(fs, new Path(state.commits, n), new Path(trash, n))))
      fs.delete(trash, true)
      logInfo(s"removed ${names.size} files of ${state.commits} that a checkpoint replaces")
    }

  /** Names of files that nothing needs. */
  private def obsolete(log: CommitLog): Seq[String] = log.checkpoint.toSeq.flatMap { c =>
    val whole = c.content.whole
    val older = log.ids.checkpoints.map(_.number).filter(_ < log.upTo).sorted.dropRight(1)
    val gone = state.files(state.commits).map(_.getPath.getName)
      .filter(Checkpoints.numberIn(_).exists(n => n <= log.upTo && !whole(n)))
    gone ++ older.map(Checkpoint.name)
  }
}

private object Checkpoints {

  /** The least number of records that a new checkpoint covers beyond the older checkpoint. */
  val Interval = 10L

  /** How many of the newest records are never covered. */
  val Kept = 10L

  /**
   * The folders are listed again if there are more added files than this number plus twice the number of added files
   * at the last listing. So a small table is never listed, and listings of a large table are rare.
   */
  val ListFoldersAbove = 1000

  /** How long abort records stay whole at least, in milliseconds. */
  val AbortMs: Long = TimeUnit.HOURS.toMillis(24)

  /** The number of the record that a file belongs to: the record itself, or a mark. */
  def numberIn(name: String): Option[Long] =
    LogFiles.numberOf(name.stripSuffix("_done").stripSuffix("_conflict"))
}

/**
 * What is still needed of published records: the files that they added and that no later record replaced. By these
 * files, a reader corrects a listing that was made during a publish, and OPTIMIZE knows which run has made a file.
 *
 * @param entries ascending by number, from an older checkpoint or from the record files
 * @param maxPast the greatest number of past files in the new checkpoint
 */
private[log] final class LiveFacts(
    entries: Seq[CheckpointEntry],
    maxPast: Int = LiveFacts.MaxPast) {

  /** The number of the record that added each file, by folder and name. Replaced files are removed from it. */
  private val owner = mutable.HashMap.empty[(String, String), (Long, Added)]

  /**
   * The past files of each record, by the number of the record and the folder. First come the files that the run of
   * the record replaced. Then come the files from which earlier runs had made those files, directly or in several
   * steps. For example, if run 1 replaces `a` by `b` and run 2 replaces `b` by `c`, record 2 has the past files `b`
   * and `a`. A file that is in the table again is not a past file. For example, run 1 replaces `a` and `b` by `c`, an
   * UNDO brings both back, and run 3 replaces `a` by `d`. The rows of `b` are not in `d`, so `b` is not a past file of
   * record 3. [[withPast]] cuts the lists off.
   */
  private val past = mutable.HashMap.empty[(Long, String), Vector[PastFile]]

  for (e <- entries if e.record.exchangesFiles; c <- e.record.changes) {
    val replaced = replacedIn(c)
    val stored = e.past.filter(_.folder == c.folder).flatMap(_.files)
    val makers =
      replaced.flatMap(f => owner.get((c.folder, f.name)).map(_._1)).distinct.map(_ -> c.folder)
    // a conflict gives replaced files their names again, so they still belong to the runs that added them
    if (!e.conflict) {
      (replaced ++ stored).filter(isLive(c.folder, _)).foreach(f =>
        owner.remove((c.folder, f.name)))
    }
    c.added.foreach(a => owner((c.folder, a.name)) = e.number -> a)
    val before = stored ++ makers.flatMap(past.getOrElse(_, Vector.empty))
    past(e.number -> c.folder) =
      (replaced ++ before.filterNot(isLive(c.folder, _))).distinct.toVector
  }

  private def replacedIn(c: FolderChange): Seq[PastFile] =
    c.replaced.map(r => PastFile(r.name, r.length, r.modified))

  private def isLive(folder: String, file: PastFile): Boolean =
    owner.get((folder, file.name)).exists(_._2.length == file.length)

  /** The folders of the files that records have added and no later record has replaced. */
  def folders: Set[String] = owner.keysIterator.map(_._1).toSet

  def size: Long = owner.size.toLong

  /**
   * Forgets files that other programs have removed. No publish makes a removed file of a published run again.
   *
   * @param isThere tells whether a folder still has a file of a name
   */
  def retain(isThere: (String, String) => Boolean): Unit =
    owner.keys.toList.filterNot { case (folder, name) => isThere(folder, name) }
      .foreach(owner.remove)

  /**
   * The entries of a new checkpoint: whole entries, entries with added files that are still needed, and entries that
   * tell a fact without a file:
   *
   *   - An undo, while the undone run has an entry. Without it the undone run would be in force again.
   *   - The newest reduced run in force. UNDO takes back the newest run in force, so it ends at this run, although an
   *     older record may still be whole.
   *   - The newest reduced run in force with columns: the layout when all newer runs are undone.
   *   - A run that published shadows, while an entry of such a shadow stays.
   *
   * @param needed tells which records must stay whole
   * @param runs the runs of all records that are known, also of those after the checkpoint
   */
  def entriesFor(
      needed: CheckpointEntry => Boolean,
      runs: Runs): Seq[CheckpointEntry] = {
    val whole = entries.filter(needed)
    val shadows = whole.filter(_.record.makesShadow).map(_.record.run).toSet
    val numbers = whole.map(_.number).toSet
    val reduced = entries.map(e =>
      if (numbers(e.number)) e.copy(whole = true)
      else reduce(e, keepsFolders = e.record.publishedRuns.exists(shadows)))
    val lasting = reduced.filter(e => e.whole || e.record.changes.nonEmpty).map(_.record.run).toSet
    val covered = entries.map(_.number).toSet
    val inForce = runs.inForce.filter { case (n, _) => covered(n) && !numbers(n) }
    val kept =
      (inForce.headOption ++ inForce.find(_._2.columns.nonEmpty)).map(_._1).toSet
    withPast(reduced.filter(e =>
      lasting(e.record.run) || kept(e.number) || e.record.undone.exists(lasting)))
  }

  /**
   * Adds the past files of each entry, without those that the record itself lists as replaced. The newest entries
   * come first if there are more than `maxPast` past files. A file that does not fit into one list is in no list:
   * [[Evidence]] takes a file for proven if all runs that list the file are.
   */
  private def withPast(kept: Seq[CheckpointEntry]): Seq[CheckpointEntry] = {
    var room = maxPast
    val cut = mutable.HashSet.empty[(String, PastFile)]
    val lists = kept.reverse.map { e =>
      e -> e.record.changes.filter(_.added.nonEmpty).map { c =>
        val known = replacedIn(c).toSet
        val (files, others) =
          past.getOrElse((e.number, c.folder), Vector.empty).filterNot(known).splitAt(room)
        room -= files.size
        cut ++= others.map(c.folder -> _)
        PastFolder(c.folder, files)
      }
    }.reverse
    lists.map { case (e, folders) =>
      e.copy(past = folders.map(p => p.copy(files = p.files.filterNot(f => cut(p.folder -> f))))
        .filter(_.files.nonEmpty))
    }
  }

  private def reduce(e: CheckpointEntry, keepsFolders: Boolean): CheckpointEntry = {
    val changes = e.record.changes.map { c =>
      FolderChange(
        c.folder,
        Nil,
        c.added.filter(a => owner.get((c.folder, a.name)).exists(_._1 == e.number)))
    }
    e.copy(
      whole = false,
      record = e.record.copy(changes = changes.filter(keepsFolders || _.added.nonEmpty)))
  }
}

private[log] object LiveFacts {

  /** The greatest number of past files in a checkpoint. They take about 10 MB. */
  val MaxPast = 100000
}
