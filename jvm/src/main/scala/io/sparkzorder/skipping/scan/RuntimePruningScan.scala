// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.reflect.ClassTag
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.{FileSourceScanExec, SQLExecution}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, PartitionDirectory}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.SerializableConfiguration

import io.sparkzorder.conf.RelationConf
import io.sparkzorder.skipping.predicate.FilterOnFiles
import io.sparkzorder.table.DataFormat
import io.sparkzorder.workload.{ExcludedColumns, NotedFilters, RecordSettings, WorkloadCapture}

/**
 * Spark's scan of files, with two additions: it also prunes by filters that get their values at run time, and it
 * shows the metrics of skipping in EXPLAIN and in the UI. The scan reads files as Spark's scan does.
 *
 * This scan never equals Spark's own scan, so Spark reuses neither in place of the other. Two scans of this
 * class with equal indexes and filters are equal, so Spark runs them only once.
 */
private[sparkzorder] trait RuntimePruningScan extends FileSourceScanExec {
  import RuntimePruningScan._

  /** A scan of this class with the arguments of `scan`, which is Spark's own scan. */
  protected def withMetrics(scan: FileSourceScanExec): FileSourceScanExec

  /** The values of the partitions that remain after the dynamic partition filters. */
  protected def selectedValues: Iterator[InternalRow]

  /** A scan with other files and data filters, which is run in place of this scan. */
  protected def resolvedScan(files: HadoopFsRelation, filters: Seq[Expression]): ResolvedScan

  private def index: Option[ZOrderFileIndex] = relation.location match {
    case ours: ZOrderFileIndex => Some(ours)
    case _ => None
  }

  // Spark's own scan with the same arguments. It supplies the metadata, because the override of a lazy val
  // cannot call super.
  @transient private lazy val plain: FileSourceScanExec =
    (FileSourceScanExec.apply _).tupled(FileSourceScanExec.unapply(this).get)

  override lazy val metadata: Map[String, String] = {
    val skipping =
      try index.flatMap(_.metrics(partitionFilters, dataFilters))
      // EXPLAIN ignores an error of the listing; the scan reports the error when it runs
      catch { case NonFatal(_) => None }
    val later = RuntimeFilters.columns(dataFilters)
    plain.metadata ++ skipping.map(m => Key -> m.toString) ++
      (if (later.isEmpty) None else Some(AtRunTimeKey -> later.mkString("by ", ", ", "")))
  }

  // transient, so that tasks do not get these metrics: each task would report 0, and the UI would show it
  @transient private lazy val fileMetrics: Map[String, SQLMetric] =
    (Seq(
      Total -> "number of files before skipping",
      Kept -> "number of files kept by the index",
      Pruned -> "number of files pruned by the index",
      PrunedAtRunTime -> "number of files pruned by joins and subqueries",
      NoEntry -> "number of files without an index entry") ++
      // a metric for each name does no harm, because the UI shows only metrics that have been set
      FilterOnFiles.namesOf(dataFilters.filterNot(RuntimeFilters.isUnused)).take(MaxNames)
        .map(name => prunedBy(name) -> s"number of files pruned by $name"))
      .map { case (key, name) => key -> SQLMetrics.createMetric(sparkContext, name) }.toMap

  override def metrics: Map[String, SQLMetric] = super.metrics ++ fileMetrics

  override protected def sendDriverMetrics(): Unit = {
    super.sendDriverMetrics()
    index.foreach { files =>
      val known = files.knownMetrics(partitionFilters, dataFilters)
      known.foreach(sendSkipping(_, selectedValues))
      val planned = dataFilters.filterNot(ZOrderFileIndex.holdsSubquery)
      ScanRecorder.record(this, files, Seq(planned), known.map(_.total))
    }
  }

  /**
   * @param all the metrics of all partitions
   * @param chosen the values of the partitions that remain after the dynamic partition filters
   */
  private[scan] def sendSkipping(all: SkippingMetrics, chosen: => Iterator[InternalRow]): Unit = {
    val hasChosen = partitionFilters.exists(ZOrderFileIndex.holdsSubquery)
    val selected = if (hasChosen) all.of(chosen) else all
    send(selected)
    index.foreach(_.reportWithoutEntry(selected))
  }

  private def send(skipping: SkippingMetrics): Unit = {
    val values = Seq(
      Total -> skipping.total,
      Kept -> skipping.kept,
      Pruned -> skipping.pruned,
      NoEntry -> skipping.noEntry) ++
      skipping.prunedAtRunTime.map(PrunedAtRunTime -> _) ++
      skipping.prunedBy.filter(_._2 > 0).map { case (name, n) => prunedBy(name) -> n }
    val known = values.flatMap { case (key, n) => fileMetrics.get(key).map(_ -> n) }
    known.foreach { case (metric, n) => metric.set(n) }
    val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, execution, known.map(_._1))
  }

  // the execution that last ran this node, and the scan that it ran
  @transient private var lastResolved: Option[(Option[String], Option[ResolvedScan])] = None

  /**
   * The scan with the values of the subqueries, which Spark runs before it runs this node. A plan may be executed
   * several times. For the keys of a filter, Spark may run a side of a join once more. Such keys are usable only in the
   * execution in which that run took place. So with such a filter, the scan is resolved again for each execution.
   */
  private def resolved: Option[ResolvedScan] = synchronized {
    val now = ListingsOfExecution.executionOf(sparkContext)
    val known = lastResolved.filter { case (before, _) =>
      before == now || !RuntimeFilters.areOfSecondRun(dataFilters)
    }
    val scan = known.fold(resolvedIn(now))(_._2)
    lastResolved = Some(now -> scan)
    scan
  }

  private def resolvedIn(execution: Option[String]): Option[ResolvedScan] =
    index.filter(_ => dataFilters.exists(RuntimeFilters.isRuntime) && RuntimeFilters.isOn).flatMap {
      ours =>
        PruningFailure.orElse(
          Option.empty[ResolvedScan],
          IndexPruning.notPrunedAtRunTime(relation.location.toString)) {
          val (atRunTime, planned) = dataFilters.partition(RuntimeFilters.isRuntime)
          val filters = RuntimeFilters.usable(atRunTime, execution)
            .flatMap(RuntimeFilters.resolve(_, ours.rangeOf))
          if (filters.isEmpty) None
          else {
            RuntimeFilters.remember(this, filters.map(_.onFiles))
            val files = new RuntimeFileIndex(ours, planned, filters.map(_.onFiles))
            val onRows = DataFormat.readBy(relation.fileFormat).toSeq.flatMap(format =>
              filters.flatMap(_.onRows).filter(new ReaderFilters(format).isSafe))
            Some(resolvedScan(
              relation.copy(location = files)(relation.sparkSession),
              planned ++ onRows))
          }
        }
    }

  override protected def doExecute(): RDD[InternalRow] =
    checked(resolved.fold(super.doExecute())(_.rows))

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] =
    checked(resolved.fold(super.doExecuteColumnar())(_.batches))

  /**
   * The rows. If the scan ignores missing files, a task fails when a later run of OPTIMIZE has replaced a file of the
   * scan. See [[CheckedFiles]].
   */
  private def checked[T: ClassTag](rows: RDD[T]): RDD[T] = {
    val settings = new RelationConf(relation)
    if (index.isEmpty || !settings.ignoresMissingFiles) rows
    else new CheckedFiles(
      rows,
      sparkContext.broadcast(new SerializableConfiguration(settings.hadoop)))
  }

  /**
   * Leaves out the filters by keys of joins, so that scans with different such filters can be equal. When
   * adaptive execution makes a stage, such a filter gets the keys of a broadcast, and Spark drops the filter if
   * there is no broadcast at that moment. So two equal parts of a query may end with different filters. Their
   * scans still count as equal if their file indexes have the same [[KeysOfJoin]]. A row that only one of the scans
   * returns does not match any key, so the join drops this row in either part.
   */
  override def doCanonicalize(): FileSourceScanExec = {
    val planned = dataFilters.filterNot(RuntimeFilters.isOfJoin)
    if (planned.size == dataFilters.size) withMetrics(super.doCanonicalize())
    else copy(dataFilters = planned).canonicalized.asInstanceOf[FileSourceScanExec]
  }

  override def canEqual(other: Any): Boolean = other.isInstanceOf[RuntimePruningScan]
  override def equals(other: Any): Boolean = other match {
    case that: RuntimePruningScan => super.equals(that)
    case _ => false
  }
  override def hashCode(): Int = 31 * super.hashCode() + 1
}

