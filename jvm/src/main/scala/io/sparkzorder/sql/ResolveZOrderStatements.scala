// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.PARAMETER
import org.apache.spark.sql.catalyst.util.QuotingUtils.{quoteIdentifier, quoteNameParts}
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}

import io.sparkzorder.commands.{TargetAction, WorkloadAction}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.rewrite.{FormatTable, OptimizeCommand, OptimizeTarget, PlainTable}
import io.sparkzorder.sources.{SnapshotFormat, TableFormats, WherePredicate}
import io.sparkzorder.table.{CatalogTarget, DataFormat, ParquetFiles, PathTarget, TargetChecks}

/** Turns a statement into its command as soon as Spark has looked up the table. */
private[sparkzorder] final class ResolveZOrderStatements(sparkSession: SparkSession)
    extends Rule[LogicalPlan] {
  private def session: SparkLine.Session = SparkLine.session(sparkSession)
  private def hadoopConf: Configuration = session.sessionState.newHadoopConf()

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case s @ OptimizeTable(PathOrTable(parts), _, _, _) =>
      s.copy(child = pathOrTable(parts, "OPTIMIZE"))
    case s @ OptimizeTable(PathTable(path, _), _, _, other) if other.clauses.isDefined =>
      s.copy(delegated = other.on(s"delta.${quoteIdentifier(path)}"))
    case s @ OptimizeTable(PathTable(path, format), _, _, other) if isBound(s.where) =>
      val target = PathTarget(path, format)
      val own =
        if (isDelta(target)) {
          ownLayout(s, target, "delta", s.delegated.text).orElse(planOfDelta(other))
        } else if (target.isIceberg(hadoopConf)) {
          ownLayout(s, target, "iceberg", "CALL catalog.system.rewrite_data_files of its catalog")
        } else None
      own.getOrElse(command(s, PlainTable(target)))
    case s @ OptimizeTable(r: ResolvedTable, _, _, other) if other.clauses.isDefined =>
      s.copy(delegated = other.on(fullName(r)))
    case s @ OptimizeTable(r: ResolvedTable, _, _, other) if isBound(s.where) =>
      catalogTable(r) match {
        case Some(table) => command(s, PlainTable(CatalogTarget(table)))
        case None =>
          val known = format(r.table)
          val own = ownLayout(s, r, known)
          val plan = if (known == "delta") own.orElse(planOfDelta(other)) else own
          plan.getOrElse(refuse(s, r, known))
      }
    case s @ TargetStatement(PathOrTable(parts), action, _) =>
      s.copy(child = pathOrTable(parts, action.statement))
    case TargetStatement(PathTable(path, format), unbound, where) if isBound(where) =>
      val (target, action) = (PathTarget(path, format), unbound.choosing(where))
      onWorkload(action, openedPath(target)).getOrElse(action.command(target))
    case TargetStatement(r: ResolvedTable, unbound, where) if isBound(where) =>
      val action = unbound.choosing(where)
      catalogTable(r) match {
        case Some(table) => action.command(CatalogTarget(table))
        case None =>
          val known = format(r.table)
          val other = action.commandOnOther(fullName(r), known)
          other.orElse(onWorkload(action, opened(r, known))).getOrElse {
            for { f <- opened(r, known); advice <- action.adviceOnOther(f.rollback) } {
              throw ZOrderErrors.unsupportedTable(f.name, s"a table of the format $known", advice)
            }
            TargetChecks.refuseFormat(r.identifier.toString, known)
          }
      }
  }

  /**
   * The catalog table behind a resolved table. Refuses a table of another catalog than the session's, because
   * statements would look it up in the session's catalog, which may have another table of the same name.
   */
  private def catalogTable(r: ResolvedTable): Option[CatalogTable] =
    SparkPrivate.catalogTable(r.table).map { table =>
      if (!SparkPrivate.isSessionCatalog(r.catalog)) {
        throw ZOrderErrors.unsupportedTable(
          fullName(r),
          s"a table of the catalog ${r.catalog.name}, which is not Spark's session catalog",
          "Name the directory of the table, as in parquet.`/path`.")
      }
      table
    }

  /** Our command for a table of Delta or Iceberg; None if a setting or a property leaves OPTIMIZE to the format. */
  private def ownLayout(
      s: OptimizeTable,
      r: ResolvedTable,
      format: String): Option[LogicalPlan] =
    // the properties are tested before the table is opened, so that a table that is left to its format is not opened
    if (isDelegated(format, r.table.properties.asScala.toMap)) left(s, fullName(r), format)
    else {
      opened(r, format).flatMap { f =>
        ownLayout(
          s,
          f,
          if (format == "delta") s.delegated.text else RewriteDataFiles.call(s, r))
      }
    }

  private def isDelegated(format: String, properties: Map[String, String]): Boolean = {
    val settings = new Settings(Map.empty, properties, session.conf.getAll)
    Map("delta" -> Settings.FormatsDelta, "iceberg" -> Settings.FormatsIceberg).get(format)
      .exists(settings(_) != Settings.FormatOwn)
  }

  private def ownLayout(
      s: OptimizeTable,
      format: SnapshotFormat,
      ownStatement: String): Option[LogicalPlan] = {
    def declared =
      new Settings(Map.empty, format.properties, session.conf.getAll)
        .get(Settings.Columns)
    // Delta's own OPTIMIZE puts small files together if there are no columns
    def isPlain = format.format == "delta" && s.clauses.columns.isEmpty && !s.clauses.auto &&
      format.lastLayout.isEmpty && declared.isEmpty
    if (isDelegated(format.format, format.properties)) left(s, format.name, format.format)
    else if (isPlain) left(s, format.name, format.format, "name columns in ZORDER BY")
    else Some(command(s, FormatTable(format, ownStatement)))
  }

  /**
   * None, for a table that is left to its format. Refuses clauses that Delta's own OPTIMIZE does not have.
   *
   * @param way how such a clause gets to our OPTIMIZE
   */
  private def left(
      s: OptimizeTable,
      name: String,
      format: String,
      way: String = "set spark.zorder.formats.delta = own"): Option[LogicalPlan] = {
    val c = s.clauses
    if (format == "delta" && (c.into.isDefined || c.options.nonEmpty || c.dryRun)) {
      throw ZOrderErrors.unsupportedTable(
        name,
        "a Delta table that is left to Delta's own OPTIMIZE, which has no INTO, OPTIONS and DRY RUN",
        s"Leave these clauses out, or $way.")
    }
    None
  }

  /** Our command for a directory that is a table of a format; None if such tables are left to the format. */
  private def ownLayout(
      s: OptimizeTable,
      target: PathTarget,
      format: String,
      ownStatement: String): Option[LogicalPlan] =
    // The properties of the table are in its metadata. If the settings of the session already leave the table to its
    // format, the metadata is not read.
    if (isDelegated(format, Map.empty)) left(s, target.name, format)
    else openedPath(target, format).flatMap(ownLayout(s, _, ownStatement))

  private def openedPath(target: PathTarget, format: String): Option[SnapshotFormat] = {
    val name = s"$format.${quoteIdentifier(target.path)}"
    TableFormats.ofPath(target.location.toString, name, hadoopConf, format)
  }

  /** The command of a statement on the recorded workload, which tables of Delta and Iceberg have as well. */
  private def onWorkload(
      action: TargetAction,
      format: => Option[SnapshotFormat]): Option[LogicalPlan] = action match {
    case w: WorkloadAction => format.map(f => w.command(f.name, f.location))
    case _ => None
  }

  /** The table of a format that we know, if the directory is one. */
  private def openedPath(target: PathTarget): Option[SnapshotFormat] =
    if (isDelta(target)) openedPath(target, "delta")
    else if (target.isIceberg(hadoopConf)) openedPath(target, "iceberg")
    else None

  private def opened(r: ResolvedTable, format: String): Option[SnapshotFormat] =
    TableFormats.of(
      r.table,
      nameParts(r).map(quoteIfNeeded).mkString("."),
      r.identifier.name,
      format)

  private def refuse(s: OptimizeTable, r: ResolvedTable, format: String): Nothing =
    if (format == "iceberg") {
      val advice = s"Use Iceberg's own way: ${RewriteDataFiles.call(s, r)}"
      throw ZOrderErrors.unsupportedTable(r.identifier.toString, "an Iceberg table", advice)
    } else TargetChecks.refuseFormat(r.identifier.toString, format)

  private def fullName(r: ResolvedTable): String = quoteNameParts(nameParts(r))

  private def nameParts(r: ResolvedTable): Seq[String] =
    (r.catalog.name +: r.identifier.namespace :+ r.identifier.name).toSeq

  private def pathOrTable(parts: Seq[String], statement: String): LogicalPlan =
    if (isTable(parts)) SparkLine.unresolvedTable(parts, statement)
    else PathTable(parts.last, DataFormat.named(parts.head).getOrElse(ParquetFiles))

  // on Spark 3.5 and 4.0 the analyzer binds parameters, and may call this rule before
  private def isBound(where: Option[Expression]): Boolean =
    !where.exists(_.containsPattern(PARAMETER))

  private def command(s: OptimizeTable, target: OptimizeTarget): LogicalPlan =
    OptimizeCommand(target, s.where.map(WherePredicate(_)), s.clauses)

  /**
   * True if the name is that of a table. A table `x` in a database `parquet` takes precedence over
   * a file `x`, as in Spark's own queries.
   */
  private def isTable(parts: Seq[String]): Boolean =
    try session.sessionState.catalog.tableExists(TableIdentifier(parts.last, Some(parts.head)))
    catch { case NonFatal(_) => false }

  /**
   * Delta's own plan for the statement. If Delta's parser comes after ours, `other` has the plan. If Delta's parser
   * comes before ours, it has passed the statement on, because its grammar has no word TABLE there. Then the session's
   * first parser parses the text without TABLE.
   */
  private def planOfDelta(other: DelegatedStatement): Option[LogicalPlan] = other.plan.orElse {
    val outermost = session.sessionState.sqlParser
    Try(outermost.parsePlan(other.text)).toOption.flatMap {
      case ours: OptimizeTable => ours.delegated.plan
      case plan => Some(plan)
    }
  }

  private def isDelta(target: PathTarget): Boolean =
    try target.isDelta(hadoopConf)
    catch { case NonFatal(_) => false }

  /**
   * The format of another extension's table, from the name of the table's class. The jars of the
   * extension need not be on the class path.
   */
  private def format(table: Table): String = {
    val name = table.getClass.getName.toLowerCase(java.util.Locale.ROOT)
    Seq("delta", "iceberg", "hudi").find(name.contains).getOrElse(table.getClass.getSimpleName)
  }
}
