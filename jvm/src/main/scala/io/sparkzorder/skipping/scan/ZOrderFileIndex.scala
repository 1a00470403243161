// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression}
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.RelationConf
import io.sparkzorder.skipping.predicate.FilePruner

/**
 * The files of a relation as readers with the extension see them: Spark's own listing with
 * committed runs of OPTIMIZE laid over it, without the files in which no row can match. Everything
 * else comes from Spark's own index of the relation.
 *
 * @param delegate Spark's own index of the relation
 * @param roots finds the tables whose files the relation reads
 * @param pruning makes a pruner of files from data filters; None if every file must be read. A pruner must not
 *   prune a file that the index does not know
 * @param keys of joins, by which the scan or the listing prunes when the query runs
 * @param atListing filters whose values the listing itself computes when the query runs; only in a session
 *   with an accelerator
 * @param execution the execution of a query for which this copy of an index was made; None for an original
 * @param showsNames true if the query sees the names of the files ([[ShownNames]])
 */
private[sparkzorder] final class ZOrderFileIndex private[sparkzorder] (
    val delegate: FileIndex,
    relation: HadoopFsRelation,
    private[sparkzorder] val roots: TableRoots,
    settings: RelationConf,
    pruning: Seq[Expression] => Option[FilePruner] = _ => None,
    private val keys: Seq[KeysOfJoin] = Nil,
    private[sparkzorder] val atListing: Option[FiltersAtListing] = None,
    private val execution: Option[String] = None,
    private val showsNames: Boolean = false)
    extends DelegatingFileIndex {

  private lazy val session = settings.session

  private[scan] def indexPruning: Option[IndexPruning] = pruning match {
    case p: IndexPruning => Some(p)
    case _ => None
  }

  /** The pruning of a table whose format lists the files. */
  private[sparkzorder] def format: Option[FormatPruning] = pruning match {
    case p: FormatPruning => Some(p)
    case _ => None
  }

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    pruned(partitionFilters, dataFilters).directories

  /**
   * The listing for the filters of a scan. One execution of a query makes the listing once, although Spark
   * asks twice: for the metrics when the execution begins, and again when the scan runs.
   *
   * Of a table with sorted buckets, Spark may ask for the listing already during planning, and leave out a sort if
   * each bucket has a single file. The plan then depends on these files. So the plan keeps the listing for all its
   * executions (see `isKept`).
   */
  private[sparkzorder] def pruned(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): PrunedListing = {
    val wanted = ListingFilters(evaluable(partitionFilters), evaluable(dataFilters))
    // adaptive execution may plan the query again, and the new file index must use the same listings
    val shared = ListingsOfExecution.current(delegate, session.sparkContext)
    val now = shared.map(_.execution)
    last.filter(a => a._1 == wanted && (isKept || (now.isDefined && a._2 == now))).map(_._3)
      .getOrElse {
        val key =
          (wanted, relation.options, relation.dataSchema, atListing.map(_.identity), showsNames)
        val made = shared.flatMap(_.get(key)).getOrElse {
          val own = listed(wanted, shared)
          shared.fold(own)(_.kept(key, own))
        }
        last = Some((wanted, now, made))
        made
      }
  }

  private def listed(wanted: ListingFilters, shared: Option[ListingsOfExecution]): PrunedListing = {
    // a listing that the plan keeps for later executions does not belong to one execution
    val execution = if (isKept) None else shared
    val files = overlay.listing(wanted.partitionFilters, wanted.dataFilters, execution)
    val planned = PrunedListing.of(files, pruning(wanted.dataFilters))
    (atListing, shared.flatMap(s => s.ofQuery.map(_ -> s.execution))) match {
      case (Some(later), Some((query, id))) =>
        // the keys of joins belong to one run of the plan, so a listing that the plan keeps must not use
        // them
        val known =
          if (isKept || !RuntimeFilters.isOn) Nil else later.resolved(query, id, rangeOf)
        val listing =
          if (known.isEmpty) planned else PrunedListing.again(planned, pruning(known))
        record(later, Seq(wanted.dataFilters) ++ Some(known).filter(_.nonEmpty), planned, listing)
        listing
      case _ => planned
    }
  }

  /** Records what was skipped. Elsewhere our scan node does so, but an accelerator replaces the scan node. */
  private def record(
      later: FiltersAtListing,
      filters: Seq[Seq[Expression]],
      planned: PrunedListing,
      listing: PrunedListing): Unit = {
    listing.metrics.foreach(reportWithoutEntry)
    def bytes = planned.directories.flatMap(_.files).map(_.getLen).sum
    ScanRecorder.record(this, later.read, bytes, filters, listing.metrics.map(_.total))
  }

  /** Reports files without an entry in the index. A table whose format lists the files has no index. */
  private[scan] def reportWithoutEntry(metrics: SkippingMetrics): Unit =
    if (format.isEmpty) {
      IndexPruning.reportWithoutEntry(
        delegate.rootPaths.headOption.fold("")(_.toString),
        metrics)
    }

  private[scan] def dataSchema: StructType = relation.dataSchema

  /** True if the newest listing was made for this execution. */
  private[scan] def hasListedFor(execution: String): Boolean =
    last.exists(_._2.contains(execution))

  /** A copy of this index for the current execution, if the newest listing belongs to another execution. */
  private[scan] def ofExecution: Option[ZOrderFileIndex] =
    for {
      (_, before, _) <- last
      now <- ListingsOfExecution.current(delegate, session.sparkContext)
      if !before.contains(now.execution)
    } yield new ZOrderFileIndex(
      delegate,
      relation,
      roots,
      settings,
      pruning,
      keys,
      atListing,
      Some(now.execution),
      showsNames)

  /**
   * The listing for the filters of a scan, pruned once more by filters whose values are known only when
   * the query runs.
   */
  private[sparkzorder] def prunedAtRunTime(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression],
      resolved: Seq[Expression]): PrunedListing =
    PrunedListing.again(pruned(partitionFilters, dataFilters), pruning(resolved))

  /** The least and the greatest value of a column over all files that the skipping index knows. */
  private[scan] def rangeOf(column: Expression): Option[(Long, Long)] =
    indexPruning.flatMap(_.rangeOf(column))

  /** Every file that is listed for some filters, including files in which no row can match. */
  private[sparkzorder] def unpruned(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    overlay.listing(evaluable(partitionFilters), evaluable(dataFilters)).directories

  /** The metrics of the listing that was made for some filters, if one was. */
  private[sparkzorder] def knownMetrics(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Option[SkippingMetrics] =
    last.filter(_._1 == ListingFilters(evaluable(partitionFilters), evaluable(dataFilters)))
      .flatMap(_._3.metrics)

  /**
   * The metrics for some filters, for EXPLAIN. If Spark has its listing in memory, the listing is pruned now.
   * Otherwise only a listing that was made already counts, because Spark itself lists no files for EXPLAIN.
   */
  private[sparkzorder] def metrics(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Option[SkippingMetrics] =
    if (evaluable(dataFilters).isEmpty) None
    else if (delegate.isInstanceOf[InMemoryFileIndex]) pruned(partitionFilters, dataFilters).metrics
    else knownMetrics(partitionFilters, dataFilters)

  // the filters, the execution in which the listing was made, and the listing
  @volatile private var last: Option[(ListingFilters, Option[String], PrunedListing)] = None

  /** Filters with a subquery have no value while files are listed. */
  private def evaluable(filters: Seq[Expression]): Seq[Expression] =
    filters.filterNot(f => ZOrderFileIndex.holdsSubquery(f) || RuntimeFilters.isUnused(f))

  /** True if Spark asks for the listing already during planning, so that the plan must keep the listing. */
  private def isKept: Boolean = relation.bucketSpec.exists(_.sortColumnNames.nonEmpty) && {
    val conf = session.sessionState.conf
    conf.bucketingEnabled && conf.getConf(SQLConf.LEGACY_BUCKETED_TABLE_SCAN_OUTPUT_ORDERING)
  }

  private lazy val overlay = new CommittedOverlay(delegate, relation, roots, settings, showsNames)

  // equal for two scans of one relation by the same keys, so that Spark reuses the exchange
  override def equals(other: Any): Boolean = other match {
    case that: ZOrderFileIndex =>
      delegate == that.delegate && keys == that.keys && execution == that.execution &&
      showsNames == that.showsNames
    case _ => false
  }
  override def hashCode(): Int = delegate.hashCode()
}

/** The filters of a scan. */
private final case class ListingFilters(
    partitionFilters: Seq[Expression],
    dataFilters: Seq[Expression])

private[sparkzorder] object ZOrderFileIndex {

  /** True when a filter needs the result of a subquery, as in dynamic partition pruning. */
  def holdsSubquery(filter: Expression): Boolean = filter.exists(_.isInstanceOf[PlanExpression[_]])
}

/** A file index with a listing of its own. Everything else comes from the index `delegate`. */
private[scan] trait DelegatingFileIndex extends FileIndex {
  def delegate: FileIndex

  override def rootPaths: Seq[Path] = delegate.rootPaths
  override def partitionSchema: StructType = delegate.partitionSchema
  override def inputFiles: Array[String] = delegate.inputFiles
  override def sizeInBytes: Long = delegate.sizeInBytes
  override def metadataOpsTimeNs: Option[Long] = delegate.metadataOpsTimeNs
  override def refresh(): Unit = delegate.refresh()
  override def toString: String = delegate.toString
}
