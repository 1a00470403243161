// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.commands.{OrderingColumns, SampledCuts, TableState, WhereClause}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Returned, Reused, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.snapshot.Snapshot
import io.sparkzorder.sources._
import io.sparkzorder.table.{
  FileChecks,
  OrderingColumn,
  ParquetFiles,
  PathTarget,
  TableFiles,
  TableLister,
  Target,
  TokenFile
}
import io.sparkzorder.table.schema.{DefaultsOfCatalog, FieldIds, TableSchema}
import io.sparkzorder.table.stats.{ColumnNames, FileRange, FooterReader, ScannedFile}

/** The files of the partitions that WHERE chooses, after the records are laid over the listing. */
private[plain] final class PlainListing(
    table: TableState,
    committer: PlainCommitter,
    statement: Statement)
    extends TableListing {
  private val files: TableFiles = list()

  private val reader = new InputReader(table, files, statement.session)

  override def canOrderBy(columns: Seq[Seq[String]]): Boolean = reader.canOrderBy(columns)

  // AUTO samples the whole table, and times what it does itself
  override def sampled(names: Seq[Seq[String]], most: Int): TableSnapshot = {
    val kept = ColumnNames.of(names.map(_.head))
    val footers = reader.footers(kept)
    val inputs = reader.inputs(kept, footers, _ => table.settings) { schema =>
      reader.bounded(names, most, schema, footers)
    }
    new PlainSnapshot(table, inputs, None, committer, statement)
  }

  override def snapshot(
      names: Seq[Seq[String]],
      settings: Seq[OrderingColumn] => Settings): TableSnapshot = {
    val where = whereOver(files)
    val kept = ColumnNames.of(names.map(_.head) ++ where.toSeq.flatMap(_.dataColumns))
    val footers = statement.phases("footers")(reader.footers(kept))
    val inputs =
      reader.inputs(kept, footers, settings)(reader.resolved(names, _, footers))
    val snapshot = new PlainSnapshot(table, inputs, where, committer, statement)
    // computed early, to refuse columns that cannot be written before any rows are read
    val _ = snapshot.output
    snapshot
  }

  // the partition columns are known only from the listing
  private def whereOver(files: TableFiles): Option[WhereClause] = statement.where.map { w =>
    val sameName = table.user.sessionState.conf.resolver
    new WhereClause(w, table.target, files.partitionSchema, sameName)
  }

  private def list(): TableFiles = {
    val lister = new TableLister(table.user, table.target)
    var listed = Option.empty[TableFiles]
    val chosen = lister.list(
      all => {
        val where = whereOver(all)
        where.foreach(committer.checkWhere(_, all))
        where.fold(all)(new PartitionsOfWhere(table, _).choose(all))
      },
      (files, whole) => {
        listed = Some(files)
        Snapshot.of(table.state, files, whole, committer.listing)
      })
    listed.foreach { all =>
      checkTokens(all.tokens, chosen)
      checkNames(all, chosen)
    }
    FileChecks.checkFiles(table.target, chosen)
    committer.checkListed(chosen)
    chosen
  }

  /**
   * Refuses a folder in which a run is half published of which no record tells: a person has removed the record.
   * Folders that the statement does not touch, or that are tables of their own, may have such runs.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_RECORD_LOST
   */
  private def checkTokens(tokens: Seq[Path], chosen: TableFiles): Unit = if (tokens.nonEmpty) {
    // read after the listing: a run has a record before it has a token
    val log = TableLog.read(table.state)
    val folders = chosen.folders.map(_.path).toSet
    def isOfOther(folder: Path) = Iterator.iterate(folder)(_.getParent)
      .takeWhile(d => d != null && d != table.root)
      .exists(d => table.state.status(new Path(d, StateDirectory.Name)).isDefined)
    tokens.find { t =>
      folders(t.getParent) && log.commitOf(TokenFile.runOf(t.getName)).isEmpty &&
      table.state.status(t).isDefined && !isOfOther(t.getParent)
    }.foreach { t =>
      val hidden = new Path(t.getParent, RunFolder.directory(TokenFile.runOf(t.getName)))
      throw ZOrderErrors.recordLost(
        t.getParent.toString,
        t.getName,
        table.state.commits.toString,
        hidden.toString)
    }
  }

  /**
   * Refuses files that another program has put under the names of replaced files.
   *
   * @param listed files as they were listed, before the records were laid over them
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FILES_RETURNED, ZORDER_NAMES_REUSED
   */
  private def checkNames(listed: TableFiles, chosen: TableFiles): Unit = {
    val folders = chosen.folders.map(_.path).toSet
    val found = TableLog.read(table.state).disagreements(listed.onlyFolders(f => folders(f.path)))
    found.foreach {
      case Returned(folder, names, run) =>
        throw ZOrderErrors.filesReturned(table.target.name, folder.toString, names, run)
      case Reused(folder, names, run) if table.settings(Settings.ReusedNames) == "refuse" =>
        throw ZOrderErrors.namesReused(table.target.name, folder.toString, names, run)
      case _ =>
    }
  }
}

