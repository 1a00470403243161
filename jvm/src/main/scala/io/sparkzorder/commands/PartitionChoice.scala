package io.sparkzorder.commands

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, Project, SubqueryAlias}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{IntegerType, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.tables.{CatalogTarget, TableFiles, Target}

/**
 * Which folders a WHERE predicate chooses. The predicate runs as a query over the partition values,
 * so that every expression that Spark knows may be used.
 */
final class PartitionChoice(session: Session, target: Target, where: Expression) {
  private val sameName = session.sessionState.conf.resolver

  /**
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PREDICATE_NOT_ON_PARTITIONS;
   *   ZORDER_PARTITION_OUTSIDE_TABLE when the predicate chooses a partition that lies elsewhere
   */
  def apply(files: TableFiles): TableFiles = {
    checkColumns(files)
    val rows = files.folders.map(f => (f.ordinal, f.values)) ++
      files.outside.zipWithIndex.map { case (o, i) => (-1 - i, o.values) }
    val chosen = choose(files.partitionSchema, rows)
    chosen.find(_ < 0).foreach { n =>
      val o = files.outside(-1 - n)
      throw ZOrderErrors.partitionOutsideTable(target.name, o.spec, o.location)
    }
    files.onlyFolders(f => chosen(f.ordinal)).copy(outside = Nil)
  }

  private def choose(schema: StructType, rows: Seq[(Int, InternalRow)]): Set[Int] = {
    val attributes = DataTypeUtils.toAttributes(schema)
    val ordinal = AttributeReference("_zorder_ordinal", IntegerType, nullable = false)()
    val local = LocalRelation(
      attributes :+ ordinal,
      rows.map { case (n, values) => InternalRow.fromSeq(values.toSeq(schema) :+ n) })
    val named = target match {
      case CatalogTarget(t) => SubqueryAlias(t.identifier.table, local)
      case _ => local
    }
    val plan = Project(Seq(ordinal), Filter(byName, named))
    val chosen = Set.newBuilder[Int]
    SparkPrivate.foreachInternal(SparkLine.frame(session, plan))(row => chosen += row.getInt(0))
    chosen.result()
  }

  // the analyzer may have bound columns to the table already; here they are those of the partitions
  private def byName: Expression = where.transform { case a: AttributeReference =>
    UnresolvedAttribute(Seq(a.name))
  }

  private def checkColumns(files: TableFiles): Unit = {
    val partition = files.partitionSchema.fieldNames.toSeq
    val used = where.collect {
      case a: AttributeReference => a.name
      case u: UnresolvedAttribute => ownPart(u.nameParts)
    }.distinct
    val foreign = used.filterNot(u => partition.exists(sameName(_, u)))
    if (foreign.nonEmpty || files.partitionSchema.isEmpty) {
      throw ZOrderErrors.predicateNotOnPartitions(
        where.sql,
        if (foreign.isEmpty) Seq("no column") else foreign,
        target.name,
        partition)
    }
  }

  private def ownPart(parts: Seq[String]): String = target match {
    case CatalogTarget(t) if parts.length > 1 && sameName(parts.head, t.identifier.table) =>
      parts(1)
    case _ => parts.head
  }
}
