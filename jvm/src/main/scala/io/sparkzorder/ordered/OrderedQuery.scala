// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Ascending,
  Attribute,
  AttributeMap,
  AttributeSet,
  Expression,
  SortOrder,
  UnaryExpression
}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.optimizer.FoldablePropagation
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, RebalancePartitions, Sort}
import org.apache.spark.sql.execution.datasources.{
  InsertIntoHadoopFsRelationCommand,
  V1WriteCommand,
  V1WritesUtils
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType

/**
 * Orders the rows of a write. If the key has cells, the rows are shuffled. Then the rows are sorted: first by the
 * columns that Spark's writer requires, then by the declared key.
 */
private[ordered] final class OrderedQuery(write: V1WriteCommand) {
  import OrderedQuery._

  private val partitions = AttributeSet(write.partitionColumns)

  /**
   * @param key the key by which the rows are ordered, from the output of `query`
   * @param query the rows to write
   */
  def by(key: OrderKey, query: LogicalPlan): LogicalPlan = {
    // Spark replaces '' by NULL in partition columns. Above our sort, this would put the rows of '' and the rows of
    // NULL into one file, one after the other, and the file would not be sorted. So the replacement is made here,
    // below the sort.
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
   * Removes constant columns from the required order. Since SPARK-53738, Spark's rule `V1Writes` does not require an
   * order by constant columns, and takes a sort for the required one only if the sort lacks such columns.
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
   * The order that Spark's writer requires: dynamic partition columns, bucket, sort columns of the bucket.
   * Spark requires no order if the writer may keep several files open at once, but such a writer also
   * accepts sorted rows.
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
    // for Hive's command, `partitionColumns` has only the dynamic partition columns
    case _ => write.partitionColumns
  }

  // earlier patch releases of the same Spark lines lack this method, so it is looked for at run time
  private lazy val leavesOutConstants: Boolean =
    V1WritesUtils.getClass.getMethods.exists(_.getName == "eliminateFoldableOrdering")

  /** How much of our sort a query already has. */
  sealed trait Mark
  case object Complete extends Mark
  final case class KeyOnly(keys: Seq[DeclaredKey], query: LogicalPlan) extends Mark

  /** The mark of a query that this class has sorted; None for any other query. */
  def mark(query: LogicalPlan): Option[Mark] = query match {
    case Project(_, Sorted(orders, child)) if marksIn(orders).nonEmpty || isKeyed(child) =>
      Some(Complete)
    case Sorted(orders, child) if orders.nonEmpty && marksIn(orders).size == orders.size =>
      Some(KeyOnly(marksIn(orders), child))
    case Sorted(orders, _) if marksIn(orders).nonEmpty => Some(Complete)
    case _ => None
  }

  /** A query that is sorted only by the key, for a nested write that is planned later. */
  def keyOnly(keys: Seq[DeclaredKey], query: LogicalPlan): LogicalPlan =
    Sort(keys.map(SortOrder(_, Ascending)), global = false, query)

  /**
   * @param required the expressions to sort by first
   * @return the sorted rows of `query`, with the same columns
   */
  private def sorted(
      required: Seq[Expression],
      key: OrderKey,
      query: LogicalPlan): LogicalPlan = {
    def ascending(e: Expression) = SortOrder(e, Ascending)
    if (key.cells.isEmpty && key.marked.forall(_.child.isInstanceOf[Attribute])) {
      Sort((required ++ key.marked).map(ascending), global = false, query)
    } else {
      // The key becomes a column of its own. Otherwise the sort would compute the key again for each
      // comparison that reaches the key.
      val columns = key.marked.zipWithIndex.map { case (k, i) => Alias(k, s"_zorder_key_$i")() }
      val keyed = Project(query.output ++ columns, query)
      val shuffled = key.cells.fold[LogicalPlan](keyed)(_.of(keyed, columns.head.toAttribute))
      val sort =
        Sort((required ++ columns.map(_.toAttribute)).map(ascending), global = false, shuffled)
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

/**
 * The key by which the rows of a write are ordered.
 *
 * @param marked the expressions to sort by
 * @param cells the shuffle of the rows before the sort; None if the rows are not shuffled
 */
private[ordered] final case class OrderKey(marked: Seq[DeclaredKey], cells: Option[CellShuffle]) {

  /** The same key over other columns. */
  def map(f: Expression => Expression): OrderKey =
    OrderKey(marked.map(f(_).asInstanceOf[DeclaredKey]), cells.map(c => c.copy(path = f(c.path))))
}

/**
 * A shuffle that sends the rows of each cell to one task.
 *
 * @param path the path of the partition directory of a row, relative to the table
 */
private[ordered] final case class CellShuffle(cells: WriteCells, path: Expression) {

  /** @param place the column of `rows` that has the place of the row */
  def of(rows: LogicalPlan, place: Attribute): LogicalPlan =
    RebalancePartitions(Seq(CellOfPlace(place, path, cells)), rows, Some(cells.partitions))
}

/**
 * Marks the key by which a write is ordered. Its value is that of its child.
 *
 * This mark tells [[OrderWrites]] that a query is already ordered. EXPLAIN shows the mark with the grade and the
 * reason for it.
 *
 * @param grade `sort`, `cells` or `sampled`
 * @param why the reason for this grade
 * @param nested the declaration, if a nested write still has to choose the key
 */
private[sparkzorder] case class DeclaredKey(
    child: Expression,
    grade: String,
    why: String,
    nested: Option[DeclaredWrite] = None)
    extends UnaryExpression {
  override def nullable: Boolean = child.nullable
  override def dataType: DataType = child.dataType
  // not foldable, because Spark would otherwise remove a constant sort key, and the mark with it
  override def foldable: Boolean = false
  override def prettyName: String = "declared_order"
  override def toString: String = s"$prettyName($child; $grade: $why)"
  override def sql: String = s"$prettyName(${child.sql})"

  override def eval(input: InternalRow): Any = child.eval(input)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    ev.copy(code = value.code, isNull = value.isNull, value = value.value)
  }

  override protected def withNewChildInternal(newChild: Expression): DeclaredKey =
    copy(child = newChild)
}
