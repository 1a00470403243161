package io.sparkzorder.rewrite

import java.util.UUID

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.commands.{FolderBatches, OrderingColumns, Phases, WhereClause}
import io.sparkzorder.commands.auto.{WantedOrder, WeightsOption}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources.{FormatFile, LayoutTag, TableFormat, TableSnapshot}
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.table.OrderingColumn

/**
 * Executes one OPTIMIZE statement on a table of another format: check, snapshot, select, then for
 * each batch sample, cut, write and commit.
 *
 * @param ownStatement the format's own statement for the same purpose
 */
private[sparkzorder] final class FormatOptimize(
    user: Session,
    format: TableFormat,
    where: Option[Expression],
    clauses: OptimizeClauses,
    ownStatement: String)
    extends Logging {

  private val startMs = System.currentTimeMillis()
  private val phases = new Phases(user.sparkContext, s"OPTIMIZE ${format.name}")
  private lazy val lastLayout = format.lastLayout
  private lazy val named =
    new Settings(clauses.options, format.properties, user.conf.getAll, format.defaults).validate()

  def run(): OptimizeResult = {
    val session = PinnedSession.ofFormat(user)
    // classes of the format look for the active session
    val before = SparkSession.getActiveSession
    SparkSession.setActiveSession(session)
    try steps(session)
    finally before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession)
  }

  private def steps(session: Session): OptimizeResult = {
    phases("check")(check())
    val order = wanted(session)
    val columns = new OrderingColumns(format.name, session.sessionState.conf.resolver)
      .resolve(order.names, format.schema, format.partitionSchema)
    val size = lastLayout.filter(_.columns == columns.map(_.parts)).map(_.targetFileSize)
    val settings = named.keeping(size.filter(_ > 0))
    val snapshot =
      phases("list")(format.snapshot(columns, where.map(WhereClause.byName)))
    val layout = tag(columns, snapshot, order, settings(Settings.TargetFileSize))
    val selection =
      if (order.isLeft) FormatSelection(IndexedSeq.empty, None)
      else if (clauses.full || order.rewritesAll || snapshot.files.isEmpty) {
        FormatSelection(snapshot.files, None)
      } else new FormatSelector(columns, layout).select(snapshot.files)
    phases("check")(format.check(selection.files))
    val batches = inBatches(selection.files)
    // a recorded query is a box of the whole table, and suits no part of it
    val isWhole = where.isEmpty && selection.files.size == snapshot.files.size &&
      snapshot.files.map(_.folder).distinct.size == 1
    val batch = new FormatBatch(
      session,
      format,
      snapshot,
      columns,
      layout,
      if (isWhole) order.queries else IndexedSeq.empty,
      settings,
      phases,
      clauses.dryRun)
    val done = batches.zipWithIndex.flatMap { case (files, i) =>
      logInfo(s"OPTIMIZE ${format.name}: batch ${i + 1} of ${batches.size}, ${files.size} files")
      batch.rewrite(files)
    }
    if (done.nonEmpty && !clauses.dryRun && format.isNamed) phases("refresh")(refresh())
    val reason =
      if (snapshot.files.isEmpty) {
        Some(if (where.isEmpty) "there are no data files" else "WHERE chooses no data files")
      } else if (selection.files.nonEmpty && done.isEmpty) Some("there are no rows")
      else selection.reason
    val reasons = order.reason.toSeq ++ reason ++ settings.sizeKept ++ snapshot.leftOut
    new FormatReport(snapshot, columns, layout.weights, done, clauses.dryRun)
      .result(format.location, startMs, phases.millis, reasons)
  }

  private def check(): Unit = {
    val _ = named
    format.check()
    if (clauses.into.isDefined) refuse("INTO")
    where.foreach(WhereClause.checkForFormat(_, format.name))
  }

  private def refuse(clause: String): Nothing =
    throw ZOrderErrors.unsupportedTable(
      format.name,
      s"a table of the format ${format.format}, which $clause does not take",
      s"Leave $clause out.")

  /** The columns of ZORDER BY, else the last layout, else the declared columns. */
  private def wanted(session: Session): WantedOrder = {
    val parse = user.sessionState.sqlParser.parseMultipartIdentifier _
    def declared = named.get(Settings.Columns).toSeq.flatMap(DeclaredOrder.split).map(parse)
    def last = lastLayout.map(l => WantedOrder(l.columns, l.weights))
    if (clauses.auto) {
      val table = new FormatAutoTable(session, format, named)
      WantedOrder.auto(user, named, table, where.isDefined, phases)
    } else if (clauses.columns.nonEmpty) WantedOrder(clauses.columns)
    else {
      last.orElse(Some(WantedOrder(declared)).filter(_.names.nonEmpty))
        .getOrElse(throw ZOrderErrors.unsupportedTable(
          format.name,
          s"a table of the format ${format.format} without ordering columns",
          s"Add ZORDER BY, or use the format's own way: $ownStatement"))
    }
  }

  private def tag(
      columns: Seq[OrderingColumn],
      snapshot: TableSnapshot,
      order: WantedOrder,
      targetFileSize: Long): LayoutTag = {
    val weights = new WeightsOption(user, named).of(columns).getOrElse(order.weights)
    // the first layout of a table is not a change; the same layout that AUTO cuts for other queries is
    val since = lastLayout.fold(0L) { l =>
      val isSame = l.columns == columns.map(_.parts) && l.weights == weights
      if (isSame && !order.rewritesAll) l.sinceMs else startMs
    }
    LayoutTag(
      columns.map(_.name).mkString(", "),
      snapshot.layoutKey,
      targetFileSize,
      weights,
      UUID.randomUUID().toString,
      since)
  }

  /** One job writes the files of one group of folders. */
  private def inBatches(files: IndexedSeq[FormatFile]): Seq[IndexedSeq[FormatFile]] = {
    val byFolder = files.groupBy(_.folder)
    val batches = new FolderBatches(format.name, named, clauses.options)
    files.map(_.folder).distinct.groupBy(_.group).toSeq.sortBy(_._1).flatMap { case (_, folders) =>
      batches.of(folders)(_.toString, byFolder(_).map(_.bytes).sum)
        .map(_.flatMap(byFolder).toIndexedSeq)
    }
  }

  /** Queries of the session that are cached read the new files; the rows are the same. */
  private def refresh(): Unit =
    try { val _ = user.sql(s"REFRESH TABLE ${format.name}") }
    catch {
      // the run has committed, and what is cached holds the same rows
      case NonFatal(e) => logWarning(s"${format.name} could not be refreshed in the session", e)
    }
}
