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
 * One change of a folder by a committed run.
 *
 * @param underWay true if the run is committed and not yet published in this folder: the new files count, even
 *   if a listing still shows the old ones
 */
private[sparkzorder] final case class Step(
    known: KnownRecord,
    change: FolderChange,
    underWay: Boolean)

/**
 * The name of a file in a folder, for a name whose files runs have replaced.
 *
 * @param identities length and modification time of each replaced file that had the name
 * @param run the run that replaced the last of these files
 * @param number of the record of that run
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
 * @param live files that were added and not replaced since, each with the record that added it
 * @param replaced files by name that were replaced and not put back since
 */
private[sparkzorder] final class FolderHistory(
    val path: Path,
    val steps: IndexedSeq[Step],
    live: Seq[(Added, Step)],
    replaced: Map[String, ReplacedName]) {

  /** True for a listing that agrees with what all runs together did to the folder. */
  def explains(listed: Map[String, FileStatus]): Boolean =
    live.forall { case (added, step) =>
      listed.contains(added.name) || step.known.isGone(step.change.folder, added.name)
    } && !listed.exists { case (name, s) =>
      replaced.get(name).exists(_.is(s)) || TokenFile.isOne(name)
    }

  /**
   * Listed files whose names a run has replaced. Empty if the listing has no file that the runs added: then
   * another program has overwritten the folder, or the listing is older than the runs.
   *
   * @param hidden names of files that a run under way has hidden
   */
  def disagreements(
      listed: Map[String, FileStatus],
      hidden: => Set[String] = Set.empty): Seq[Disagreement] = {
    val again = listed.keys.filter(replaced.contains).toSeq.sorted
    // `exists` evaluates `hidden`, which may list a directory, once and not for each file
    def isHidden = live.map(_._1.name).exists(hidden)
    if (again.isEmpty || !live.exists { case (a, _) => isListed(listed, a) } && !isHidden) Nil
    else {
      val names = live.map(_._1.name).toSet
      val (returned, others) = again.partition(n => replaced(n).is(listed(n)))
      Seq(
        (returned, Returned(path, _: Seq[String], _: String)),
        (others.filterNot(names), Reused(path, _: Seq[String], _: String))).collect {
        case (found, make) if found.nonEmpty =>
          make(found, found.map(replaced).maxBy(_.number).run)
      }
    }
  }

  private def isListed(listed: Map[String, FileStatus], a: Added): Boolean =
    listed.get(a.name).exists(_.getLen == a.length)

  // a query is planned several times with one listing, and one warning is enough
  @volatile private var warned = Seq.empty[WeakReference[FileStatus]]

  /**
   * True when this disagreement is found for the first time in a listing. A listing may have one disagreement of
   * each kind.
   */
  def isNew(found: Disagreement, listed: Map[String, FileStatus]): Boolean = {
    val file = listed(found.names.head)
    val isNew = !warned.exists(_.get eq file)
    if (isNew) warned = (new WeakReference(file) +: warned).take(History.Kinds)
    isNew
  }

  // a listing that was explained stays so: steps do not change, and files that are gone stay gone
  @volatile private var explained: Option[SeenListing] = None

  /** True for the files that were remembered last: the same objects in the same order. */
  def hasExplained(listed: Iterator[FileStatus]): Boolean = explained.exists(_.is(listed))

  /** @param listed what [[explains]] was true for */
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

  /** Made on demand, because a statement with many batches reads the log after each batch. */
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
   * Keeps the log of a table in memory, in the place of the logs that were used least recently. A log is kept
   * even if it is larger than the limit, because else each query would read it again.
   */
  def remember(root: String, log: CommitLog): Unit =
    cache.put(root, log, math.max(Runtime.getRuntime.maxMemory / MemoryDivisor, weigh(log)))

  /** Drops the log of a table, as in a process that has not read the table yet. */
  private[sparkzorder] def forget(root: String): Unit = cache.forget(root)

  private def weigh(log: CommitLog): Long = {
    val changes =
      (log.open.map(_.known) ++ log.checkpoint.toSeq.flatMap(c =>
        c.settled ++ c.conflicts.map(_.known))).flatMap(k => k.changes ++ k.shadow)
    BytesOfName * (1L + changes.map(c => 1L + c.replaced.size + c.added.size).sum)
  }

  private def ofFolder(path: Path, steps: IndexedSeq[Step]): FolderHistory = {
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
    // a file that UNDO has put back does not show that a listing is old
    val out = replaced.map { case (name, r) =>
      name -> r.copy(identities =
        r.identities.filterNot(i => live.get(name).exists(_._1.length == i._1)))
    }
    new FolderHistory(path, steps, live.values.toSeq, out.filter(_._2.identities.nonEmpty).toMap)
  }
}

/**
 * Remembers the files of a listing so that the same listing can be recognised later. Spark hands the same
 * objects of a cached listing to every query. They belong to Spark, so they are held weakly.
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
 * Files that another program has put into a folder under names that a run has replaced. The files of later
 * runs have the rows of the replaced files.
 */
private[sparkzorder] sealed trait Disagreement {
  def folder: Path

  /** Names of the files, ascending. */
  def names: Seq[String]

  /** The newest run that replaced one of them. */
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
 * Other files under these names, as a program leaves them that writes by fixed names and has run again.
 * Readers read these files. Whether their rows are new is not known.
 */
private[sparkzorder] final case class Reused(folder: Path, names: Seq[String], run: String)
    extends Disagreement {
  override def warning: String =
    s"${ZOrderErrors.some(names)} in $folder have names that run $run replaced, and are other files; " +
      "if a program wrote them again to correct rows, the old rows are in the table as well"
}
