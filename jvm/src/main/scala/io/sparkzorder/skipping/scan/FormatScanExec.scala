// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.reflect.ClassTag

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition}
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy, SQLExecution}
import org.apache.spark.sql.execution.datasources.v2.{
  BatchScanExec,
  DataSourceV2ScanRelation,
  DataSourceV2Strategy
}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.sparkzorder.conf.Settings

/**
 * Plans the scans of tables that Spark reads by a data source of version 2 (Iceberg), if the keys of a join or the
 * value of a subquery filter the scan. Spark's own strategy plans everything else.
 */
private[sparkzorder] object FormatScanStrategy extends SparkStrategy with PredicateHelper {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case PhysicalOperation(_, filters, r: DataSourceV2ScanRelation)
        if Settings.ofSession(Settings.Enabled) && filters.exists(isAtRunTime) =>
      FormatTable.of(r) match {
        case Some(table: FormatBatchTable) => planned(plan, filters, r, table)
        case _ => Nil
      }
    case _ => Nil
  }

  private[scan] def isAtRunTime(filter: Expression): Boolean = filter.exists {
    case _: DynamicPruning | _: ScalarSubquery => true
    case _ => false
  }

  private def planned(
      plan: LogicalPlan,
      filters: Seq[Expression],
      r: DataSourceV2ScanRelation,
      table: FormatBatchTable): Seq[SparkPlan] = {
    val conjuncts = filters.flatMap(splitConjunctivePredicates)
    // the join itself tests these filters, so they are dropped from the plan
    val ofJoins = conjuncts.filter(FormatTable.isOfJoin(_, r, table))
    // The filter above the scan has the same subquery. Without reuse, Spark would run the subquery twice.
    val compared =
      if (!SQLConf.get.subqueryReuseEnabled) Nil
      else {
        conjuncts.filter(ScanFilters.isOnColumns(_, r)).filter(ScanFilters.comparesWithSubquery(_))
      }
    // a scan of a storage-partitioned join must keep the partitions of the plan
    val isGrouped = r.keyGroupedPartitioning.isDefined
    val keys =
      if (RuntimeFilters.isOn && !isGrouped && !Accelerators.areHere) ofJoins ++ compared
      else Nil
    if (ofJoins.isEmpty && keys.isEmpty) Nil
    else {
      val strategy = new DataSourceV2Strategy(SparkLine.session(SparkSession.active))
      strategy(ScanFilters.without(plan, ofJoins)).map(_.transformUp {
        case b: BatchScanExec if (b.scan eq r.scan) && keys.nonEmpty =>
          FormatScanExec(b.copy(runtimeFilters = Nil), b.runtimeFilters, keys)(table)
      })
    }
  }
}

/**
 * Spark's scan of a table whose format lists the files, without the files in which no row passes the filters of
 * `keys`.
 *
 * @param inner Spark's own scan, without runtime filters
 * @param ofSpark runtime filters by which Spark and the format prune partitions
 * @param keys filters on data columns whose values come from joins and subqueries
 */
