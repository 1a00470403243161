package io.sparkzorder.rewrite

import java.util.{LinkedHashMap => JavaLinkedHashMap, Map => JavaMap}

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

/**
 * What all published runs together did to one folder.
 *
 * @param steps their changes in order of their numbers
 * @param live files that were added and not replaced since, each with the record that added it
 * @param replaced identities (length, modification time) of files by name that were replaced and
 *   not put back since
 */
private[rewrite] final class FolderHistory(
    val path: Path,
    val steps: IndexedSeq[Step],
    live: Seq[(Added, Step)],
    replaced: Map[String, Set[(Long, Long)]]) {

  /** True for a listing that shows the folder as all runs have left it. */
  def explains(listed: Map[String, FileStatus]): Boolean =
    live.forall { case (added, step) =>
      listed.contains(added.name) || step.known.isGone(step.change.folder, added.name)
    } && !listed.exists { case (name, s) =>
      replaced.get(name).exists(_.contains(s.getLen -> s.getModificationTime))
    }
}

/**
 * The published runs of a table.
 *
 * @param root the table's directory
 * @param done their records in order of their numbers
 * @param ids all records of the table, published or not
 * @param records the same with what they hold
 */
private[rewrite] final class History(
    root: Path,
    done: Seq[KnownRecord],
    val ids: Seq[(RecordId, Boolean)],
    val records: Map[RecordId, KnownRecord]) {

  val folders: Map[String, FolderHistory] =
    done.flatMap(k => k.changes.map(c => Step(k, c, open = None))).groupBy(_.change.folder)
      .map { case (folder, steps) =>
        folder -> History.ofFolder(Publisher.folder(root, folder), steps.toIndexedSeq)
      }

  val log: CommitLog =
    CommitLog(ids, this, ids.collect { case (id, false) => records(id) }.filter(_.changes.nonEmpty))

  /** Files that the records name: a measure of the memory that this takes. */
  private[rewrite] val weight: Long =
    records.values.flatMap(_.changes).map(c => 1L + c.replaced.size + c.added.size).sum
}

private[rewrite] object History {

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
