// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.lang.ref.WeakReference

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.TokenFile
import io.sparkzorder.util.{Paths, WeightedCache}

/**
 * A committed run's change of one folder.
 *
 * @param underWay true if the run is committed and not yet published in this folder: readers read the new files,
 *   even if a listing still shows the old files
 */
private[sparkzorder] final case class Step(
    known: KnownRecord,
    change: FolderChange,
    underWay: Boolean) {

  /**
   * The files that the run itself replaced. Past files ([[CheckpointEntry.past]]) are left out: no hidden directory has
   * them.
   */
  def own: Seq[Replaced] = change.replaced.filter(_.retained.nonEmpty)
}

/**
 * The name of one or more files of a folder that runs have replaced.
 *
 * @param identities length and modification time of each replaced file that had the name
 * @param run the run that replaced the last of these files
 * @param number the number of the record of that run
 */
private[sparkzorder] final case class ReplacedName(
    identities: Set[(Long, Long)],
    run: String,
    number: Long) {
  def is(s: FileStatus): Boolean = identities(s.getLen -> s.getModificationTime)
}

/**
 * What all published runs together did to one folder.
 *
 * @param steps their changes in order of their numbers
 * @param live files that were added and not replaced since, each with the step that added it
 * @param replaced by name, files that were replaced and that no UNDO has put back since
 */
private[sparkzorder] final class FolderHistory(
    val path: Path,
    val steps: IndexedSeq[Step],
    live: Seq[(Added, Step)],
    replaced: Map[String, ReplacedName]) {

  /**
   * True if a listing has every live file, apart from those that are gone, and neither a replaced file nor a token.
   */
  def explains(listed: Map[String, FileStatus]): Boolean =
    live.forall { case (added, step) =>
      listed.contains(added.name) || step.known.isGone(step.change.folder, added.name)
    } && !listed.exists { case (name, s) =>
      replaced.get(name).exists(_.is(s)) || TokenFile.isOne(name)
    }

  /**
   * Listed files that have the names of replaced files. Empty if no live file is listed or hidden: then another
   * program has overwritten the folder, or the listing is older than the runs. Of the replaced files themselves, only
   * those are returned whose rows may be in a listed or hidden live file. Any other replaced file may be the only copy
   * of its rows.
   *
   * @param hidden names of live files that a run under way has hidden
   * @param isRead true for a listed replaced file that readers read all the same, because a file that took its place is
   *   missing. Such a replaced file counts as [[Reused]], because no message may tell a user to remove it
   */
  def disagreements(
      listed: Map[String, FileStatus],
      hidden: => Set[String] = Set.empty,
      isRead: String => Boolean = _ => false): Seq[Disagreement] = {
    val again = namesAgain(listed)
    lazy val inUse = hidden
    val (there, gone) =
      if (again.isEmpty) (Nil, Nil)
      else live.partition { case (a, _) => isListed(listed, a) || inUse(a.name) }
    if (there.isEmpty) Nil
    else {
      val names = live.map(_._1.name).toSet
      val (same, others) = again.partition(n => replaced(n).is(listed(n)))
      val returned =
        if (gone.isEmpty) same
        else {
          val made = ancestors(there.map(_._2.known.number).toSet)
          same.filter(n => made(n -> listed(n).getLen))
        }
      val (read, leftOut) = returned.partition(isRead)
      Seq(
        (leftOut, Returned(path, _: Seq[String], _: String)),
        (
          (others.filterNot(names) ++ read).sorted,
          Reused(path, _: Seq[String], _: String))).collect {
        case (found, make) if found.nonEmpty =>
          make(found, found.map(replaced).maxBy(_.number).run)
      }
    }
  }

  /** Names of listed files that runs have replaced, ascending. */
  def namesAgain(listed: Map[String, FileStatus]): Seq[String] =
    listed.keys.filter(replaced.contains).toSeq.sorted

  // the answer stays right, because the steps of this object do not change
  @volatile private var lastAncestors: Option[(Set[Long], Set[(String, Long)])] = None

  /**
   * The replaced files, by name and length, whose rows may be in files that some steps added: the steps were made from
   * these files, directly or not. Each query with an old listing asks this for the same steps, so the last answer is
   * kept.
   *
   * @param numbers the numbers of the records of the steps
   */
  private def ancestors(numbers: Set[Long]): Set[(String, Long)] =
    lastAncestors.collect { case (`numbers`, files) => files }.getOrElse {
      val files = mutable.HashSet.empty[(String, Long)]
      // from the last step to the first one, so that one pass is enough for a chain of any length
      steps.reverseIterator.foreach { s =>
        if (numbers(s.known.number) || s.change.added.exists(a => files(a.name -> a.length)))
          files ++= s.change.replaced.map(r => r.name -> r.length)
      }
      val found = files.toSet
      lastAncestors = Some(numbers -> found)
      found
    }

  private def isListed(listed: Map[String, FileStatus], a: Added): Boolean =
    listed.get(a.name).exists(_.getLen == a.length)

  // Spark plans a query several times with one listing, and one warning is enough. The first file of a disagreement
  // identifies the listing.
  @volatile private var warned = Seq.empty[WeakReference[FileStatus]]

  /**
   * True when this disagreement is found for the first time in a listing. A listing has at most one disagreement of
   * each kind.
   */
  def isNew(found: Disagreement, listed: Map[String, FileStatus]): Boolean = {
    val file = listed(found.names.head)
    val isNew = !warned.exists(_.get eq file)
    if (isNew) warned = (new WeakReference(file) +: warned).take(History.Kinds)
    isNew
  }

  // a listing stays explained, because the steps of this object do not change, and files that are gone stay gone
  @volatile private var explained: Option[SeenListing] = None

  /** True for the listing that was remembered last: the same objects in the same order. */
  def hasExplained(listed: Iterator[FileStatus]): Boolean = explained.exists(_.is(listed))

  /** @param listed the files of a listing for which [[explains]] was true */
  def rememberExplained(listed: Iterator[FileStatus]): Unit =
    explained = Some(new SeenListing(listed))
}