private[sparkzorder] final case class FormatScanExec(
    inner: BatchScanExec,
    ofSpark: Seq[Expression],
    keys: Seq[Expression])(@transient val table: FormatBatchTable)
    extends LeafExecNode {
  import FormatScanExec._

  override protected def otherCopyArgs: Seq[AnyRef] = table :: Nil

  override def output: Seq[Attribute] = inner.output
  override def outputPartitioning: Partitioning = inner.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = inner.outputOrdering
  override def supportsColumnar: Boolean = inner.supportsColumnar

  override def nodeName: String = inner.nodeName

  override def simpleString(maxFields: Int): String = {
    val columns = RuntimeFilters.columns(keys)
    val own = s"${RuntimePruningScan.AtRunTimeKey}: ${columns.mkString("by ", ", ", "")}"
    val spark = if (ofSpark.isEmpty) "" else ofSpark.mkString(", RuntimeFilters: [", ", ", "]")
    s"${inner.simpleString(maxFields)} $own$spark"
  }

  override def verboseStringWithOperatorId(): String = {
    val keysText = keys.map(_.toString).mkString("[", ", ", "]")
    s"${inner.verboseStringWithOperatorId()}\n${RuntimePruningScan.AtRunTimeKey}: $keysText\n"
  }

  @transient private lazy val fileMetrics: Map[String, SQLMetric] = Map(
    RuntimePruningScan.Total -> SQLMetrics.createMetric(
      sparkContext,
      "number of files before skipping"),
    RuntimePruningScan.Kept -> SQLMetrics.createMetric(sparkContext, "number of files kept"),
    KeptBytes -> SQLMetrics.createSizeMetric(sparkContext, "size of files kept"),
    RuntimePruningScan.PrunedAtRunTime ->
      SQLMetrics.createMetric(sparkContext, "number of files pruned by joins and subqueries"))

  // PrunedScan calls `kept` when this copy runs, and the values of `keys` are known then
  @transient private lazy val pruned: BatchScanExec =
    inner.copy(scan = new PrunedScan(inner, kept), runtimeFilters = ofSpark)

  @transient private lazy val unpruned: BatchScanExec = inner.copy(runtimeFilters = ofSpark)

  // the first execution that runs this node
  @transient private lazy val firstExecution: Option[String] =
    ListingsOfExecution.executionOf(sparkContext)

  /**
   * The scan that runs. `pruned` keeps the files of its first run. Keys from a second run of a join's side are
   * valid only in the execution of that run, so a later execution with such keys reads all files.
   */
  private def executed: BatchScanExec =
    if (firstExecution != ListingsOfExecution.executionOf(sparkContext) &&
      RuntimeFilters.areOfSecondRun(keys)) unpruned
    else pruned

  override lazy val metrics: Map[String, SQLMetric] = pruned.metrics ++ fileMetrics

  /** The partitions without the pruned files. Spark has run the subqueries of this node before the node. */
  private def kept(partitions: Array[InputPartition]): Array[InputPartition] =
    PruningFailure.orElse(partitions, IndexPruning.notPrunedAtRunTime(table.name)) {
      val columns = FormatTable.columnsOf(inner.output)
      def rangeOf(column: Expression) = table.known(Seq(IsNotNull(column)), columns).rangeOf(column)
      val filters =
        if (!RuntimeFilters.isOn) Nil
        else RuntimeFilters.usable(
          keys.filter(RuntimeFilters.isRuntime),
          ListingsOfExecution.executionOf(sparkContext))
          .flatMap(RuntimeFilters.resolve(_, rangeOf)).map(_.onFiles)
      if (filters.isEmpty) partitions
      else {
        RuntimeFilters.remember(this, filters)
        val pruned = table.pruned(partitions, filters, columns)
        send(pruned)
        pruned.partitions
      }
    }

  private def send(pruned: PrunedPartitions): Unit = {
    fileMetrics(RuntimePruningScan.Total).set(pruned.total)
    fileMetrics(RuntimePruningScan.Kept).set(pruned.kept)
    fileMetrics(KeptBytes).set(pruned.keptBytes)
    fileMetrics(RuntimePruningScan.PrunedAtRunTime).set(pruned.total - pruned.kept)
    val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, execution, fileMetrics.values.toSeq)
  }

  override protected def doExecute(): RDD[InternalRow] = orOne(executed.execute())

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] =
    orOne(executed.executeColumnar())

  /** If the plan expects a single partition and the RDD has none, returns an RDD with one empty partition. */
  private def orOne[T: ClassTag](rdd: RDD[T]): RDD[T] =
    if (outputPartitioning == SinglePartition && rdd.partitions.isEmpty) {
      sparkContext.parallelize(Seq.empty[T], 1)
    } else rdd

  override protected def doCanonicalize(): SparkPlan = copy(
    inner.canonicalized.asInstanceOf[BatchScanExec],
    canonical(ofSpark),
    canonical(keys))(table)

  private def canonical(filters: Seq[Expression]): Seq[Expression] =
    QueryPlan.normalizePredicates(filters.filterNot(RuntimeFilters.isUnused), inner.output)
}

private[sparkzorder] object FormatScanExec {
  private val KeptBytes = "filesKeptSize"

  /**
   * A format's scan, reduced to the partitions that are kept.
   *
   * @param planned Spark's scan without runtime filters. Its input partitions were planned with the query
   */
  private final class PrunedScan(
      planned: BatchScanExec,
      kept: Array[InputPartition] => Array[InputPartition])
      extends Scan
      with SupportsRuntimeV2Filtering {
    private val inner = planned.scan
    private var isFiltered = false

    override def readSchema(): StructType = inner.readSchema()
    override def description(): String = inner.description()
    override def supportedCustomMetrics(): Array[CustomMetric] = inner.supportedCustomMetrics()
    override def reportDriverMetrics(): Array[CustomTaskMetric] = inner.reportDriverMetrics()
    override def columnarSupportMode(): Scan.ColumnarSupportMode = inner.columnarSupportMode()

    override def toBatch: Batch =
      if (isFiltered) new PrunedBatch(inner.toBatch, _.planInputPartitions(), kept)
      else new PrunedBatch(planned.batch, _ => planned.inputPartitions.toArray, kept)

    override def filterAttributes(): Array[NamedReference] = inner match {
      case f: SupportsRuntimeV2Filtering => f.filterAttributes()
      case _ => Array.empty
    }

    override def filter(predicates: Array[Predicate]): Unit = inner match {
      case f: SupportsRuntimeV2Filtering =>
        f.filter(predicates)
        isFiltered = true
      case _ =>
    }
  }

  private final class PrunedBatch(
      inner: Batch,
      partitions: Batch => Array[InputPartition],
      kept: Array[InputPartition] => Array[InputPartition])
      extends Batch {
    private lazy val chosen = kept(partitions(inner))
    override def planInputPartitions(): Array[InputPartition] = chosen
    override def createReaderFactory(): PartitionReaderFactory = inner.createReaderFactory()
  }
}
