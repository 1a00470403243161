// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import io.sparkzorder.commands.{TableState, WhereClause}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Returned, Reused, TableLog}
import io.sparkzorder.snapshot.Snapshot
import io.sparkzorder.sources.{Statement, TableListing, TableSnapshot}
import io.sparkzorder.table.{FileChecks, OrderingColumn, TableFiles, TableLister}
import io.sparkzorder.table.stats.ColumnNames

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
      new LostRecords(table).check(all.tokens, chosen)
      checkNames(all, chosen)
    }
    FileChecks.checkFiles(table.target, chosen)
    committer.checkListed(chosen)
    chosen
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
