// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex
import org.apache.spark.sql.execution.datasources.FileIndex
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types._

import io.sparkzorder.conf.Settings
import io.sparkzorder.index.{FileEntry, IndexContent, LeafColumns}
import io.sparkzorder.skipping.predicate.{FileBounds, FilePruner, FilterOnBounds, TableColumns}
import io.sparkzorder.skipping.scan.FormatFileTable
import io.sparkzorder.sources.{FileColumnInfo, FormatEntries, FormatSkipping}
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.ColumnRange

/**
 * Prunes the files of a scan of a Delta table by the statistics in the table's log, in the version that the
 * scan reads. A deletion vector only removes rows from a file, so the statistics of the file still hold.
 */
private[delta] final class DeltaSkipping(
    index: PreparedDeltaFileIndex,
    partitionSchema: StructType,
    override val name: String)
    extends FormatFileTable {
  private lazy val snapshot = index.preparedScan.scannedSnapshot

  override def isPrunedBySpark(column: Attribute): Boolean =
    partitionSchema.exists(f => SQLConf.get.resolver(f.name, column.name))

  override def isOf(location: FileIndex): Boolean = location match {
    case i: PreparedDeltaFileIndex => i == index
    case _ => false
  }

  override def known(filters: Seq[Expression], columns: TableColumns): FilterOnBounds =
    filter(filters, columns)._1

  override def pruner(filters: Seq[Expression], columns: TableColumns): Option[FilePruner] =
    // FALSE has no column, but leaves out all files: it is the filter of a join whose other side has no key
    if (columnsOf(filters).isEmpty && !filters.contains(Literal.FalseLiteral)) None
    // the bounds of all files of the table are not worth reading to leave out a single file
    else if (index.preparedScan.files.size <= 1) None
    else {
      val (test, bounds) = filter(filters, columns)
      if (test.isUseful) Some(test.pruner(bounds.position)) else None
    }

  private def filter(
      filters: Seq[Expression],
      columns: TableColumns): (FilterOnBounds, FileBounds) = {
    val found = columnsOf(filters)
    val bounds = boundsOf(found)
    val names = found.map(c => DeltaSkipping.columnOf(c) -> c.name).toMap
    val test =
      new FilterOnBounds(filters, columns, bounds.named(names), SQLConf.get.caseSensitiveAnalysis)
    (test, bounds)
  }

  private def columnsOf(filters: Seq[Expression]): Seq[StructField] =
    filters.flatMap(_.references).distinct.flatMap { a =>
      snapshot.schema.fields.find(f => SQLConf.get.resolver(f.name, a.name))
        .filter(f => f.dataType == a.dataType && DeltaSkipping.isComparable(f.dataType))
    }.distinct

  private def boundsOf(columns: Seq[StructField]): FileBounds = {
    val state = (snapshot.metadata.id, snapshot.deltaLog.dataPath.toString, snapshot.version)
    FormatSkipping.bounds(
      ("delta", state),
      columns.map(DeltaSkipping.columnOf).toSet,
      Settings.ofSession(Settings.SkippingCacheSize)) { wanted =>
      load(snapshot.schema.fields.toSeq.filter(f => wanted(DeltaSkipping.columnOf(f))))
    }
  }

  private def load(fields: Seq[StructField]): FileBounds = {
    val columns = fields.map(f => OrderingColumn(Seq(f.name), f.dataType))
    val session = SparkLine.session(SparkSession.active)
    val shape = LeafColumns(fields.map(f => Seq(DeltaSkipping.columnOf(f))))
    val entries = new DeltaStatistics(session, snapshot, columns).all.toSeq.map {
      case (path, infos) =>
        val leaves = fields.zip(infos).map { case (f, info) =>
          FormatEntries.leaf(Seq(DeltaSkipping.columnOf(f)), f.dataType, withoutCounts(info), 1L)
        }
        FileEntry(index.absolutePath(path).toString, 1L, 0L, 1L, shape, leaves)
    }
    new FileBounds(IndexContent.of(entries))
  }

  /**
   * The statistics, without the conclusion that a column has only NULLs. Delta's numbers of rows and of NULLs
   * lead to this conclusion if they are equal, but different writers may have written the two numbers.
   */
  private def withoutCounts(info: FileColumnInfo): FileColumnInfo =
    if (info.range == ColumnRange.Empty) info.copy(range = ColumnRange.Unknown) else info
}

private object DeltaSkipping {

  /**
   * True for a type of which Delta keeps bounds in Spark's order. FLOAT and DOUBLE are not among them, because
   * their bounds leave NaN out.
   */
  def isComparable(t: DataType): Boolean = t match {
    case ByteType | ShortType | IntegerType | LongType | DateType => true
    case TimestampType | TimestampNTZType | _: DecimalType => true
    case other => other == StringType
  }

  def columnOf(f: StructField): String = s"${f.name} ${f.dataType.sql}"
}