private[sparkzorder] object RuntimePruningScan {

  /** The name of the entry in EXPLAIN. */
  val Key = "ZOrderFiles"

  /** The name of the entry for filters that get their values when the query runs. */
  val AtRunTimeKey = "ZOrderFilesAtRunTime"

  // names of the metrics
  val Total = "zorderFilesTotal"
  val Kept = "zorderFilesKept"
  val Pruned = "zorderFilesPruned"
  val PrunedAtRunTime = "zorderFilesPrunedAtRunTime"
  val NoEntry = "zorderFilesNoEntry"
  def prunedBy(name: String): String = s"$Pruned by $name"

  private val MaxNames = 16
}

/**
 * The scan that runs in place of a [[RuntimePruningScan]] once the values of its joins and subqueries are
 * known: the same scan, with these values in its filters. No plan shows this node, so it updates the metrics of
 * the node in the plan.
 */
private[sparkzorder] trait ResolvedScan extends FileSourceScanExec {

  /** The scan in the plan. */
  protected def shown: RuntimePruningScan

  override lazy val driverMetrics: Map[String, SQLMetric] = shown.driverMetrics
  override def metrics: Map[String, SQLMetric] = shown.metrics

  override protected def sendDriverMetrics(): Unit = {
    super.sendDriverMetrics()
    relation.location match {
      case files: RuntimeFileIndex =>
        files.lastMetrics.foreach(shown.sendSkipping(_, selectedValues))
        ScanRecorder.record(this, files.delegate, files.filters, files.lastMetrics.map(_.total))
      case _ =>
    }
  }

  /** The values of the partitions that remain after the dynamic partition filters. */
  protected def selectedValues: Iterator[InternalRow]

  private[scan] def rows: RDD[InternalRow] = doExecute()
  private[scan] def batches: RDD[ColumnarBatch] = doExecuteColumnar()
}

