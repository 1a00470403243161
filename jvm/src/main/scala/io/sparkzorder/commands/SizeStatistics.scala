package io.sparkzorder.commands

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogTable}
import org.apache.spark.sql.execution.command.CommandUtils
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * The catalog's statistics of a table whose files were exchanged: its rows are what they were, so of
 * what ANALYZE TABLE found only the size is new.
 */
private[sparkzorder] object SizeStatistics extends Logging {

  /** Writes the new size where the catalog has one; a failure is logged, since statistics are hints. */
  def update(session: Session, table: CatalogTable): Unit =
    try {
      val now = session.sessionState.catalog.getTableMetadata(table.identifier)
      val partitions = if (now.partitionColumnNames.isEmpty) Nil else partitionsOf(session, now)
      val known = partitions.filter(_.stats.isDefined)
      if (now.stats.isDefined || known.nonEmpty) {
        val (size, changed) = CommandUtils.calculateTotalSize(session, now)
        now.stats.filter(_.sizeInBytes != size).foreach { s =>
          session.sessionState.catalog.alterTableStats(
            table.identifier,
            Some(s.copy(sizeInBytes = size)))
        }
        val before = known.map(p => p.spec -> p.stats.get).toMap
        val resized = changed.collect {
          case p if before.contains(p.spec) => p.copy(stats = resize(before(p.spec), p.stats))
        }
        if (resized.nonEmpty)
          session.sessionState.catalog.alterPartitions(table.identifier, resized)
      }
    } catch {
      case NonFatal(e) => logWarning(s"the catalog has an old size of ${table.identifier}", e)
    }

  private def partitionsOf(session: Session, table: CatalogTable) =
    if (table.tracksPartitionsInCatalog) {
      session.sessionState.catalog.listPartitions(table.identifier)
    } else Nil

  private def resize(
      before: CatalogStatistics,
      now: Option[CatalogStatistics]): Option[CatalogStatistics] =
    now.map(n => before.copy(sizeInBytes = n.sizeInBytes))
}
