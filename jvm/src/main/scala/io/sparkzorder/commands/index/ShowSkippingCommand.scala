// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  PredicateHelper,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{Command, Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.{CommandExecutionMode, FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.execution.datasources.v2.{
  BatchScanExec,
  DataSourceV2ScanRelation,
  FileScan
}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types._

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.skipping.predicate.{ConjunctUse, FilterOnBounds, FilterOnFiles, TableColumns}
import io.sparkzorder.skipping.scan._

/** Wraps a query, so that the analyzer does not look inside. The query is planned when the statement runs. */
private[sparkzorder] final case class SkippingQuery(plan: LogicalPlan, text: String) {
  override def toString: String = text
}

/**
 * SHOW SKIPPING FOR query: for each scan of files that the query would make, how many files are
 * read, and how many files each conjunct of its filters prunes. The query is planned, not run.
 */
private[sparkzorder] final case class ShowSkippingCommand(query: SkippingQuery)
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] =
    DataTypeUtils.toAttributes(ShowSkippingCommand.schema)

  override def simpleString(maxFields: Int): String = s"ShowSkipping ${query.text}"

  override def run(session: SparkSession): Seq[Row] = {
    val state = SparkLine.session(session).sessionState
    query.plan.find(ShowSkippingCommand.isRunByAnalyzer).foreach { _ =>
      throw ZOrderErrors.notAQuery(query.text)
    }
    // SKIP: a statement that changes something must not run
    val execution = state.executePlan(query.plan, CommandExecutionMode.SKIP)
    execution.analyzed.find(_.isInstanceOf[Command]).foreach { _ =>
      throw ZOrderErrors.notAQuery(query.text)
    }
    // `sparkPlan` is the plan before adaptive execution wraps it. Scans of subqueries are planned later, and are not
    // shown.
    new ShowSkippingCommand.Scans(execution.optimizedPlan).of(execution.sparkPlan).zipWithIndex
      .flatMap { case (rows, i) => rows(i + 1) }
  }
}