/**
 * The files of a scan, pruned first by the filters whose values are known during planning, and then by the filters
 * that got their values at run time.
 */
private[scan] final class RuntimeFileIndex(
    override val delegate: ZOrderFileIndex,
    planned: Seq[Expression],
    resolved: Seq[Expression])
    extends DelegatingFileIndex {

  @volatile private var last: Option[SkippingMetrics] = None

  /** The two groups of filters that prune the files. */
  def filters: Seq[Seq[Expression]] =
    Seq(planned.filterNot(ZOrderFileIndex.holdsSubquery), resolved)

  /** The metrics of the latest listing. */
  def lastMetrics: Option[SkippingMetrics] = last

  /** @param dataFilters not used, because they are for the reader; this index prunes by its own filters */
  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] = {
    val listing = delegate.prunedAtRunTime(partitionFilters, planned, resolved)
    last = listing.metrics
    listing.directories
  }
}

/** Adds a scan that is about to run to the recorded workload, if the table's queries are recorded. */
private[skipping] object ScanRecorder extends Logging {

  /**
   * @param index the files of the scan
   * @param filters groups of data filters. When the files were chosen, each group was compiled as a whole for
   *   the index
   * @param listed the number of files before skipping, if it is known
   */
  private[scan] def record(
      scan: FileSourceScanExec,
      index: ZOrderFileIndex,
      filters: Seq[Seq[Expression]],
      listed: Option[Long]): Unit = record(
    index,
    scan.requiredSchema,
    scan.metrics.get(FilesSize).fold(0L)(_.value),
    filters,
    listed)

  /**
   * @param read the columns that the scan reads
   * @param bytes of the files before skipping
   */
  private[scan] def record(
      index: ZOrderFileIndex,
      read: StructType,
      bytes: => Long,
      filters: Seq[Seq[Expression]],
      listed: Option[Long]): Unit =
    try {
      index.indexPruning.filter(p => RecordSettings.isOn(p.properties)).foreach { pruning =>
        val share = RecordSettings.columnsShare(read, index.dataSchema)
        val excluded = ExcludedColumns.of(pruning.properties)
        if (filters.forall(_.isEmpty)) {
          // the index is not needed for a scan without filters, so it is not loaded
          pruning.tableRoot.foreach { root =>
            WorkloadCapture.noteUnfiltered(
              root,
              pruning.hadoop,
              excluded,
              pruning.rulesOfPath(root),
              bytes * share)
          }
        } else {
          pruning.compiledFor(filters).foreach { case (root, compiled) =>
            WorkloadCapture.note(
              root,
              pruning.hadoop,
              NotedFilters.of(compiled),
              excluded,
              pruning.rulesOfPath(root),
              listed,
              share)
          }
        }
      }
    } catch { case PruningFailure(e) => logDebug("a scan was not noted", e) }

  // Spark's metric of the bytes of the files that are left by the filters on partitions
  private val FilesSize = "filesSize"
}
