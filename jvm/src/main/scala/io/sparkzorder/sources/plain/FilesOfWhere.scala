// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.execution.datasources.{
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}
import org.apache.spark.sql.sources.BaseRelation
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.types.{IntegerType, StructType}

import io.sparkzorder.commands.{TableState, WhereClause}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.skipping.predicate.FilterOnFooters
import io.sparkzorder.table.TableFiles

/**
 * The files that a WHERE clause chooses by its predicates on data columns: all files except those in which, by the
 * minima and maxima of their footers, no row can match. Spark resolves and simplifies the predicate as for a query,
 * so constants, casts and time zones mean the same as in a query. No row is read.
 */
private[plain] object FilesOfWhere {

  /**
   * @return paths of the files that the clause chooses; None if the clause uses no data column, or if there
   *   are no files
   * @throws org.apache.spark.sql.AnalysisException as for a query with this predicate
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PREDICATE_NOT_TRANSLATABLE
   */
  def choose(inputs: PlainInputs, where: WhereClause): Option[Set[Path]] =
    // without files there is no schema to look columns up in
    where.onFiles.filter(_ => inputs.files.nonEmpty).map(choose(inputs, where, _))

  private def choose(
      inputs: PlainInputs,
      where: WhereClause,
      predicate: Expression): Set[Path] = {
    val session = inputs.session
    val relation = HadoopFsRelation(
      // the relation is planned but never read, so it needs no files
      new InMemoryFileIndex(session, Nil, Map.empty, None),
      inputs.listed.partitionSchema,
      inputs.schema,
      None,
      inputs.target.format.reader,
      Map.empty)(session)
    val own = LogicalRelation(relation).copy(output = where.attributes(relation.schema))
    val table = where.named(own)
    val query = SparkLine.frame(session, Filter(predicate, table)).queryExecution
    where.checkAnalyzed(query.analyzed, isOfFiles = true)
    matching(inputs, query.optimizedPlan, relation)
  }

  private def matching(
      inputs: PlainInputs,
      plan: LogicalPlan,
      relation: HadoopFsRelation): Set[Path] = {
    val filters = plan.collect { case f: Filter => f.condition }
    def isOwn(r: BaseRelation) = r match {
      // column pruning makes a new relation, which has the same location object
      case fs: HadoopFsRelation => fs.location eq relation.location
      case _ => false
    }
    val files =
      plan.collectFirst { case r: LogicalRelation if isOwn(r.relation) => r.output } match {
        case Some(output) =>
          val conf = inputs.session.sessionState.conf
          val filter =
            new FilterOnFooters(output, inputs.schema, inputs.listed.partitionSchema, conf)
          val kept = filter(filters, inputs.files)
          inputs.files.zipWithIndex.collect { case (f, i) if kept.get(i) => f }
        // if the predicate can never be true, the optimizer leaves no relation in the plan
        case None if plan.collectLeaves().forall(isEmpty) => Nil
        case None => inputs.files
      }
    files.map(_.file.path).toSet
  }

  private def isEmpty(leaf: LogicalPlan): Boolean = leaf match {
    case rows: LocalRelation => rows.data.isEmpty
    case _ => false
  }
}

/** The partitions that a WHERE clause chooses. */
private[plain] final class PartitionsOfWhere(table: TableState, where: WhereClause) {

  /**
   * The listing, reduced to the folders that the partition predicates of the clause choose. The
   * predicates run as a query over the partition values, so they may use every expression that
   * Spark knows.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_OUTSIDE_TABLE when the
   *   predicates choose a partition outside of the table's directory
   */
  def choose(all: TableFiles): TableFiles =
    where.onPartitions.map { predicate =>
      val values = all.folders.map(_.values) ++ all.outside.map(_.values)
      val chosen = matching(predicate, all.partitionSchema, values)
      all.outside.zipWithIndex.find(o => chosen(all.folders.size + o._2)).foreach { case (o, _) =>
        throw ZOrderErrors.partitionOutsideTable(table.target.name, o.spec, o.location)
      }
      val folders = all.folders.zipWithIndex.collect { case (f, i) if chosen(i) => f }.toSet
      all.onlyFolders(folders).copy(outside = Nil)
    }.getOrElse(all)

  /** Positions in `rows` of the partition values that match. */
  private def matching(
      predicate: Expression,
      schema: StructType,
      rows: Seq[InternalRow]): Set[Int] = {
    val attributes = where.attributes(schema)
    val position = AttributeReference("_zorder_position", IntegerType, nullable = false)()
    val local = LocalRelation(
      attributes :+ position,
      rows.zipWithIndex.map { case (values, i) =>
        InternalRow.fromSeq(values.toSeq(schema) :+ i)
      })
    val plan = Project(Seq(position), Filter(predicate, where.named(local)))
    val chosen = Set.newBuilder[Int]
    val frame = SparkLine.frame(table.user, plan)
    where.checkAnalyzed(frame.queryExecution.analyzed, isOfFiles = false)
    SparkPrivate.foreachInternal(frame)(row => chosen += row.getInt(0))
    chosen.result()
  }
}
