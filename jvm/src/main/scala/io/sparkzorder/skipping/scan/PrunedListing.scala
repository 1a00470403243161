// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionDirectory

import io.sparkzorder.index.ListedEntries
import io.sparkzorder.skipping.predicate.{FilePruner, KeptFiles}

/**
 * A listing without the files in which no row can match. A partition of which no file is left stays in the
 * listing, because Spark's metrics count the partitions of a listing.
 *
 * @param metrics what was pruned; None if nothing could prune
 */
private[sparkzorder] final case class PrunedListing(
    directories: Seq[PartitionDirectory],
    metrics: Option[SkippingMetrics])

private[sparkzorder] object PrunedListing {

  /** The files of `first` that `pruner` keeps. */
  def again(first: PrunedListing, pruner: Option[FilePruner]): PrunedListing = {
    val second = of(first.directories, pruner)
    val metrics = (first.metrics, second.metrics) match {
      case (Some(a), Some(b)) => Some(a.andAtRunTime(b))
      case (None, Some(b)) => Some(b.allAtRunTime)
      case (known, None) => known
    }
    PrunedListing(second.directories, metrics)
  }

  /** @param pruner None when every file is read */
  def of(listed: Seq[PartitionDirectory], pruner: Option[FilePruner]): PrunedListing =
    pruner match {
      case None => PrunedListing(listed, None)
      case Some(p) =>
        val (kept, metrics) = listed.map(prune(_, p)).unzip
        PrunedListing(kept, Some(SkippingMetrics(p.prunedBy, metrics)))
    }

  /** @param pruner None when every file is read */
  private[skipping] def of(listing: ScanListing, pruner: Option[FilePruner]): PrunedListing = {
    val ofHeld = for {
      (held, chosen) <- listing.held
      p <- pruner
      entries <- p.byEntries
    } yield {
      def file = held.directories.flatMap(_.files.headOption).headOption
      PruningFailure.orElse(
        PrunedListing(listing.directories, None),
        IndexPruning.notUsed(file.fold("a table")(f => s"the table of ${f.getPath}")))(
        new PrunedHeldListing(held, held.entriesIn(entries), entries.kept).of(chosen))
    }
    ofHeld.getOrElse(of(listing.directories, pruner))
  }

  private def prune(
      directory: PartitionDirectory,
      pruner: FilePruner): (PartitionDirectory, DirectoryMetrics) = {
    val pruned = new Array[Int](pruner.prunedBy.size)
    var noEntry = 0
    val kept = directory.files.filter { f =>
      val decision = pruner.decide(f.fileStatus)
      if (decision >= 0) pruned(decision) += 1
      else if (decision == FilePruner.NoEntry) noEntry += 1
      decision < 0
    }
    val metrics =
      DirectoryMetrics(directory.values, directory.files.size, pruned.toIndexedSeq, noEntry)
    (directory.copy(files = kept), metrics)
  }
}

/**
 * How many files of one directory of a listing were pruned, and by what.
 *
 * @param values values of the partition columns
 * @param files number of files before skipping
 * @param pruned for each name of [[SkippingMetrics.names]], the number of files that the predicates on it prune.
 *   A file that the predicates on several names prune is counted for the first of these names only
 * @param noEntry number of files that are read because the index has no up-to-date entry for them
 * @param prunedAtRunTime the number of files that only the values of joins and subqueries prune
 */
private[sparkzorder] final case class DirectoryMetrics(
    values: InternalRow,
    files: Int,
    pruned: IndexedSeq[Int],
    noEntry: Int,
    prunedAtRunTime: Int = 0)

/**
 * How many files of a scan were pruned, and by what.
 *
 * @param names columns of the predicates that may prune files, as [[FilePruner.prunedBy]] has them
 * @param usesRunTime true if values of joins and subqueries were used
 */
