package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionDirectory

import io.sparkzorder.skipping.predicate.FilePruner

/**
 * A listing without the files in which no row can match. Partitions stay, also those without any file
 * left: Spark counts them.
 *
 * @param metrics None where no index could be asked
 */
final case class PrunedListing(
    directories: Seq[PartitionDirectory],
    metrics: Option[SkippingMetrics])

object PrunedListing {

  /** @param pruner None when every file is read */
  def of(listed: Seq[PartitionDirectory], pruner: Option[FilePruner]): PrunedListing =
    pruner match {
      case None => PrunedListing(listed, None)
      case Some(p) =>
        val (kept, metrics) = listed.map(prune(_, p)).unzip
        PrunedListing(kept, Some(SkippingMetrics(p.prunedBy, metrics)))
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
 * @param values of the partition
 * @param files before skipping
 * @param pruned files that the predicates on each name prune; a file counts for the first of them alone
 * @param noEntry files that are read because the index does not know them as they are
 */
final case class DirectoryMetrics(
    values: InternalRow,
    files: Int,
    pruned: IndexedSeq[Int],
    noEntry: Int)

/**
 * How many files of a scan were pruned, and by what.
 *
 * @param names columns of the predicates that may prune files, as [[FilePruner.prunedBy]] has them
 */
final case class SkippingMetrics(names: IndexedSeq[String], directories: Seq[DirectoryMetrics]) {

  /** Files that Spark would read without the index: those of the partitions that it has chosen. */
  val total: Long = directories.map(_.files.toLong).sum

  /** Files that the predicates on each name prune. */
  val prunedBy: IndexedSeq[(String, Long)] =
    names.zipWithIndex.map { case (n, i) => n -> directories.map(_.pruned(i).toLong).sum }

  val pruned: Long = prunedBy.map(_._2).sum

  /** Files that are read. */
  val kept: Long = total - pruned

  /** Of the files that are read, those of which the index knows nothing. */
  val noEntry: Long = directories.map(_.noEntry.toLong).sum

  /** The same for some partitions. */
  def of(values: Iterator[InternalRow]): SkippingMetrics = {
    val chosen = values.toSet
    copy(directories = directories.filter(d => chosen(d.values)))
  }

  /** As `3 of 64 (pruned by a: 50, b: 11)`. */
  override def toString: String = {
    val by = prunedBy.filter(_._2 > 0).sortBy(-_._2).map { case (c, n) => s"$c: $n" }
    val notes =
      (if (by.isEmpty) Nil else Seq(by.mkString("pruned by ", ", ", ""))) ++
        (if (noEntry > 0) Seq(s"not in the index: $noEntry") else Nil)
    s"$kept of $total" + (if (notes.isEmpty) "" else notes.mkString(" (", "; ", ")"))
  }
}
