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
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.TableFiles

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