private[sparkzorder] final case class SkippingMetrics(
    names: IndexedSeq[String],
    directories: Seq[DirectoryMetrics],
    usesRunTime: Boolean = false) {

  /** The number of files that Spark would read without the index: all files of the chosen partitions. */
  val total: Long = directories.map(_.files.toLong).sum

  /** The number of files that the predicates on each name prune. */
  val prunedBy: IndexedSeq[(String, Long)] =
    names.zipWithIndex.map { case (n, i) => n -> directories.map(_.pruned(i).toLong).sum }

  val pruned: Long = prunedBy.map(_._2).sum

  /** The number of files that only the values of joins and subqueries prune; None if no such values were used. */
  val prunedAtRunTime: Option[Long] =
    if (usesRunTime) Some(directories.map(_.prunedAtRunTime.toLong).sum) else None

  /** The number of files that are read. */
  val kept: Long = total - pruned

  /** Number of files that are read because the index has no up-to-date entry for them. */
  val noEntry: Long = directories.map(_.noEntry.toLong).sum

  /** The metrics of those partitions alone that have one of these values. */
  def of(values: Iterator[InternalRow]): SkippingMetrics = {
    val chosen = values.toSet
    copy(directories = directories.filter(d => chosen(d.values)))
  }

  /** These metrics, if all pruning was by the values of joins and subqueries. */
  def allAtRunTime: SkippingMetrics =
    copy(
      directories = directories.map(d => d.copy(prunedAtRunTime = d.pruned.sum)),
      usesRunTime = true)

  /** These metrics, combined with those of a second pruning of the same directories. */
  def andAtRunTime(later: SkippingMetrics): SkippingMetrics = {
    val all = (names ++ later.names).distinct
    def spread(from: SkippingMetrics, d: DirectoryMetrics): IndexedSeq[Int] = {
      val by = from.names.zip(d.pruned).toMap
      all.map(by.getOrElse(_, 0))
    }
    val both = directories.zip(later.directories).map { case (a, b) =>
      val pruned = spread(this, a).zip(spread(later, b)).map { case (x, y) => x + y }
      DirectoryMetrics(a.values, a.files, pruned, b.noEntry, b.pruned.sum)
    }
    SkippingMetrics(all, both, usesRunTime = true)
  }

  /** For example `3 of 64 (pruned by a: 50, b: 11)`. */
  override def toString: String = {
    val by = prunedBy.filter(_._2 > 0).sortBy(-_._2).map { case (c, n) => s"$c: $n" }
    val notes =
      (if (by.isEmpty) Nil else Seq(by.mkString("pruned by ", ", ", ""))) ++
        (if (noEntry > 0) Seq(s"not in the index: $noEntry") else Nil)
    s"$kept of $total" + (if (notes.isEmpty) "" else notes.mkString(" (", "; ", ")"))
  }
}

/**
 * Prunes a listing whose entries in the index are known. The bits of consecutive entries are counted together, so
 * that a query does not look at each pruned file.
 *
 * @param held the listing
 * @param entries the entries of its files in the index
 * @param kept the entries that the filters keep
 */
private final class PrunedHeldListing(
    held: HeldListing,
    entries: ListedEntries,
    kept: KeptFiles) {
  private val after = kept.after.toArray
  private val prunedInDirectory = new Array[Int](after.length)

  /** @param chosen positions of the directories that are read */
  def of(chosen: Array[Int]): PrunedListing = {
    val (directories, metrics) = chosen.toSeq.map(prune).unzip
    PrunedListing(directories, Some(SkippingMetrics(kept.prunedBy, metrics)))
  }

  private def prune(d: Int): (PartitionDirectory, DirectoryMetrics) = {
    val directory = held.directories(d)
    java.util.Arrays.fill(prunedInDirectory, 0)
    var (left, noEntry) = (0, 0)
    foreachRun(d) { (_, entry, size) =>
      if (entry < 0) noEntry += size
      else {
        var before = size
        var k = 0
        while (k < after.length) {
          val now = KeptFiles.count(after(k), entry, entry + size)
          prunedInDirectory(k) += before - now
          before = now
          k += 1
        }
        left += before
      }
    }
    val count = left + noEntry
    val files =
      if (count == directory.files.length) directory else directory.copy(files = keptOf(d, count))
    (
      files.toSpark,
      DirectoryMetrics(
        directory.values,
        directory.files.length,
        prunedInDirectory.toIndexedSeq,
        noEntry))
  }

  private def keptOf(d: Int, count: Int): Array[FileStatus] = {
    val files = held.directories(d).files
    val out = new Array[FileStatus](count)
    if (count > 0) {
      val words = after.last
      var n = 0
      foreachRun(d) { (position, entry, size) =>
        if (entry < 0) {
          System.arraycopy(files, position, out, n, size)
          n += size
        } else {
          var i = KeptFiles.next(words, entry, entry + size)
          while (i < entry + size) {
            out(n) = files(position + i - entry)
            n += 1
            i = KeptFiles.next(words, i + 1, entry + size)
          }
        }
      }
    }
    out
  }

  /**
   * Calls `body` for each run of files of a directory that have consecutive entries, with the position of
   * the first file, its entry, and the number of files.
   */
  private def foreachRun(d: Int)(body: (Int, Int, Int) => Unit): Unit = {
    var r = entries.firstRun(d)
    while (r < entries.firstRun(d + 1)) {
      body(entries.positions(r), entries.entries(r), entries.sizes(r))
      r += 1
    }
  }
}
