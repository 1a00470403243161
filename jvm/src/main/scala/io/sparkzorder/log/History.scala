package io.sparkzorder.log

import java.lang.ref.WeakReference
import java.util.{LinkedHashMap => JavaLinkedHashMap, Map => JavaMap}

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.table.TokenFile
import io.sparkzorder.util.Paths

/**
 * What all published runs together did to one folder.
 *
 * @param steps their changes in order of their numbers
 * @param live files that were added and not replaced since, each with the record that added it
 * @param replaced identities (length, modification time) of files by name that were replaced and
 *   not put back since
 */
private[sparkzorder] final class FolderHistory(
    val path: Path,
    val steps: IndexedSeq[Step],
    live: Seq[(Added, Step)],
    replaced: Map[String, Set[(Long, Long)]]) {

  /** True for a listing that shows the folder as all runs have left it. */
  def explains(listed: Map[String, FileStatus]): Boolean =
    live.forall { case (added, step) =>
      listed.contains(added.name) || step.known.isGone(step.change.folder, added.name)
    } && !listed.exists { case (name, s) =>
      replaced.get(name).exists(_.contains(s.getLen -> s.getModificationTime)) ||
      TokenFile.isOne(name)
    }

  // nothing that was explained ceases to be: steps do not change, and files that are gone stay gone
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
 * @param ids all records of the table, published or not
 * @param records the same with what they hold
 */
private[sparkzorder] final class History(
    root: Path,
    done: Seq[KnownRecord],
    val ids: Seq[(RecordId, Boolean)],
    val records: Map[RecordId, KnownRecord]) {

  /** Names of the records and of their marks of being done. */
  val names: Set[String] = ids.flatMap { case (id, isDone) =>
    Seq(s"_${id.number}") ++ (if (isDone) Seq(s"_${id.number}_done") else Nil)
  }.toSet

  val folders: Map[String, FolderHistory] =
    done.flatMap(k => k.changes.map(c => Step(k, c, open = None))).groupBy(_.change.folder)
      .map { case (folder, steps) =>
        folder -> History.ofFolder(Paths.folder(root, folder), steps.toIndexedSeq)
      }

  private val doneNumbers = done.map(_.number).toSet

  /** True when the run of a record was found published. */
  def isDone(id: RecordId): Boolean = doneNumbers(id.number) && records.contains(id)

  val log: CommitLog = CommitLog(
    ids,
    this,
    ids.map { case (id, _) => records(id) }
      .filter(r => !doneNumbers(r.number) && r.changes.nonEmpty))

  /** Files that the records name: a measure of the memory that this takes. */
  private[sparkzorder] val weight: Long =
    records.values.flatMap(_.changes).map(c => 1L + c.replaced.size + c.added.size).sum
}

private[sparkzorder] object History {

  /** File names that are kept in memory over all tables; about 200 bytes each. */
  private val MaxWeight = 500000L

  // by the time of the last use
  private val cache = new JavaLinkedHashMap[String, History](16, 0.75f, true)

  def cached(root: String): Option[History] = cache.synchronized(Option(cache.get(root)))

  /** Keeps the history of a table in memory; those that were used least recently go. */
  def remember(root: String, history: History): Unit = cache.synchronized {
    cache.put(root, history)
    var sum = 0L
    cache.values().forEach(h => sum += h.weight)
    val eldest = cache.entrySet().iterator()
    while (sum > MaxWeight && cache.size > 1) {
      val entry: JavaMap.Entry[String, History] = eldest.next()
      sum -= entry.getValue.weight
      eldest.remove()
    }
  }

  private def ofFolder(path: Path, steps: IndexedSeq[Step]): FolderHistory = {
    val live = mutable.LinkedHashMap.empty[String, (Added, Step)]
    val replaced = mutable.Map.empty[String, Set[(Long, Long)]]
    steps.foreach { step =>
      step.change.replaced.foreach { r =>
        live.remove(r.name)
        replaced(r.name) = replaced.getOrElse(r.name, Set.empty) + (r.length -> r.modified)
      }
      step.change.added.foreach(a => live(a.name) = a -> step)
    }
    // what UNDO has put back is no sign of an old listing
    val out = replaced.map { case (name, ids) =>
      name -> ids.filterNot(i => live.get(name).exists(_._1.length == i._1))
    }
    new FolderHistory(path, steps, live.values.toSeq, out.filter(_._2.nonEmpty).toMap)
  }
}

/**
 * The files of a listing, to be known again: from a listing that it holds, Spark hands out the same
 * objects to every query. They belong to Spark and are held weakly.
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