/**
 * All that is known of the files of a plain table before any is rewritten.
 *
 * @param session the session whose settings are pinned ([[io.sparkzorder.conf.PinnedSession]])
 * @param files footers of the listed files, in the order of their paths
 * @param schema data columns of all files
 * @param columns ordering columns; empty for a compaction
 * @param kept columns whose statistics are known: those by which files are chosen and laid out
 */
private[sparkzorder] final case class PlainInputs(
    session: Session,
    target: Target,
    settings: Settings,
    listed: TableFiles,
    files: IndexedSeq[ScannedFile],
    schema: StructType,
    columns: Seq[OrderingColumn],
    kept: ColumnNames = ColumnNames.all) {

  def rows: Long = files.map(_.rows).sum

  /** The number of rows in a file of the target size, if `rows` rows take `bytes` bytes. */
  def targetRows(rows: Long, bytes: Long): Double =
    SampledCuts.targetRows(settings, rows, bytes)
}

/** Reads the footers of a listing, and checks what they say of the table. */
private[plain] final class InputReader(table: TableState, listed: TableFiles, session: Session) {
  private val conf = session.sessionState.conf
  private val format = table.target.format
  private val resolver = new OrderingColumns(table.target.name, conf.resolver)

  def footers(kept: ColumnNames): IndexedSeq[ScannedFile] =
    FooterReader.read(listed.files, table.conf, format, kept)

  /** True if the table has these columns, and files can be ordered by them. */
  def canOrderBy(columns: Seq[Seq[String]]): Boolean = {
    def isOf(schema: StructType) =
      Try(resolver.resolve(columns, schema, listed.partitionSchema)).isSuccess
    listed.catalogSchema.exists(isOf) || isOf(
      new TableSchema(table.target.name, conf, format)
        .union(listed.catalogSchema, footers(ColumnNames.of(Nil))))
  }

  /** Of these columns the first that the table has, by which files can be ordered and have bounds. */
  def bounded(
      names: Seq[Seq[String]],
      most: Int,
      schema: StructType,
      footers: IndexedSeq[ScannedFile]): Seq[OrderingColumn] =
    names.flatMap(n => Try(resolver.resolve(Seq(n), schema, listed.partitionSchema)).toOption)
      .flatten
      .filter(c => footers.exists(FileRange.ofFooter(c, _, conf.resolver).bounds.isDefined))
      .take(most)

  /**
   * @param names name parts of the ordering columns
   * @throws io.sparkzorder.errors.ZOrderException if one of them cannot order files
   */
  def resolved(
      names: Seq[Seq[String]],
      schema: StructType,
      footers: IndexedSeq[ScannedFile]): Seq[OrderingColumn] = {
    // an empty directory has no schema to look columns up in
    val wanted = if (schema.isEmpty && footers.isEmpty) Nil else names
    resolver.resolve(wanted, schema, listed.partitionSchema)
  }

  /**
   * @param kept columns whose statistics the footers have
   * @param settings of a run by some columns
   * @param columns finds the ordering columns
   */
  def inputs(
      kept: ColumnNames,
      footers: IndexedSeq[ScannedFile],
      settings: Seq[OrderingColumn] => Settings)(
      columns: StructType => Seq[OrderingColumn]): PlainInputs = {
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
    val found = columns(schema)
    PlainInputs(session, table.target, settings(found), listed, footers, schema, found, kept)
  }

  private def readsById(user: Session): Boolean =
    user.sessionState.conf.getConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED)
}
