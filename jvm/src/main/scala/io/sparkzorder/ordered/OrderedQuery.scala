// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Ascending,
  Attribute,
  AttributeMap,
  AttributeSet,
  Expression,
  SortOrder
}
import org.apache.spark.sql.catalyst.optimizer.FoldablePropagation
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, RebalancePartitions, Sort}
import org.apache.spark.sql.execution.datasources.{
  InsertIntoHadoopFsRelationCommand,
  V1WriteCommand,
  V1WritesUtils
}
import org.apache.spark.sql.internal.SQLConf

/** Puts a sort on the query of a write: by what Spark's writer requires, then by the declared key. */
private[ordered] final class OrderedQuery(write: V1WriteCommand) {
  import OrderedQuery._

  private val partitions = AttributeSet(write.partitionColumns)

  /**
   * @param key by which the rows are ordered, over `query`
   * @param query the rows to write
   */
  def by(key: OrderKey, query: LogicalPlan): LogicalPlan = {
    // Spark's writer makes '' NULL in these columns, which would put the rows of two values into one
    // file, one value behind the other. So we do it, and below our sort.
    val converted = V1WritesUtils.convertEmptyToNull(query.output, write.partitionColumns)
    if (converted.isEmpty) {
      write.withNewChildren(Seq(sorted(withoutConstants(prefix, query), key, query)))
    } else {
      val input = Project(converted, query)
      val renamed = AttributeMap(query.output.zip(input.output))
      def moved(e: Expression) = e.transform { case a: Attribute => renamed.getOrElse(a, a) }
      val required = withoutConstants(prefix.map(moved), input)
      write.withNewChildren(Seq(sorted(required, key.map(moved), input)))
        .transformExpressions {
          case a: Attribute if renamed.contains(a) => a.withExprId(renamed(a).exprId)
        }
    }
  }

  /**
   * From SPARK-53738 on, Spark's rule does not require an order by constant columns, and knows a sort
   * only if such columns are not in it.
   */
  private def withoutConstants(required: Seq[Expression], query: LogicalPlan): Seq[Expression] =
    if (required.isEmpty || !SQLConf.get.plannedWriteEnabled || !leavesOutConstants) required
    else {
      FoldablePropagation(Sort(
        required.map(SortOrder(_, Ascending)),
        global = false,
        query)) match {
        case s: Sort => s.order.map(_.child).filterNot(_.foldable)
        case _ => required
      }
    }

  /**
   * What Spark's writer sorts by: dynamic partition columns, bucket, sort columns of the bucket.
   * Spark leaves it out where several files are open at once; such a writer is also content with
   * sorted rows.
   */
  private def prefix: Seq[Expression] =
    if (write.requiredOrdering.nonEmpty) write.requiredOrdering.map(_.child)
    else {
      val data = write.outputColumns.filterNot(partitions.contains)
      dynamicPartitions(write) ++
        V1WritesUtils.getWriterBucketSpec(write.bucketSpec, data, write.options)
          .map(_.bucketIdExpression) ++
        V1WritesUtils.getBucketSortColumns(write.bucketSpec, data)
    }
}

private[ordered] object OrderedQuery {

  def dynamicPartitions(write: V1WriteCommand): Seq[Attribute] = write match {
    case w: InsertIntoHadoopFsRelationCommand => w.partitionColumns.drop(w.staticPartitions.size)
    // Hive's command has only the dynamic ones
    case _ => write.partitionColumns
  }

  // the method is missing in earlier bug-fix versions of the same lines
  private lazy val leavesOutConstants: Boolean =
    V1WritesUtils.getClass.getMethods.exists(_.getName == "eliminateFoldableOrdering")

  /** What a query has of the sort. */
  sealed trait Mark
  case object Complete extends Mark
  final case class KeyOnly(keys: Seq[DeclaredKey], query: LogicalPlan) extends Mark

  /** The mark of a query that this class has made. */
  def mark(query: LogicalPlan): Option[Mark] = query match {
    case Project(_, Sorted(orders, child)) if marksIn(orders).nonEmpty || isKeyed(child) =>
      Some(Complete)
    case Sorted(orders, child) if orders.nonEmpty && marksIn(orders).size == orders.size =>
      Some(KeyOnly(marksIn(orders), child))
    case Sorted(orders, _) if marksIn(orders).nonEmpty => Some(Complete)
    case _ => None
  }

  /** A query with nothing but the key, for a write that is planned later. */
  def keyOnly(keys: Seq[DeclaredKey], query: LogicalPlan): LogicalPlan =
    Sort(keys.map(SortOrder(_, Ascending)), global = false, query)

  /**
   * @param required expressions to sort by first
   * @return the rows of `query`, with the same columns
   */
  private def sorted(
      required: Seq[Expression],
      key: OrderKey,
      query: LogicalPlan): LogicalPlan = {
    def ascending(e: Expression) = SortOrder(e, Ascending)
    if (key.cells.isEmpty && key.marked.forall(_.child.isInstanceOf[Attribute])) {
      Sort((required ++ key.marked).map(ascending), global = false, query)
    } else {
      // a column of its own: behind other columns, a comparison would compute the key anew
      val columns = key.marked.zipWithIndex.map { case (k, i) => Alias(k, s"_zorder_key_$i")() }
      val keyed = Project(query.output ++ columns, query)
      val dealt = key.cells.fold[LogicalPlan](keyed)(_.deal(keyed, columns.map(_.toAttribute)))
      val sort =
        Sort((required ++ columns.map(_.toAttribute)).map(ascending), global = false, dealt)
      Project(query.output, sort)
    }
  }

  private object Sorted {
    def unapply(plan: LogicalPlan): Option[(Seq[Expression], LogicalPlan)] = plan match {
      case s: Sort if !s.global => Some((s.order.map(_.child), s.child))
      case _ => None
    }
  }

  private def marksIn(orders: Seq[Expression]): Seq[DeclaredKey] =
    orders.collect { case k: DeclaredKey => k }

  private def isKeyed(plan: LogicalPlan): Boolean = plan match {
    case r: RebalancePartitions => isKeyed(r.child)
    case Project(list, _) => list.exists(_.exists(_.isInstanceOf[DeclaredKey]))
    case _ => false
  }
}
