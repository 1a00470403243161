// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.delta.{DeltaLog, Snapshot}
import org.apache.spark.sql.delta.stats.SkippingEligibleDataType
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn

/**
 * A Delta table: Delta's reader reads the rows, Delta's writer writes the files, and one transaction of Delta
 * replaces the files of a batch. Delta's own OPTIMIZE has the same steps.
 *
 * @param name full name, quoted for SQL
 */
private[delta] final class DeltaFormat(
    log: DeltaLog,
    catalogTable: Option[CatalogTable],
    override val name: String,
    override val isNamed: Boolean)
    extends SnapshotFormat {

  private val readVersions = new ConcurrentHashMap[String, Seq[Long]]

  /** Notes that a statement has read a version, and returns all versions that it has read, the first one first. */
  private[delta] def readVersions(run: String, version: Long): Seq[Long] =
    readVersions.merge(run, Seq(version), (before, now) => (before ++ now).distinct)

  def current: Snapshot = log.update(catalogTableOpt = catalogTable)

  override def format: String = "delta"
  override def location: String = log.dataPath.toString
  override def properties: Map[String, String] = current.metadata.configuration

  override def defaults: Map[String, String] =
    properties.get("delta.targetFileSize").map(Settings.TargetFileSize.key -> _).toMap

  override def schema: StructType = current.schema
  override def partitionSchema: StructType = current.metadata.partitionSchema
  override def lastLayout: Option[LastLayout] = DeltaLayouts.lastLayout(current)

  override def hasBounds(column: OrderingColumn): Boolean =
    SkippingEligibleDataType(column.dataType) &&
      DeltaLayouts.contains(current.statCollectionLogicalSchema, column.parts)

  override def rollback: Option[String] = {
    val now = current
    DeltaLayouts.versionsOfLastRun(now).map { versions =>
      val before = versions.min
      // the versions that the batches have read tell the commits of this run from others
      val since = log.history.getHistory(Some((now.version - before).toInt))
      val others =
        since.count(c => !(c.operation == "OPTIMIZE" && c.readVersion.exists(versions(_))))
      s"RESTORE TABLE $name TO VERSION AS OF $before" +
        (if (others == 0) ""
         else if (others == 1) ", which takes back 1 later commit of another writer as well"
         else s", which takes back $others later commits of other writers as well")
    }
  }

  override def checkTable(): Unit =
    DeltaTables.obstacle(current).foreach { reason =>
      throw ZOrderErrors.unsupportedTable(name, s"a Delta table: $reason", "Use Delta's OPTIMIZE.")
    }

  override def snapshot(columns: Seq[OrderingColumn], where: Option[Expression]): DeltaSnapshot = {
    val state = current
    columns.foreach(checkStatistics(_, state))
    val filters = where.fold[Option[Seq[Expression]]](Some(Nil))(new DeltaFilter(state, name).of(_))
    val listing = new DeltaFiles(log, state, columns)
    val files = filters match {
      case None => IndexedSeq.empty
      case Some(f) => listing.of(state.filesForScan(f, keepNumRecords = true).files, _.all)
    }
    new DeltaSnapshot(this, state, columns, where, listing, files)
  }

  /** Refuses a column of which Delta keeps no statistics: no query could skip files by such a layout. */
  private def checkStatistics(column: OrderingColumn, state: Snapshot): Unit = {
    if (!DeltaLayouts.contains(state.schema, column.parts)) {
      throw ZOrderErrors.conflict(name, s"the column ${column.name} was renamed or dropped")
    }
    val kept = DeltaLayouts.contains(state.statCollectionLogicalSchema, column.parts)
    if (!kept || !SkippingEligibleDataType(column.dataType)) {
      val (problem, advice) =
        if (kept) (s"no bounds of ${column.dataType.sql}", "Choose another column.")
        else {
          (
            "no statistics of this column",
            "Add the column to the table property delta.dataSkippingStatsColumns, and recompute the " +
              "statistics.")
        }
      throw ZOrderErrors.unsupportedTable(
        name,
        s"a Delta table with $problem: ${column.name}",
        advice)
    }
  }

  private[delta] def rows(
      snapshot: DeltaSnapshot,
      session: Session,
      files: IndexedSeq[DeltaFile]): DeltaRows = {
    snapshot.checkRowTracking()
    val txn = log.startTransaction(catalogTable, Some(snapshot.state))
    new DeltaRows(log, name, snapshot, session, txn, files)
  }
}

/** Turns a WHERE clause into filters that Delta's data skipping takes. */
private[delta] final class DeltaFilter(state: Snapshot, name: String) {

  /**
   * @param where with unresolved columns
   * @return None if no row matches; the conjuncts otherwise
   */
  def of(where: Expression): Option[Seq[Expression]] = {
    val found = FormatFilter.simplified(where, name, state.schema)
    if (found.exists(_.exists(!_.deterministic))) {
      throw FormatFilter.untranslatable(where, name, "it is not deterministic")
    }
    found
  }
}
