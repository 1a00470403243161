// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  And,
  AttributeReference,
  BoundReference,
  Expression,
  Predicate
}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation,
  PartitionDirectory,
  PartitionSpec
}
import org.apache.spark.sql.sparkzorder.LeafFiles
import org.apache.spark.sql.types.StructType

import io.sparkzorder.index.ListedEntries
import io.sparkzorder.log.{FolderListing, StateDirectory, TableLog}
import io.sparkzorder.skipping.predicate.EntryPruner
import io.sparkzorder.table.TokenFile
import io.sparkzorder.util.WeakIdentityMap

/**
 * The listed files of a scan, before the index prunes any of them.
 *
 * @param held the listing that Spark holds, and the positions of the chosen directories in this listing; None
 *   if the files come from elsewhere
 * @param others the files if `held` is None
 */
private[skipping] final class ScanListing private (
    val held: Option[(HeldListing, Array[Int])],
    others: Seq[PartitionDirectory]) {

  /** The files in Spark's form. Slow for many files, because Spark's form has one more object for each file. */
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
 * The files of a listing that Spark holds, and what earlier queries found out about them. Spark keeps a listing
 * for a data frame or for a table of the catalog, and uses it for every query. With the results of earlier
 * queries, a later query touches only the files that it reads, and not all files of the listing.
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
    val passes = PartitionFilters.test(columns, filters)
    directories.indices.filter(i => passes.forall(_(directories(i).values))).toArray
  }

  private lazy val tokens: Seq[(Int, Path)] = for {
    i <- directories.indices
    file <- directories(i).files
    if TokenFile.isOne(file.getPath.getName)
  } yield i -> file.getPath

  /** The tokens of runs in some directories: the listing was made while these runs were being published. */
  def tokensIn(chosen: Array[Int]): Seq[Path] =
    if (tokens.isEmpty) Nil
    else {
      val positions = chosen.toSet
      tokens.collect { case (i, token) if positions(i) => token }
    }

  private val byIndex = new ConcurrentHashMap[AnyRef, ListedEntries]

  /** The entries of the files in a skipping index; looked up once for each index. */
  def entriesIn(pruner: EntryPruner): ListedEntries =
    Option(byIndex.get(pruner.identity)).getOrElse {
      val made = ListedEntries.of(pruner.lookup, directories.map(_.files))
      // each update of an index gives it another identity, and the entries of its old identity are useless
      if (byIndex.size >= HeldListing.MaxIndexes) byIndex.clear()
      byIndex.put(pruner.identity, made)
      made
    }

  private val explained = new ConcurrentHashMap[Path, AnyRef]

  /**
   * True if the records of a table are known to change nothing in the listing. This stays true while the ids of
   * the record files are the same, so later queries need not compare the files again.
   */
  def isUnchangedBy(state: StateDirectory, log: TableLog): Boolean =
    log.isEmpty || (log.isSettled && log.ids == explained.get(state.root))

  /**
   * Reads the records of a table anew, and remembers their ids if the records change nothing in the listing. The
   * data files are not listed or read again.
   *
   * @param listing all files of this listing
   */
  def noteIfUnchangedBy(state: StateDirectory, listing: => FolderListing): Unit = {
    val log = TableLog.read(state)
    if (log.explains(listing)) {
      val _ = explained.put(state.root, log.ids)
    }
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

/** Spark's partition filters, as a test of the values of a partition. */
private[scan] object PartitionFilters {

  /**
   * The conjunction of the filters that read only partition columns; None if there is no such filter. Other
   * filters are ignored, as in Spark.
   */
  def test(columns: StructType, filters: Seq[Expression]): Option[InternalRow => Boolean] = {
    val names = columns.map(_.name).toSet
    def isOnColumns(f: Expression) =
      names.nonEmpty && f.references.map(_.name).toSet.subsetOf(names)
    filters.filter(isOnColumns).reduceOption(And).map { all =>
      // columns are bound by name, as Spark's own file index does
      val bound = Predicate.createInterpreted(all.transform { case a: AttributeReference =>
        val i = columns.indexWhere(_.name == a.name)
        BoundReference(i, columns(i).dataType, nullable = true)
      })
      bound.eval _
    }
  }
}

/**
 * The listings of one relation for one execution of a query. All scans of the execution use the listing
 * that the first scan got, whatever filters they have. If Spark runs a side of a join a second time for its keys,
 * both runs of the side must return the same rows: with a newer listing, the join could get a row whose key is
 * not among the keys, and the files with its partners would be skipped.
 *
 * The plans of the query hold the pruned listings, and this class has only weak references to them.
 */
private[scan] final class ListingsOfExecution(
    val execution: String,
    query: WeakReference[QueryExecution]) {
  private val listings = new ConcurrentHashMap[AnyRef, WeakReference[PrunedListing]]
  private var first: Option[HeldListing] = None
  @volatile private var haveRecordsBeenRead = false
  private val newest = new ConcurrentHashMap[Path, java.lang.Long]

  /** The query of the execution; None if the query has been garbage-collected. */
  def ofQuery: Option[QueryExecution] = Option(query.get)

  def get(key: AnyRef): Option[PrunedListing] =
    Option(listings.get(key)).flatMap(r => Option(r.get))

  /**
   * Keeps a listing and returns it, or returns the listing that another thread has kept before for the same
   * key.
   */
  def kept(key: AnyRef, listing: PrunedListing): PrunedListing =
    Option(listings.compute(
      key,
      (_, known) =>
        if (known != null && known.get != null) known else new WeakReference(listing)).get)
      .getOrElse(listing)

  /**
   * The listing at the first call of the execution. All calls pass the same index. Later, an INSERT may have refreshed
   * this index in place.
   */
  def held(index: InMemoryFileIndex): HeldListing = synchronized {
    val listing = first.getOrElse(HeldListing.of(index))
    first = Some(listing)
    listing
  }

  /**
   * The number of the newest record of a table when the execution first read the records; 0 if there was
   * none. A later run counts only if all files that it replaced are listed. Otherwise its files may have rows that
   * the listing lacks, and only later scans of the execution would read these rows.
   *
   * @param now the number of the newest record at present
   */
  def newestOf(table: Path, now: Long): Long =
    newest.computeIfAbsent(table, _ => if (haveRecordsBeenRead) 0L else now)

  /**
   * Marks that the execution has read the records of all tables. A table without a record at that time has only
   * later runs.
   */
  def recordsAreRead(): Unit = haveRecordsBeenRead = true
}

private[scan] object ListingsOfExecution {
  // keyed by the id of the execution, because several queries may use one file index at the same time
  private type ById = ConcurrentHashMap[String, ListingsOfExecution]
  private val running = new WeakIdentityMap[FileIndex, ById]

  /**
   * The listings of the execution for which the thread works. None if this execution has no query that
   * reads the relation. That check is needed: threads that were created during an execution keep its id
   * after its query has ended, and under the id of one batch of a stream, `foreachBatch` may read a table,
   * write to it and read it again.
   *
   * @param delegate Spark's own file index of the relation
   */
  def current(delegate: FileIndex, context: SparkContext): Option[ListingsOfExecution] =
    for {
      id <- executionOf(context)
      query <- queryOf(id)
      listings <- running.get(delegate).flatMap(byId => Option(byId.get(id))).orElse(
        if (reads(query.optimizedPlan, delegate)) Some(of(delegate, id, query)) else None)
    } yield listings

  /** The id of the execution for which the thread works. */
  def executionOf(context: SparkContext): Option[String] =
    Option(context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))

  private def queryOf(execution: String): Option[QueryExecution] =
    Try(execution.toLong).toOption.flatMap(n => Option(SQLExecution.getQueryExecution(n)))

  private def of(
      delegate: FileIndex,
      execution: String,
      query: QueryExecution): ListingsOfExecution = synchronized {
    val byId = running.getOrElseUpdate(delegate)(new ById)
    byId.keySet.removeIf(queryOf(_).isEmpty)
    byId.computeIfAbsent(
      execution,
      _ => new ListingsOfExecution(execution, new WeakReference(query)))
  }

  private def reads(plan: LogicalPlan, delegate: FileIndex): Boolean =
    (plan +: plan.subqueriesAll).exists(_.exists {
      case r: LogicalRelation => r.relation match {
          case fs: HadoopFsRelation => fs.location eq delegate
          case _ => false
        }
      // the first execution that reads a cached data frame runs the scans of the cached plan
      case cached: InMemoryRelation => scans(cached.cacheBuilder.cachedPlan, delegate)
      case _ => false
    })

  private def scans(plan: SparkPlan, delegate: FileIndex): Boolean =
    (plan match {
      case scan: FileSourceScanExec => scan.relation.location match {
          case ours: ZOrderFileIndex => ours.delegate eq delegate
          case _ => false
        }
      case cached: InMemoryTableScanExec =>
        scans(cached.relation.cacheBuilder.cachedPlan, delegate)
      case _ => false
    }) || (RuntimeFilters.inner(plan) ++ plan.subqueries).exists(scans(_, delegate))
}
