// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.FolderSample
import io.sparkzorder.commands.{OrderingColumns, SampledCuts, TableState, WhereClause}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Returned, Reused}
import io.sparkzorder.ordered.grid.{GridOfRun, GridStore, SampledFolder}
import io.sparkzorder.snapshot.Snapshot
import io.sparkzorder.sources._
import io.sparkzorder.table.{
  FileChecks,
  Folder,
  OrderingColumn,
  ParquetFiles,
  PathTarget,
  TableFiles,
  TableLister,
  Target
}
import io.sparkzorder.table.schema.{DefaultsOfCatalog, FieldIds, TableSchema}
import io.sparkzorder.table.stats.{ColumnNames, FileRange, FooterReader, ScannedFile}
import io.sparkzorder.util.Paths

/** The files of the partitions that WHERE chooses, with the records of our log laid over Spark's listing. */
private[plain] final class PlainListing(
    table: TableState,
    committer: PlainCommitter,
    statement: Statement)
    extends TableListing {
  private val listed: TableFiles = list()
  private val conf = statement.session.sessionState.conf
  private val format = table.target.format
  private val resolver = new OrderingColumns(table.target.name, conf.resolver)

  override def canOrderBy(columns: Seq[Seq[String]]): Boolean = {
    def isOf(schema: StructType) =
      Try(resolver.resolve(columns, schema, listed.partitionSchema)).isSuccess
    listed.catalogSchema.exists(isOf) || isOf(
      new TableSchema(table.target.name, conf, format)
        .union(listed.catalogSchema, footers(ColumnNames.of(Nil))))
  }

  // WHERE does not count, because AUTO samples the whole table. The time is not measured as a phase of the statement,
  // because AUTO measures it.
  override def sampled(names: Seq[Seq[String]], most: Int): TableSnapshot = {
    val kept = ColumnNames.of(names.map(_.head))
    val read = footers(kept)
    val known = inputs(kept, read, _ => table.settings) { schema =>
      names.flatMap(n => Try(resolver.resolve(Seq(n), schema, listed.partitionSchema)).toOption)
        .flatten
        // the record may have a column in two spellings
        .distinct
        .filter(c => read.exists(FileRange.ofFooter(c, _, conf.resolver).bounds.isDefined))
        .take(most)
    }
    new PlainSnapshot(table, known, None, committer, statement)
  }

  override def snapshot(
      names: Seq[Seq[String]],
      settings: Seq[OrderingColumn] => Settings): TableSnapshot = {
    val where = whereOver(listed)
    val kept = ColumnNames.of(names.map(_.head) ++ where.toSeq.flatMap(_.dataColumns))
    val read = statement.phases("footers")(footers(kept))
    val known = inputs(kept, read, settings) { schema =>
      // an empty directory has no schema to look columns up in
      val wanted = if (schema.isEmpty && read.isEmpty) Nil else names
      resolver.resolve(wanted, schema, listed.partitionSchema)
    }
    val snapshot = new PlainSnapshot(table, known, where, committer, statement)
    // computed early, to refuse columns that cannot be written before any rows are read
    val _ = snapshot.output
    snapshot
  }

  private def footers(kept: ColumnNames): IndexedSeq[ScannedFile] =
    FooterReader.read(listed.files, table.conf, format, kept)

  /**
   * Makes the inputs of a run from the footers: the schema of all files and the ordering columns. Refuses files whose
   * columns mean more than their names tell: other defaults in the catalog, or different field ids.
   *
   * @param kept the columns whose statistics the footers have
   * @param settings returns the settings of a run by these ordering columns
   * @param columns finds the ordering columns in the schema
   */
  private def inputs(
      kept: ColumnNames,
      footers: IndexedSeq[ScannedFile],
      settings: Seq[OrderingColumn] => Settings)(
      columns: StructType => Seq[OrderingColumn]): PlainInputs = {
    val session = statement.session
    if (footers.exists(_.needsRowReader)) PinnedSession.readRowByRow(session)
    val schema =
      new TableSchema(table.target.name, conf, format)
        .unionToWrite(listed.catalogSchema, footers)
    table.target match {
      case p: PathTarget => DefaultsOfCatalog.check(p, schema, footers)
      case _ =>
    }
    val readsById = table.user.sessionState.conf.getConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED)
    if (format == ParquetFiles && readsById) {
      FieldIds.check(table.target.name, footers, conf.caseSensitiveAnalysis)
    }
    val found = columns(schema)
    PlainInputs(session, table.target, settings(found), listed, footers, schema, found, kept)
  }

  // the partition columns are known only from the listing
  private def whereOver(files: TableFiles): Option[WhereClause] = statement.where.map { w =>
    val sameName = table.user.sessionState.conf.resolver
    new WhereClause(w, table.target, files.partitionSchema, sameName)
  }

  private def list(): TableFiles = {
    val lister = new TableLister(table.user, table.target)
    var all = Option.empty[TableFiles]
    val chosen = lister.list(
      files => {
        val where = whereOver(files)
        where.foreach(committer.checkWhere(_, files))
        where.fold(files)(new PartitionsOfWhere(table, _).choose(files))
      },
      (files, whole) => {
        all = Some(files)
        Snapshot.of(table.state, files, whole, committer.listing)
      })
    all.foreach { files =>
      new LostRecords(table.state).check(files.tokens, chosen)
      checkNames(files, chosen)
    }
    FileChecks.checkFiles(table.target, chosen)
    committer.checkListed(chosen)
    chosen
  }

  /**
   * Refuses files that another program has put under the names of replaced files.
   *
   * @param listed files as they were listed, before the records were laid over them
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FILES_RETURNED for replaced files that came back, and
   *   ZORDER_NAMES_REUSED for other files
   */
  private def checkNames(listed: TableFiles, chosen: TableFiles): Unit = {
    val folders = chosen.folders.map(_.path).toSet
    val found = Snapshot.disagreements(table.state, listed.onlyFolders(f => folders(f.path)))
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
 * Everything that is known of the files of a plain table before a file is rewritten.
 *
 * @param session the session whose settings are pinned ([[io.sparkzorder.conf.PinnedSession]])
 * @param files footers of the listed files, in the order of their paths
 * @param schema data columns of all files
 * @param columns ordering columns; empty for a compaction
 * @param kept the columns by which files are chosen and laid out; the footers have no statistics of other columns
 */
private[sparkzorder] final case class PlainInputs(
    session: Session,
    target: Target,
    settings: Settings,
    listed: TableFiles,
    files: IndexedSeq[ScannedFile],
    schema: StructType,
    columns: Seq[OrderingColumn],
    kept: ColumnNames = ColumnNames.all)
    extends Logging {

  def rows: Long = files.map(_.rows).sum

  /** A folder for the grid of later writes, of which a run has laid out `live` rows in `made` files. */
  private[plain] def sampled(
      folder: Folder,
      sample: FolderSample,
      live: Long,
      made: Int): SampledFolder = SampledFolder(
    Paths.relative(listed.root, folder.path),
    sample,
    live,
    rowsOfFolders(folder),
    made)

  private lazy val rowsOfFolders: Map[Folder, Long] =
    files.groupBy(_.file.folder).map { case (folder, own) => folder -> own.map(_.rows).sum }

  /**
   * Updates the grid for later writes. Writes succeed without a grid, so a failure is only logged.
   *
   * @param made the folders that a run has laid out and, if it is known, how many bytes a shuffle has for each byte
   *   in files
   */
  private[plain] def updateGrid(table: TableState)(
      made: => (Seq[SampledFolder], Option[Double])): Unit =
    try {
      val store = new GridStore(table.root, table.conf)
      val (folders, ratio) = made
      GridOfRun.update(store.read(), columns, folders, rows, ratio).foreach(store.write)
    } catch {
      case NonFatal(e) => logWarning(s"no grid was stored for writes to ${target.name}", e)
    }

  /** The number of rows in a file of the target size, if `rows` rows take `bytes` bytes. */
  def targetRows(rows: Long, bytes: Long): Double =
    SampledCuts.targetRows(settings, rows, bytes)
}
