package io.sparkzorder.commands.optimize

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.commands.{OrderingColumns, Phases, TableState, WhereClause}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.log.TableLog
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.table.{CatalogTarget, OrderingColumn, TableFiles, Target}
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.{ColumnNames, FooterReader, ScannedFile}
import io.sparkzorder.write.OutputSpec

/**
 * All that OPTIMIZE knows of its inputs before it rewrites any.
 *
 * @param session the session whose settings are pinned ([[io.sparkzorder.conf.PinnedSession]])
 * @param schema data columns of all inputs
 * @param columns ordering columns; empty for a compaction
 * @param kept columns whose statistics are known: those by which files are chosen and laid out
 */
private[sparkzorder] final case class RewriteInputs(
    session: Session,
    target: Target,
    settings: Settings,
    scanned: ScannedFiles,
    schema: StructType,
    columns: Seq[OrderingColumn],
    kept: ColumnNames = ColumnNames.all) {

  def listed: TableFiles = scanned.listed
  def files: IndexedSeq[ScannedFile] = scanned.files
  def rows: Long = scanned.rows

  /**
   * Format and schema of the files to write; None if there is no input file.
   *
   * @throws io.sparkzorder.errors.ZOrderException for types that cannot be written back as they are
   */
  def output(): Option[OutputSpec] =
    if (files.isEmpty) None else Some(new OutputPlanner(this).plan())

  /** The number of rows in a file of the target size, if `rows` rows take `bytes` bytes. */
  def targetRows(rows: Long, bytes: Long): Double =
    math.max(1.0, settings(Settings.TargetFileSize).toDouble * rows / math.max(1L, bytes))
}

private[optimize] object RewriteInputs {

  /**
   * @param names name parts of the columns in ZORDER BY; empty if the statement has no ZORDER BY
   * @param where the clause that chooses files
   */
  def read(
      table: TableState,
      listed: TableFiles,
      names: Seq[Seq[String]],
      where: Option[WhereClause],
      phases: Phases): RewriteInputs = {
    val session = PinnedSession.of(table.user)
    val conf = session.sessionState.conf
    val format = table.target.format
    val named = columnNames(table, names)
    val kept = ColumnNames.of(named.map(_.head) ++ where.toSeq.flatMap(_.dataColumns))
    val footers = phases("footers")(FooterReader.read(listed.files, table.conf, format, kept))
    val schema =
      new TableSchema(table.target.name, conf, format).union(listed.catalogSchema, footers)
    // an empty directory has no schema to look columns up in
    val wanted = if (schema.isEmpty && footers.isEmpty) Nil else named
    val columns = new OrderingColumns(table.target.name, conf.resolver)
      .resolve(wanted, schema, listed.partitionSchema)
    val scanned = new ScannedFiles(listed, footers)
    RewriteInputs(session, table.target, table.settings, scanned, schema, columns, kept)
  }

  /** The columns of ZORDER BY, else those of the table's layout, else those of its declared order. */
  private def columnNames(table: TableState, names: Seq[Seq[String]]): Seq[Seq[String]] =
    if (names.nonEmpty) names
    else {
      TableLog.read(table.state).columns
        .map(_.map(table.user.sessionState.sqlParser.parseMultipartIdentifier))
        .orElse(declared(table.target))
        .getOrElse(Nil)
    }

  private def declared(target: Target): Option[Seq[Seq[String]]] = target match {
    case CatalogTarget(t) => DeclaredOrder.of(t).map(_.columns)
    case _ => None
  }
}
