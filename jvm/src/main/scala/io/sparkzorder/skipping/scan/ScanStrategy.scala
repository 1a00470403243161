// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.planning.{PhysicalOperation, ScanOperation}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ReturnAnswer}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2ScanRelation,
  DataSourceV2Strategy,
  FileScan,
  FileTable
}
import org.apache.spark.sql.execution.datasources.v2.orc.OrcScan
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.sparkzorder.conf.{RelationConf, Settings}
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.table.DataFormat

/**
 * Makes Spark's scans skip files. The strategy copies a Parquet or ORC relation, and gives the copy a
 * [[ZOrderFileIndex]] in place of Spark's file index. Spark's own strategy then plans a scan of the copy. The
 * logical plan keeps the original relation, so code that reads the location of a relation there (writes,
 * refreshes, cached data frames) sees Spark's own file index.
 *
 * All other scans are left to Spark: other data formats, table formats (which have their own classes of
 * file indexes), and streams (which name each file).
 */
private[sparkzorder] object ScanStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case _: ReturnAnswer => MarkShownNames(plan)
    case ScanOperation(_, _, filters, scan: LogicalRelation)
        if Settings.ofSession(Settings.Enabled) && canIndex(scan) =>
      val (rest, onFiles) = ScanFilters.split(plan)
      val later =
        if (Accelerators.areHere) Some(new FiltersAtListing(ScanFilters.atListing(onFiles)))
        else None
      val copy = indexed(scan, ScanFilters.keys(filters, scan), later)
      val planned = FileSourceStrategy(rest.transformUp { case r if r eq scan => copy })
      later match {
        case Some(l) =>
          planned.foreach(_.foreach {
            case s: FileSourceScanExec => l.read = s.requiredSchema
            case _ =>
          })
          planned
        case None => planned.map(withMetrics(_, onFiles))
      }
    case _ => Nil
  }

  /** True if a scan of the relation could use a skipping index, whether its table has one or not. */
  private[skipping] def canIndex(scan: LogicalRelation): Boolean = scan.relation match {
    case r: HadoopFsRelation => !scan.isStreaming && isPlain(r)
    case _ => false
  }

  private def indexed(
      scan: LogicalRelation,
      keys: Seq[KeysOfJoin],
      atListing: Option[FiltersAtListing]): LogicalRelation = {
    val r = scan.relation.asInstanceOf[HadoopFsRelation]
    val settings = new RelationConf(r)
    val roots = new TableRoots(scan.catalogTable, settings)
    val pruning = new IndexPruning(r, scan.output, settings, roots)
    val names = ShownNames.of(scan)
    val index =
      new ZOrderFileIndex(
        r.location,
        r,
        roots,
        settings,
        pruning,
        keys,
        atListing,
        showsNames = names)
    val options = optionsOf(r, roots, settings)
    scan.copy(relation = r.copy(location = index, options = options)(r.sparkSession))
  }

  /**
   * The options of a scan. Runs rename the files that they replace, so if a query does not find a listed
   * file, the rows of the file are elsewhere. Spark must then fail and not ignore the missing file,
   * whatever the option or the setting says.
   */
  private[scan] def optionsOf(
      r: HadoopFsRelation,
      roots: TableRoots,
      settings: RelationConf): Map[String, String] = {
    val option = FileSourceOptions.IGNORE_MISSING_FILES
    if (settings.ignoresMissingFiles && haveRuns(roots.states(r.location))) {
      r.options.filterNot(_._1.equalsIgnoreCase(option)) + (option -> "false")
    } else r.options
  }

  /** True if runs have exchanged files of one of these tables, or if its records cannot be read. */
  private[scan] def haveRuns(tables: Seq[StateDirectory]): Boolean =
    tables.exists(s => Try(TableLog.read(s).all.exists(_._2.exchangesFiles)).getOrElse(true))

  private def withMetrics(plan: SparkPlan, onFiles: Seq[Expression]): SparkPlan =
    plan.transformUp {
      case s: FileSourceScanExec if s.getClass == classOf[FileSourceScanExec] =>
        val more = onFiles.filterNot(s.dataFilters.contains)
        ZOrderFileScan.of(if (more.isEmpty) s else s.copy(dataFilters = s.dataFilters ++ more))
    }

  // exactly these classes: table formats have subclasses of them, whose files we must not choose
  private def isPlain(r: HadoopFsRelation): Boolean =
    DataFormat.all.exists(_.isReadBy(r.fileFormat)) &&
      (r.location.getClass == classOf[InMemoryFileIndex] ||
        r.location.getClass == classOf[CatalogFileIndex])
}

