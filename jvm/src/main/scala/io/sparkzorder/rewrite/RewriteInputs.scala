package io.sparkzorder.rewrite

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.QueryBox
import io.sparkzorder.commands.{OrderingColumns, Phases, SampledCuts, TableState, WhereClause}
import io.sparkzorder.commands.auto.{WantedOrder, WeightsOption}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.log.TableLog
import io.sparkzorder.table.{OrderingColumn, ParquetFiles, PathTarget, TableFiles, Target}
import io.sparkzorder.table.schema.{DefaultsOfCatalog, FieldIds, TableSchema}
import io.sparkzorder.table.stats.{ColumnNames, FooterReader, ScannedFile}
import io.sparkzorder.write.OutputSpec

/**
 * All that OPTIMIZE knows of its inputs before it rewrites any.
 *
 * @param session the session whose settings are pinned ([[io.sparkzorder.conf.PinnedSession]])
 * @param schema data columns of all inputs
 * @param columns ordering columns; empty for a compaction
 * @param weights how many point queries the layout should expect on each column; empty if equally
 *   many
 * @param queries recorded queries for which the files should be cut
 * @param kept columns whose statistics are known: those by which files are chosen and laid out
 */
private[sparkzorder] final case class RewriteInputs(
    session: Session,
    target: Target,
    settings: Settings,
    scanned: ScannedFiles,
    schema: StructType,
    columns: Seq[OrderingColumn],
    kept: ColumnNames = ColumnNames.all,
    weights: Seq[Double] = Nil,
    queries: IndexedSeq[QueryBox] = IndexedSeq.empty) {

  def listed: TableFiles = scanned.listed
  def files: IndexedSeq[ScannedFile] = scanned.files
  def rows: Long = scanned.rows

  def evenOrWeights: IndexedSeq[Double] =
    if (weights.isEmpty) columns.map(_ => 1.0).toIndexedSeq else weights.toIndexedSeq

  /**
   * Format and schema of the files to write; None if there is no input file.
   *
   * @throws io.sparkzorder.errors.ZOrderException for types that cannot be written back as they are
   */
  def output(): Option[OutputSpec] =
    if (files.isEmpty) None else Some(new OutputPlanner(this).plan())

  /** The number of rows in a file of the target size, if `rows` rows take `bytes` bytes. */
  def targetRows(rows: Long, bytes: Long): Double =
    SampledCuts.targetRows(settings, rows, bytes)
}

private[rewrite] object RewriteInputs {

  /**
   * @param order the columns to order by
   * @param where the clause that chooses files
   */
  def read(
      table: TableState,
      listed: TableFiles,
      order: WantedOrder,
      where: Option[WhereClause],
      phases: Phases): RewriteInputs = {
    val session = PinnedSession.of(table.user)
    val conf = session.sessionState.conf
    val format = table.target.format
    val named = order.names
    val kept = ColumnNames.of(named.map(_.head) ++ where.toSeq.flatMap(_.dataColumns))
    val footers = phases("footers")(FooterReader.read(listed.files, table.conf, format, kept))
    if (footers.exists(_.needsRowReader)) PinnedSession.readRowByRow(session)
    val schema =
      new TableSchema(table.target.name, conf, format)
        .unionToWrite(listed.catalogSchema, footers)
    table.target match {
      case p: PathTarget => DefaultsOfCatalog.check(p, schema, footers)
      case _ =>
    }
    if (format == ParquetFiles && readsById(table.user)) {
      FieldIds.check(table.target.name, footers, conf.caseSensitiveAnalysis)
    }
    // an empty directory has no schema to look columns up in
    val wanted = if (schema.isEmpty && footers.isEmpty) Nil else named
    val columns = new OrderingColumns(table.target.name, conf.resolver)
      .resolve(wanted, schema, listed.partitionSchema)
    val weights = new WeightsOption(table.user, table.settings).of(columns)
      .getOrElse(if (columns.isEmpty) Nil else order.weights)
    val scanned = new ScannedFiles(listed, footers)
    val size = OrderingColumns.sizeInForce(TableLog.read(table.state), columns.map(_.name))
    RewriteInputs(
      session,
      table.target,
      table.settings.keeping(size),
      scanned,
      schema,
      columns,
      kept,
      weights,
      order.queries)
  }

  private def readsById(user: Session): Boolean =
    user.sessionState.conf.getConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED)
}
