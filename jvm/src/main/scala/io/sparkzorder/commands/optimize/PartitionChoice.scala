package io.sparkzorder.commands.optimize

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, Project}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{IntegerType, StructType}

import io.sparkzorder.commands.WhereClause
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.{TableFiles, Target}

/**
 * Which folders the partition predicates of a WHERE clause choose. They run as a query over the
 * partition values, so that every expression that Spark knows may be used.
 */
final class PartitionChoice(session: Session, target: Target, where: WhereClause) {

  /**
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PARTITION_OUTSIDE_TABLE when the predicate
   *   chooses a partition that lies elsewhere
   */
  def apply(files: TableFiles): TableFiles = where.onPartitions.map { predicate =>
    val rows = files.folders.map(f => (f.ordinal, f.values)) ++
      files.outside.zipWithIndex.map { case (o, i) => (-1 - i, o.values) }
    val chosen = choose(predicate, files.partitionSchema, rows)
    chosen.find(_ < 0).foreach { n =>
      val o = files.outside(-1 - n)
      throw ZOrderErrors.partitionOutsideTable(target.name, o.spec, o.location)
    }
    files.onlyFolders(f => chosen(f.ordinal)).copy(outside = Nil)
  }.getOrElse(files)

  private def choose(
      predicate: Expression,
      schema: StructType,
      rows: Seq[(Int, InternalRow)]): Set[Int] = {
    val attributes = DataTypeUtils.toAttributes(schema)
    val ordinal = AttributeReference("_zorder_ordinal", IntegerType, nullable = false)()
    val local = LocalRelation(
      attributes :+ ordinal,
      rows.map { case (n, values) => InternalRow.fromSeq(values.toSeq(schema) :+ n) })
    val plan = Project(Seq(ordinal), Filter(predicate, where.named(local)))
    val chosen = Set.newBuilder[Int]
    SparkPrivate.foreachInternal(SparkLine.frame(session, plan))(row => chosen += row.getInt(0))
    chosen.result()
  }
}
