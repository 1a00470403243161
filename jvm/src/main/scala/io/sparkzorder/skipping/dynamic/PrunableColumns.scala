// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

import io.sparkzorder.conf.RelationConf
import io.sparkzorder.skipping.predicate.CompiledFilters
import io.sparkzorder.skipping.scan.{
  FormatTable,
  IndexPruning,
  ScanFilters,
  ScanStrategy,
  TableRoots
}
import io.sparkzorder.workload.RecordSettings

/**
 * Finds out whether the keys of a join can prune files of a relation: from the skipping index of the relation, or
 * from the metadata of a Delta or Iceberg table. One object serves the planning of one query, so the estimate for a
 * key and a relation is computed once.
 *
 * @param isReplaced true if an accelerator may replace the scans. The scans of other table formats then
 *   stay as they are, because the accelerator recognizes only the scans that Spark and the format plan
 */
private[dynamic] final class PrunableColumns(isReplaced: Boolean) {
  private val shares = mutable.HashMap.empty[(LogicalPlan, Expression), Option[Double]]
  private val bytes = mutable.HashMap.empty[(LogicalPlan, Seq[Expression]), Long]
  private val indexes = new IdentityHashMap[LogicalRelation, Option[IndexPruning]]
  private val formats = new IdentityHashMap[LogicalPlan, Option[FormatTable]]

  /**
   * The share of the files of a relation that one key keeps on average.
   *
   * @param keys the expressions that are compared with the key; a file is kept if any of these expressions may
   *   be equal to the key
   * @return None if keys cannot prune files: there is no index, the bounds of the column are unknown, or
   *   nearly every file covers nearly the whole range of the values
   */
  def share(keys: Seq[Expression], relation: LogicalPlan): Option[Double] = {
    val shares = keys.map(known(_, relation))
    if (shares.contains(None)) None
    else Some(shares.flatten.sum).filter(_ <= PrunableColumns.MaxShare)
  }

  /**
   * True if another run of the plans costs far less than reading the files that their results may prune.
   * How many files the results prune is not known before the run: with many keys, each file may have one of them.
   * The run must therefore be so cheap that its cost is small even if the results prune no file.
   *
   * @param share the share of the files of the relation that one key keeps, which is the least share that the
   *   results can keep
   */
  def isCheaper(plans: Seq[LogicalPlan], share: Double, relation: LogicalPlan): Boolean = {
    val gain = BigDecimal(relation.stats.sizeInBytes) * (1 - share)
    def pays(cost: BigDecimal) =
      (if (cost <= PrunableColumns.CheapRun) cost else cost * PrunableColumns.MaxLoss) < gain
    pays(BigDecimal(plans.flatMap(_.collectLeaves()).map(_.stats.sizeInBytes).sum)) ||
    pays(plans.map(bytesRead).sum)
  }

  /**
   * The relation with the filters that are worth their cost. A filter whose key may fail is left out if the scan would
   * test rows by it: another filter may drop such a row first.
   */
  def insert(r: LogicalPlan, filters: Seq[KeyFilter]): LogicalPlan = {
    val safe = filters.filterNot(f => f.canFailOnRows && f.sources.exists(_.isOnRows))
    val (worth, others) =
      safe.partition(f => share(f.keys, r).exists(f.isWorth(_, r, this)))
    val forRecord = r match {
      case l: LogicalRelation => others.filter(f => f.isForRecord && isRecorded(f.keys, l))
      case _ => Nil
    }
    val useful = (worth ++ forRecord).filterNot(f => worth.exists(_.isNarrower(f)))
      .take(PrunableColumns.MaxFilters)
    useful.foreach(_.markUsed())
    useful.map(_.onFiles).reduceOption[Expression](And).fold[LogicalPlan](r)(Filter(_, r))
  }

  /** The bytes that a run of the plan reads, without the files that the conditions of a scan prune. */
  private def bytesRead(plan: LogicalPlan): BigDecimal = plan match {
    case PhysicalOperation(_, conditions, leaf: LeafNode) =>
      val known = conditions.filterNot(_.exists(_.isInstanceOf[PlanExpression[_]]))
      val pruned =
        if (known.isEmpty) 0L
        else bytes.getOrElseUpdate((leaf, known), compiled(known, leaf).map(_.bytesPruned).sum)
      (BigDecimal(leaf.stats.sizeInBytes) - pruned).max(0)
    case node => node.children.map(bytesRead).sum
  }

  /** The conditions on data columns, compiled for each table with known bounds that the leaf reads. */
  private def compiled(conditions: Seq[Expression], leaf: LogicalPlan): Seq[CompiledFilters] =
    leaf match {
      case r: LogicalRelation if ScanStrategy.canIndex(r) =>
        val onData = conditions.filter(ScanFilters.isOnData(_, r))
        if (onData.isEmpty) Nil
        else {
          val found = pruningOf(r).toSeq.flatMap(_.ask(onData)).flatMap(_.filter)
          // no usable index was found, so no other key of the query looks for one
          if (found.isEmpty) indexes.put(r, None)
          found
        }
      case scan => tableOf(scan).toSeq.flatMap { table =>
          val onData = conditions.filter(FormatTable.isOnData(_, scan, table))
          if (onData.isEmpty) None
          else Some(table.known(onData, FormatTable.columnsOf(scan.output)))
        }
    }

  /**
   * True if the scans of a relation are recorded ([[io.sparkzorder.workload]]), and its index knows the
   * column of each key. The scan then gets the keys even if they prune no file, because they could prune
   * files in another layout.
   */
  def isRecorded(keys: Seq[Expression], relation: LogicalRelation): Boolean =
    RecordSettings.isOn(relation.catalogTable.fold(Map.empty[String, String])(_.properties)) &&
      keys.forall(known(_, relation).isDefined)

  private def known(key: Expression, relation: LogicalPlan): Option[Double] =
    shares.getOrElseUpdate(
      (relation, key.canonicalized),
      Try(Literal.default(key.dataType)).toOption.flatMap { some =>
        // if a scan reads several tables, the share of the table in which a key prunes most files counts
        compiled(Seq(EqualTo(key, some)), relation)
          .filter(_.isUseful).flatMap(_.shareKeptBy(key)).reduceOption(_ min _)
      })

  private def tableOf(scan: LogicalPlan): Option[FormatTable] =
    if (isReplaced) None else formats.computeIfAbsent(scan, FormatTable.of(_))

  /**
   * The indexes of a relation; None if the relation has none. They are cached, because a query may have
   * many keys.
   */
  private def pruningOf(relation: LogicalRelation): Option[IndexPruning] =
    indexes.computeIfAbsent(
      relation,
      _.relation match {
        case fs: HadoopFsRelation if ScanStrategy.canIndex(relation) =>
          val settings = new RelationConf(fs)
          val roots = new TableRoots(relation.catalogTable, settings)
          Some(new IndexPruning(fs, relation.output, settings, roots))
        case _ => None
      })
}

private[dynamic] object PrunableColumns {

  /** If one key keeps more than this share of the files, filtering is not worth its cost. */
  val MaxShare = 0.9

  /** Below this number of bytes, a second run costs about as much as starting its tasks. */
  private val CheapRun = BigDecimal(1 << 20)

  /** A larger second run may read at most a sixteenth of the bytes that a filter by one key would save. */
  private val MaxLoss = 16

  /** The maximum number of filters on one relation. */
  private val MaxFilters = 8
}
