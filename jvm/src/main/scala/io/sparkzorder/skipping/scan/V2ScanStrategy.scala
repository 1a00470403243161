// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
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
import io.sparkzorder.table.DataFormat

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
    val ours = new ZOrderFileIndex(scan.fileIndex, relation, roots, settings, pruning)
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
 * The files of a relation as Spark's V2 readers ask for them: the listing of `ours`, and everything
 * else as Spark has it.
 *
 * @param pruning what the index says of the filters, for SHOW SKIPPING
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