/**
 * The published runs of a table.
 *
 * @param root the table's directory
 * @param done their records in order of their numbers
 */
private[sparkzorder] final class History(root: Path, done: Seq[KnownRecord]) {

  /** The history of each folder. Lazy, because a statement with many batches reads the log again for each batch. */
  lazy val folders: Map[String, FolderHistory] =
    done.flatMap(k => k.changes.map(c => Step(k, c, underWay = false))).groupBy(_.change.folder)
      .map { case (folder, steps) =>
        folder -> History.ofFolder(Paths.folder(root, folder), steps.toIndexedSeq)
      }
}

private[sparkzorder] object History {

  /** About the memory that one file name takes in a log. */
  private val BytesOfName = 300L

  /** The logs of all tables together may take the driver's memory divided by this number. */
  private val MemoryDivisor = 8L

  /** Kinds of disagreements that one listing may have. */
  private[log] val Kinds = 2

  private val cache = new WeightedCache[String, CommitLog](weigh)

  def cached(root: String): Option[CommitLog] = cache.get(root)

  /**
   * Keeps the log of a table in memory. Logs that were used least recently make room for it. A log is kept even if
   * it is larger than the limit, because each query would otherwise read it again.
   */
  def remember(root: String, log: CommitLog): Unit =
    cache.put(root, log, math.max(Runtime.getRuntime.maxMemory / MemoryDivisor, weigh(log)))

  /** Drops the log of a table, as in a process that has not read the table yet. */
  private[sparkzorder] def forget(root: String): Unit = cache.forget(root)

  private def weigh(log: CommitLog): Long = {
    val changes =
      (log.open.map(_.known) ++ log.checkpoint.toSeq.flatMap(_.records))
        .flatMap(k => k.changes ++ k.shadow)
    BytesOfName * (1L + changes.map(c => 1L + c.replaced.size + c.added.size).sum)
  }

  private[log] def ofFolder(path: Path, steps: IndexedSeq[Step]): FolderHistory = {
    val live = mutable.LinkedHashMap.empty[String, (Added, Step)]
    val replaced = mutable.Map.empty[String, ReplacedName]
    steps.foreach { step =>
      step.change.replaced.foreach { r =>
        live.remove(r.name)
        val before = replaced.get(r.name).fold(Set.empty[(Long, Long)])(_.identities)
        replaced(r.name) =
          ReplacedName(before + (r.length -> r.modified), step.known.record.run, step.known.number)
      }
      step.change.added.foreach(a => live(a.name) = a -> step)
    }
    // A file that UNDO has put back is a file of the table, so it does not show that a listing is old. The length
    // tells the file.
    val out = replaced.map { case (name, r) =>
      name -> r.copy(identities =
        r.identities.filterNot(i => live.get(name).exists(_._1.length == i._1)))
    }
    new FolderHistory(path, steps, live.values.toSeq, out.filter(_._2.identities.nonEmpty).toMap)
  }
}

/**
 * Remembers the files of a listing so that the same listing can be recognised later. Spark hands the same
 * objects of a cached listing to every query. They are held weakly, so Spark can drop the listing.
 */
private[sparkzorder] final class SeenListing(files: Iterator[FileStatus]) {
  private val seen = files.map(new WeakReference(_)).toArray

  /** True for the same objects in the same order. */
  def is(files: Iterator[FileStatus]): Boolean = {
    var i = 0
    while (i < seen.length && files.hasNext && (files.next() eq seen(i).get)) i += 1
    i == seen.length && !files.hasNext
  }
}

/**
 * Files that another program has put into a folder under the names of replaced files. The rows of the replaced files
 * are in files that the replacing run, or a later run, has added.
 */
private[sparkzorder] sealed trait Disagreement {
  def folder: Path

  /** Names of the files, ascending. */
  def names: Seq[String]

  /** The newest run that replaced a file of one of these names. */
  def run: String

  /** The text in SHOW LAYOUT and in the driver's log. */
  def warning: String
}

/**
 * The replaced files themselves, with their length and modification time, as a restored backup has them. Their
 * rows are in later files, so readers leave these files out.
 */
private[sparkzorder] final case class Returned(folder: Path, names: Seq[String], run: String)
    extends Disagreement {
  override def warning: String =
    s"${ZOrderErrors.some(names)} in $folder were replaced by run $run and are there again; their " +
      "rows are in other files, so they are left out. Readers without the extension read them twice"
}

/**
 * Files with the names of replaced files, which readers read. A program that uses fixed names writes such files when it
 * runs again. Or a replaced file is back, and a file that took its place is missing. It is not known whether their rows
 * are new, or are in other files, too.
 */
private[sparkzorder] final case class Reused(folder: Path, names: Seq[String], run: String)
    extends Disagreement {
  override def warning: String =
    s"${ZOrderErrors.some(names)} in $folder have the names of files that run $run replaced, and are read beside the " +
      "files of that run; if a program wrote them again to correct rows, or if they were restored because a file of " +
      "the run was lost, old rows may be in the table as well"
}
