// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  And,
  AttributeReference,
  BoundReference,
  Expression,
  Predicate
}
import org.apache.spark.sql.execution.datasources.{
  InMemoryFileIndex,
  PartitionDirectory,
  PartitionSpec
}
import org.apache.spark.sql.sparkzorder.LeafFiles
import org.apache.spark.sql.types.StructType

import io.sparkzorder.index.ListedEntries
import io.sparkzorder.log.{FolderListing, StateDirectory, TableLog}
import io.sparkzorder.skipping.predicate.EntryPruner
import io.sparkzorder.util.WeakIdentityMap

/**
 * The listed files of a scan, before the index prunes any of them.
 *
 * @param held the listing that Spark holds, and the positions of the directories that were chosen from it;
 *   None if the files come from elsewhere
 */
private[skipping] final class ScanListing private (
    val held: Option[(HeldListing, Array[Int])],
    others: Seq[PartitionDirectory]) {

  /** The files in Spark's form. This makes an object for each file. */
  lazy val directories: Seq[PartitionDirectory] =
    held.fold(others) { case (all, chosen) => chosen.toSeq.map(all.directories(_).toSpark) }
}

private[skipping] object ScanListing {
  def of(directories: Seq[PartitionDirectory]): ScanListing = new ScanListing(None, directories)
  def of(held: HeldListing, chosen: Array[Int]): ScanListing =
    new ScanListing(Some((held, chosen)), Nil)
}

/** The files of a partition, or of a whole relation without partitions. */
private[skipping] final case class ListedDirectory(values: InternalRow, files: Array[FileStatus]) {
  def toSpark: PartitionDirectory = PartitionDirectory(values, files)
}

private[skipping] object ListedDirectory {
  def of(d: PartitionDirectory): ListedDirectory =
    ListedDirectory(d.values, d.files.iterator.map(_.fileStatus).toArray)
}

/**
 * The content of a listing that Spark holds, and results of earlier queries about it. Spark keeps a listing
 * for a data frame or for a table of the catalog, and uses it for every query. With the results of earlier
 * queries, a later query touches only the files that it reads.
 *
 * @param spark the objects in which Spark keeps the files and the partitions. A refresh replaces both, but
 *   not atomically, so both are compared
 */
private[skipping] final class HeldListing private (
    spark: (AnyRef, PartitionSpec),
    val directories: IndexedSeq[ListedDirectory]) {

  /** The partitions of the listing. */
  def partitions: PartitionSpec = spark._2

  /** All files. */
  def all: ScanListing = ScanListing.of(this, directories.indices.toArray)

  @volatile private var usedAgain = false

  /** True if more than one query has used the listing. */
  def isUsedAgain: Boolean = usedAgain

  /** True if the file index has not been refreshed since this listing was taken. */
  def isListedBy(index: InMemoryFileIndex): Boolean = isOf(HeldListing.now(index))

  private def isOf(now: (AnyRef, PartitionSpec)): Boolean =
    (spark._1 eq now._1) && (spark._2 eq now._2)

  /** The positions of the directories whose partition values pass Spark's partition filters. */
  def chosen(columns: StructType, filters: Seq[Expression]): Array[Int] = {
    val names = columns.map(_.name).toSet
    // like Spark, this ignores filters that read more than partition columns
    val usable = filters.filter(_.references.map(_.name).toSet.subsetOf(names))
    if (columns.isEmpty || usable.isEmpty) directories.indices.toArray
    else {
      val passes = Predicate.createInterpreted(usable.reduce(And).transform {
        case a: AttributeReference =>
          val i = columns.indexWhere(_.name == a.name)
          BoundReference(i, columns(i).dataType, nullable = true)
      })
      directories.indices.filter(i => passes.eval(directories(i).values)).toArray
    }
  }

  private val byIndex = new ConcurrentHashMap[AnyRef, ListedEntries]

  /** The entries of the files in a skipping index. */
  def entriesIn(pruner: EntryPruner): ListedEntries =
    Option(byIndex.get(pruner.identity)).getOrElse {
      val made = ListedEntries.of(pruner.lookup, directories.map(_.files))
      // each update of the index has another identity, so old entries must go at some time
      if (byIndex.size >= HeldListing.MaxIndexes) byIndex.clear()
      byIndex.put(pruner.identity, made)
      made
    }

  private val explained = new ConcurrentHashMap[Path, AnyRef]

  /** True if the listing was found to agree with these records of a table. */
  def isExplained(root: Path, records: AnyRef): Boolean = records == explained.get(root)

  def markExplained(root: Path, records: AnyRef): Unit = {
    val _ = explained.put(root, records)
  }
}

private[skipping] object HeldListing {
  private val MaxIndexes = 8
  private val listings = new WeakIdentityMap[InMemoryFileIndex, HeldListing]

  /** A listing that belongs to no file index. */
  def forTest(directories: IndexedSeq[ListedDirectory]): HeldListing =
    new HeldListing((directories, PartitionSpec.emptySpec), directories)

  private def now(index: InMemoryFileIndex): (AnyRef, PartitionSpec) =
    (LeafFiles.of(index), index.partitionSpec())

  /** The unfiltered listing of a file index. */
  def of(index: InMemoryFileIndex): HeldListing = {
    val now = this.now(index)
    val known = listings.get(index).filter(_.isOf(now))
    known.foreach(_.usedAgain = true)
    known.getOrElse {
      val made = new HeldListing(
        now,
        index.listFiles(Nil, Nil).map(ListedDirectory.of).toIndexedSeq)
      listings.put(index, made)
      made
    }
  }
}

/**
 * Remembers that a listing which Spark holds agrees with the records of a table. This stays true while the
 * ids of the record files are the same, so later queries need not compare the files again.
 */
private[scan] object ExplainedListing {

  /** True if the records of the table are known to change nothing in the listing. */
  def isKnown(held: HeldListing, state: StateDirectory, log: TableLog): Boolean =
    log.isEmpty || (log.isSettled && held.isExplained(state.root, log.ids))

  /**
   * Reads the records anew, and remembers the listing if they account for every file of it. The data files
   * are not listed or read again.
   *
   * @param listing all files that `held` has
   */
  def mark(held: HeldListing, state: StateDirectory, listing: => FolderListing): Unit = {
    val log = TableLog.read(state)
    if (log.explains(listing)) held.markExplained(state.root, log.ids)
  }
}