private[sparkzorder] object ShowSkippingCommand {
  val schema: StructType = new StructType()
    .add("scan", IntegerType, nullable = false)
    .add("table", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("filesKept", LongType, nullable = false)
    .add("predicate", StringType)
    .add("columns", ArrayType(StringType, containsNull = false), nullable = false)
    .add("used", BooleanType, nullable = false)
    .add("filesDropped", LongType)
    .add("reason", StringType)

  /**
   * True for a script, and for EXECUTE IMMEDIATE: the analyzer itself runs what is in them. The class of EXECUTE
   * IMMEDIATE has another name in each line of Spark.
   */
  private def isRunByAnalyzer(plan: LogicalPlan): Boolean =
    plan.isInstanceOf[Command] || plan.getClass.getName.contains("ExecuteImmediate")

  private[index] def count(directories: Seq[PartitionDirectory]): Long =
    directories.map(_.files.size.toLong).sum

  /** The number of files that a file index lists for a scan. */
  private[index] def listed(
      location: FileIndex,
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Long = {
    // a subquery that prunes partitions has no value before the query runs
    def known(filters: Seq[Expression]) = filters.filterNot(ZOrderFileIndex.holdsSubquery)
    count(location.listFiles(known(partitionFilters), known(dataFilters)))
  }

  private[index] val NoFilter = "no filter on data columns"

  /** A function from the number of a scan to the rows of the scan. */
  private type Report = Int => Seq[Row]

  /** @param optimized the plan from which Spark has planned the scans */
  private final class Scans(optimized: LogicalPlan) {

    def of(plan: SparkPlan): Seq[Report] = plan.collect {
      case s: FormatScanExec =>
        val filters = tableOf { case r: DataSourceV2ScanRelation => r.scan eq s.inner.scan }
        Some(new FormatReport(s, filters.toSeq.flatMap(_._2)).rows _)
      case s: FileSourceScanExec =>
        FormatReport.of(s).orElse(ofFormat(s)).map(_.rows _).orElse(Some(
          reportOf(ReportedScan.of(s))))
      case s: BatchScanExec => s.scan match {
          case files: FileScan => Some(reportOf(ReportedScan.of(files)))
          case _ => ofFormat(s).map(_.rows _)
        }
    }.flatten

    private def reportOf(scan: ReportedScan): Report = number => new ScanReport(number, scan).rows

    private def ofFormat(s: FileSourceScanExec): Option[FormatReport] =
      // Delta may plan a copy of the relation, with another location or with a column for deleted rows
      optimized.collectLeaves().flatMap(leaf => FormatTable.of(leaf).map(leaf -> _)).collectFirst {
        case (leaf, table: FormatFileTable) if table.isOf(s.relation.location) =>
          val files = listed(s.relation.location, s.partitionFilters, s.dataFilters)
          val filters = s.dataFilters.filter(_.references.subsetOf(leaf.outputSet))
          new FormatReport(table, leaf.output, files, filters)
      }

    private def ofFormat(s: BatchScanExec): Option[FormatReport] =
      tableOf { case r: DataSourceV2ScanRelation => r.scan eq s.scan }.collect {
        case (table: FormatBatchTable, filters) =>
          val files = table.files(s.inputPartitions.toArray)
          new FormatReport(table, s.output, files, filters)
      }

    /** The table of a leaf, with the conditions of the filter above the leaf. */
    private def tableOf(
        isOfScan: PartialFunction[LogicalPlan, Boolean]): Option[(FormatTable, Seq[Expression])] = {
      def isLeaf(plan: LogicalPlan) = isOfScan.applyOrElse(plan, (_: LogicalPlan) => false)
      optimized.find(isLeaf).flatMap { leaf =>
        val filters =
          optimized.collect { case Filter(condition, child) if child eq leaf => condition }
        FormatTable.of(leaf).map(_ -> filters)
      }
    }
  }
}

/**
 * A scan of files by Spark's V1 or V2 reader.
 *
 * @param ours the file index that spark-zorder gave to the scan, and its pruning; None if the scan has another
 *   file index
 */
private final case class ReportedScan(
    table: String,
    location: FileIndex,
    ours: Option[(ZOrderFileIndex, IndexPruning)],
    partitionFilters: Seq[Expression],
    dataFilters: Seq[Expression],
    format: String)

private object ReportedScan {
  private def pathsOf(location: FileIndex): String = location.rootPaths.mkString(", ")

  def of(scan: FileSourceScanExec): ReportedScan = {
    val location = scan.relation.location
    ReportedScan(
      scan.tableIdentifier.map(_.quotedString).getOrElse(pathsOf(location)),
      location,
      location match {
        case ours: ZOrderFileIndex =>
          Some((ours, new IndexPruning(scan.relation, scan.output, ours.roots)))
        case _ => None
      },
      scan.partitionFilters,
      scan.dataFilters,
      scan.relation.fileFormat.toString)
  }

  def of(scan: FileScan): ReportedScan = ReportedScan(
    pathsOf(scan.fileIndex),
    scan.fileIndex,
    scan.fileIndex match {
      case files: OverlaidV2Files => Some((files.ours, files.pruning))
      case _ => None
    },
    scan.partitionFilters,
    scan.dataFilters,
    scan.getClass.getSimpleName)
}

/**
 * The rows of one scan: one row for each conjunct, also for a conjunct whose values are known only when the query
 * runs. If there is no conjunct, one row says why.
 */
private final class ScanReport(number: Int, scan: ReportedScan) {
  import ShowSkippingCommand.{count, listed, NoFilter}

  def rows: Seq[Row] = scan.ours match {
    case Some((ours, pruning)) =>
      val listed = ours.unpruned(scan.partitionFilters, scan.dataFilters)
      val (ofPlan, planned) = scan.dataFilters.partition(RuntimeFilters.isRuntime)
      val atRunTime = ofPlan ++ ours.atListing.toSeq.flatMap(_.filters)
      val uses = pruning.ask(planned)
      val files = count(listed)
      val kept = count(PrunedListing.of(listed, pruning.prunerOf(uses)).directories)
      val conjuncts = uses.flatMap { u =>
        u.filter.toSeq.flatMap { f =>
          val dropped = f.dropped.toMap
          f.conjuncts.map { c =>
            val reason = c.reason.orElse(f.adviceOn(c)).orElse(f.noteOfValues(c))
              .orElse(if (dropped.get(c).contains(0)) f.reasonOfNone(c) else None)
            row(files, kept, c.copy(reason = reason), dropped.get(c).map(_.toLong))
          }
        }
      }
      val later = atRunTime.map(atRunTimeRow(files, kept, _, pruning)).distinct
      if (conjuncts.nonEmpty || later.nonEmpty) conjuncts ++ later
      else {
        val reason = uses.flatMap(_.reason).headOption.getOrElse(
          if (scan.dataFilters.isEmpty) NoFilter else "skipping is off")
        Seq(Row(number, scan.table, files, kept, null, Nil, false, null, reason))
      }
    case None =>
      val files = listed(scan.location, scan.partitionFilters, scan.dataFilters)
      val reason = s"not a scan of plain Parquet or ORC files: ${scan.format}"
      Seq(Row(number, scan.table, files, files, null, Nil, false, null, reason))
  }

  /** The row of a filter whose values are known only when the query runs. It cannot tell how many files go. */
  private def atRunTimeRow(
      files: Long,
      kept: Long,
      filter: Expression,
      pruning: IndexPruning): Row = {
    val (text, probe) = RuntimeFilters.probe(filter)
    val answers = pruning.ask(Seq(probe)).flatMap(_.filter)
    val isUsed = RuntimeFilters.isOn && answers.exists(_.isUseful)
    val reason =
      if (isUsed) "its values are known when the query runs"
      else {
        answers.flatMap(_.conjuncts).flatMap(_.reason).headOption.getOrElse(
          "there is no index, or skipping is off")
      }
    row(
      files,
      kept,
      ConjunctUse(text, RuntimeFilters.columnsOf(filter), isUsed, Some(reason)),
      None)
  }

  private def row(files: Long, kept: Long, c: ConjunctUse, dropped: Option[Long]): Row =
    Row(
      number,
      scan.table,
      files,
      kept,
      c.predicate,
      c.columns,
      c.used,
      dropped.map(Long.box).orNull,
      c.reason.orNull)
}

/**
 * The rows of SHOW SKIPPING of one scan of a Delta or Iceberg table.
 *
 * @param listed the number of files that are left after the format itself has skipped files
 * @param planned filters by which spark-zorder may prune these files while the query is planned
 * @param keys filters whose values are known only when the query runs
 * @param dropped a function from filters to the number of listed files that these filters prune together
 * @param formats filters by which the format itself may skip files
 */
private[index] final class FormatReport private (
    table: FormatTable,
    columns: TableColumns,
    listed: Long,
    planned: Seq[Expression],
    keys: Seq[Expression],
    dropped: Seq[Expression] => Long,
    formats: Seq[Expression])
    extends PredicateHelper {

  /** @param formats filters by which only the format may skip files */
  def this(scan: FormatScanExec, formats: Seq[Expression]) =
    this(
      scan.table,
      FormatTable.columnsOf(scan.output),
      scan.table.files(scan.inner.inputPartitions.toArray),
      Nil,
      scan.keys,
      _ => 0L,
      formats)

  /** @param formats filters by which only the format may skip files */
  def this(table: FormatTable, output: Seq[Attribute], listed: Long, formats: Seq[Expression]) =
    this(table, FormatTable.columnsOf(output), listed, Nil, Nil, _ => 0L, formats)

  def rows(number: Int): Seq[Row] = {
    val kept = listed - dropped(planned)
    val ofFormat = formats.flatMap(splitConjunctivePredicates)
      .filterNot(c => SubqueryExpression.hasSubquery(c) || RuntimeFilters.isRuntime(c))
      .map(rowOfFormat(number, kept, _))
    val known = planned.flatMap(splitConjunctivePredicates).map { c =>
      val use = useOf(c)
      val files = if (use.isUseful) Long.box(dropped(Seq(c))) else null
      row(number, kept, use, c, null, files)
    }
    val later = keys.map { key =>
      val (text, probe) = RuntimeFilters.probe(key)
      val reason = if (RuntimeFilters.isOn) FormatReport.AtRunTime else "skipping is off"
      row(number, kept, useOf(probe), key, text, null, Some(reason))
    }
    val all = ofFormat ++ known ++ later.distinct
    if (all.nonEmpty) all
    else Seq(row(number, kept, null, Nil, isUsed = false, null, ShowSkippingCommand.NoFilter))
  }

  private def useOf(filter: Expression): FilterOnBounds = table.known(Seq(filter), columns)

  /** The row of a filter by which spark-zorder skips nothing, because the format has tested it. */
  private def rowOfFormat(number: Int, kept: Long, filter: Expression): Row = {
    val isKnown = DerivedRanges.isKnownToFormats(filter)
    // the bounds that the format has not needed for the query may be missing, or may not be readable
    val dropped = PruningFailure.orElse[java.lang.Long](null, "SHOW SKIPPING counts no files") {
      val use = useOf(filter)
      if (isKnown && use.isUseful) Long.box(use.dropped.toLong) else null
    }
    val reason = if (isKnown) FormatReport.ByFormat else FormatReport.ByNobody
    val columns = RuntimeFilters.columnsOf(filter)
    row(number, kept, FilterOnFiles.textOf(filter), columns, isKnown, dropped, reason)
  }

  /**
   * @param text the filter as the row shows it; null for a filter whose values are known when the query is planned
   * @param files the number of files that the filter prunes alone; null if that is not known
   */
  private def row(
      number: Int,
      kept: Long,
      use: FilterOnBounds,
      filter: Expression,
      text: String,
      files: java.lang.Long,
      reason: Option[String] = None): Row = {
    val conjunct = use.tested.head._1
    row(
      number,
      kept,
      Option(text).getOrElse(conjunct.predicate),
      RuntimeFilters.columnsOf(filter),
      use.isUseful && (text == null || RuntimeFilters.isOn),
      files,
      use.tested.flatMap(_._1.reason).headOption.orElse(reason).orNull)
  }

  private def row(
      number: Int,
      kept: Long,
      predicate: String,
      columns: Seq[String],
      isUsed: Boolean,
      dropped: java.lang.Long,
      reason: String): Row =
    Row(number, table.name, listed, kept, predicate, columns, isUsed, dropped, reason)
}

private[index] object FormatReport {
  import ShowSkippingCommand.count
  private val AtRunTime = "its values are known when the query runs"
  private val ByFormat = "the format of the table tests it, before `files` are counted"
  private val ByNobody = "neither spark-zorder nor the format of the table tests it"

  /** None if the scan is not of a Delta or Iceberg table, or if only the format skips files in it. */
  def of(scan: FileSourceScanExec): Option[FormatReport] = scan.relation.location match {
    case ours: ZOrderFileIndex => ours.format.map { format =>
        val (keys, planned) = scan.dataFilters.partition(RuntimeFilters.isRuntime)
        val files = ours.unpruned(scan.partitionFilters, scan.dataFilters)
        def dropped(filters: Seq[Expression]): Long =
          count(files) - count(PrunedListing.of(files, format(filters)).directories)
        new FormatReport(format.table, format.columns, count(files), planned, keys, dropped, Nil)
      }
    case _ => None
  }
}
