// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, Project}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.types.{IntegerType, StructType}

import io.sparkzorder.commands.{TableState, WhereClause}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Returned, Reused, TableLog}
import io.sparkzorder.snapshot.Snapshot
import io.sparkzorder.sources.{Statement, TableListing, TableSnapshot}
import io.sparkzorder.table.{FileChecks, OrderingColumn, TableFiles, TableLister}
import io.sparkzorder.table.stats.ColumnNames

/** The files of the partitions that WHERE chooses, as the records have them. */
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
    // refuses what cannot be written back, before anything is read
    val _ = snapshot.output
    snapshot
  }

  // the listing knows the partition columns
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
        where.fold(all)(pruned(all, _))
      },
      (files, whole) => {
        listed = Some(files)
        Snapshot.of(table.state, files, whole)
      })
    listed.foreach(checkNames(_, chosen))
    FileChecks.checkFiles(table.target, chosen)
    committer.checkListed(chosen)
    chosen
  }

  /**
   * Refuses files that another program has put under names which a run has replaced.
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

  /**
   * The listing, reduced to the folders that the partition predicates of the clause choose. The
   * predicates run as a query over the partition values, so they may use every expression that
   * Spark knows.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_OUTSIDE_TABLE when the
   *   predicates choose a partition outside of the table's directory
   */
  private def pruned(all: TableFiles, where: WhereClause): TableFiles =
    where.onPartitions.map { predicate =>
      val values = all.folders.map(_.values) ++ all.outside.map(_.values)
      val chosen = matching(predicate, where, all.partitionSchema, values)
      all.outside.zipWithIndex.find(o => chosen(all.folders.size + o._2)).foreach { case (o, _) =>
        throw ZOrderErrors.partitionOutsideTable(table.target.name, o.spec, o.location)
      }
      val folders = all.folders.zipWithIndex.collect { case (f, i) if chosen(i) => f }.toSet
      all.onlyFolders(folders).copy(outside = Nil)
    }.getOrElse(all)

  /** Positions in `rows` of the partition values that match. */
  private def matching(
      predicate: Expression,
      where: WhereClause,
      schema: StructType,
      rows: Seq[InternalRow]): Set[Int] = {
    val attributes = DataTypeUtils.toAttributes(schema)
    val position = AttributeReference("_zorder_position", IntegerType, nullable = false)()
    val local = LocalRelation(
      attributes :+ position,
      rows.zipWithIndex.map { case (values, i) =>
        InternalRow.fromSeq(values.toSeq(schema) :+ i)
      })
    val plan = Project(Seq(position), Filter(predicate, where.named(local)))
    val chosen = Set.newBuilder[Int]
    val frame = SparkLine.frame(table.user, plan)
    where.checkAnalyzed(frame.queryExecution.analyzed)
    SparkPrivate.foreachInternal(frame)(row => chosen += row.getInt(0))
    chosen.result()
  }
}