/**
 * Does for Spark's V2 readers of files what [[ScanStrategy]] does for the V1 readers. Spark uses
 * the V2 readers for paths if `spark.sql.sources.useV1SourceList` does not name the format. Without
 * this strategy these readers would see a half-published run of OPTIMIZE.
 */
private[sparkzorder] object V2ScanStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case PhysicalOperation(_, _, scan: DataSourceV2ScanRelation)
        if Settings.ofSession(Settings.Enabled) =>
      indexed(scan) match {
        case Some((copy, files)) =>
          val session = SparkLine.session(files.session)
          new DataSourceV2Strategy(session)(plan.transformUp { case r if r eq scan => copy })
        case None => Nil
      }
    case _ => Nil
  }

  private def indexed(
      r: DataSourceV2ScanRelation): Option[(DataSourceV2ScanRelation, OverlaidV2Files)] =
    (r.scan, r.relation.table) match {
      case (scan: FileScan, table: FileTable)
          if scan.fileIndex.getClass == classOf[InMemoryFileIndex] =>
        for {
          relation <- relationOf(scan, table, r)
          copy <- withFiles(scan, relation, r)
        } yield (r.copy(scan = copy), copy.fileIndex.asInstanceOf[OverlaidV2Files])
      case _ => None
    }

  /** The relation that Spark's V1 reader would read. */
  private def relationOf(
      scan: FileScan,
      table: FileTable,
      r: DataSourceV2ScanRelation): Option[HadoopFsRelation] = {
    val format = table.fallbackFileFormat.getDeclaredConstructor().newInstance()
    if (!DataFormat.all.exists(_.isReadBy(format))) None
    else {
      Some(HadoopFsRelation(
        scan.fileIndex,
        scan.fileIndex.partitionSchema,
        table.dataSchema,
        None,
        format,
        r.relation.options.asCaseSensitiveMap.asScala.toMap)(SparkLine.session(scan.sparkSession)))
    }
  }

  private def withFiles(
      scan: FileScan,
      relation: HadoopFsRelation,
      r: DataSourceV2ScanRelation): Option[FileScan] = {
    val settings = new RelationConf(relation)
    val roots = new TableRoots(None, settings)
    val pruning = new IndexPruning(relation, r.relation.output, settings, roots)
    val names = ShownNames.of(r)
    val ours =
      new ZOrderFileIndex(scan.fileIndex, relation, roots, settings, pruning, showsNames = names)
    val files = new OverlaidV2Files(scan.fileIndex, ours, pruning, settings.session)
    val options =
      new CaseInsensitiveStringMap(ScanStrategy.optionsOf(relation, roots, settings).asJava)
    scan match {
      case s: ParquetScan if s.getClass == classOf[ParquetScan] =>
        Some(s.copy(fileIndex = files, options = options))
      case s: OrcScan if s.getClass == classOf[OrcScan] =>
        Some(s.copy(fileIndex = files, options = options))
      case _ => None
    }
  }
}

/**
 * A file index for Spark's V2 readers: the listing comes from `ours`, and everything else from Spark's own
 * index.
 *
 * @param pruning the filters compiled for the index, for SHOW SKIPPING
 */
private[sparkzorder] final class OverlaidV2Files private[scan] (
    override val delegate: PartitioningAwareFileIndex,
    private[sparkzorder] val ours: ZOrderFileIndex,
    private[sparkzorder] val pruning: IndexPruning,
    private[scan] val session: SparkLine.Session)
    extends PartitioningAwareFileIndex(session, Map.empty, None)
    with DelegatingFileIndex {

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    ours.listFiles(partitionFilters, dataFilters)

  override def partitionSpec(): PartitionSpec = delegate.partitionSpec()
  override def allFiles(): Seq[FileStatus] = delegate.allFiles()

  override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
    mutable.LinkedHashMap(delegate.allFiles().map(f => f.getPath -> f): _*)
  override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
    delegate.allFiles().toArray.groupBy(_.getPath.getParent)

  // equal for two scans of one relation, so that Spark reuses the exchange
  override def equals(other: Any): Boolean = other match {
    case that: OverlaidV2Files => ours == that.ours
    case _ => false
  }
  override def hashCode(): Int = ours.hashCode()
}
