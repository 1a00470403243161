// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.layout

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.snapshot.Snapshot
import io.sparkzorder.sources.TableFormats
import io.sparkzorder.table.{
  CatalogTables,
  CatalogTarget,
  DataFormat,
  IcebergLister,
  ListedTable,
  PathTarget,
  RelationLister,
  TableLister,
  Target,
  TargetChecks
}

/** Lists the files of any source that SHOW LAYOUT may name. */
private[sparkzorder] final class LayoutSources(session: Session, conf: Configuration) {

  /**
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LAYOUT_NOT_KNOWN if Spark does not read
   *   the source as one table of Parquet or ORC files
   */
  def list(source: LayoutSource): ListedTable = source match {
    case OwnTable(target: PathTarget) if target.isDelta(conf) =>
      delta(target.name, s"delta.${quoteIdentifier(target.path)}")
    case OwnTable(target: PathTarget) =>
      TargetChecks.check(target, conf)
      val known = new CatalogTables(session, conf).known(target)
      known.tables.find(TargetChecks.hidingOption(_).isDefined) match {
        case Some(table) => relation(target.name, session.table(table.identifier.quotedString))
        case None => own(known)
      }
    case OwnTable(target @ CatalogTarget(table)) =>
      val isOwn = table.provider.flatMap(DataFormat.named).isDefined
      // With another format, or with an option that hides files, our lister does not know which files
      // belong to the table. Spark then lists the files by its own rules.
      if (isOwn && TargetChecks.hidingOption(table).isEmpty) own(target)
      else relation(target.name, session.table(target.name))
    case OtherTable(name, "iceberg") =>
      IcebergLister.list(session, name).copy(declared = declared(name))
    case OtherTable(name, "delta") => delta(name, name)
    case OtherTable(name, _) => relation(name, session.table(name))
  }

  private def own(target: Target): ListedTable = {
    val lister = new TableLister(session, target)
    val state = new StateDirectory(target.root(conf), conf)
    val listed = lister.list()
    val files = Snapshot.of(state, listed, whole = true)
    ListedTable(
      target.name,
      files,
      files.catalogSchema,
      Some(target),
      target.format,
      warnings = TableLog.read(state).disagreements(listed).map(_.warning))
  }

  /** @param quoted the name as SQL quotes it */
  private def delta(name: String, quoted: String): ListedTable = {
    val listed = relation(name, session.table(quoted))
    val columns = TableFormats.lastColumns(listed.files.root, "delta")
      .map(_.map(quoteIdentifier).mkString("."))
    listed.copy(
      ordering = if (columns.isEmpty) None else Some(columns.mkString(",")),
      declared = declared(quoted))
  }

  /** The ordering columns that a property of the table declares. */
  private def declared(quoted: String): Option[String] =
    Try(session.sql(s"SHOW TBLPROPERTIES $quoted").collect()).toOption.toSeq.flatten
      .collectFirst { case r if r.getString(0) == Settings.Columns.propertyKey => r.getString(1) }

  private def relation(name: String, frame: => Frame): ListedTable = {
    val listed =
      try RelationLister.list(name, frame)
      catch {
        case e: ZOrderException => throw e
        case NonFatal(e) => throw ZOrderErrors.layoutNotKnown(name, s"Spark cannot read it: $e")
      }
    listed.getOrElse {
      throw ZOrderErrors.layoutNotKnown(
        name,
        "Spark does not read it as one table of Parquet or ORC files")
    }
  }
}
