package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{ScalarSubquery => _, _}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{
  BatchScanExec,
  DataSourceV2ScanRelation,
  FileScan
}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.types._

import io.sparkzorder.ordering.TypeBridge

/**
 * Whether the rows of a query are the same when Spark makes a part of them again.
 *
 * If an executor is lost, Spark repeats the tasks whose output was lost with it. A shuffle then deals the
 * rows of these tasks once more, while some files are written already. A row that differs from its first
 * version may belong to another cell, and would be written twice or not at all. Spark's plain INSERT has
 * no shuffle between the query and the files, so only a shuffle of ours can do that.
 *
 * Rows differ if the query is not deterministic, and also if the query depends on the order in
 * which its rows come out of an earlier shuffle, because this order is that in which blocks arrive.
 */
private[ordered] object RepeatedRows {

  // Names, because Spark's versions have different classes. A logical operator and its physical one have
  // similar names.
  private val OfManyRows =
    Seq("MapPartitions", "MapIn", "MapGroups", "FlatMap", "CoGroup", "ScriptTransformation")

  /** Why the rows may differ. */
  def obstacle(query: LogicalPlan): Option[String] = in(query)

  private def in(plan: QueryPlan[_]): Option[String] = {
    val below = plan.children.map(_.asInstanceOf[QueryPlan[_]]) ++ joined(plan)
    at(plan).orElse(first(below.iterator.map(in)))
  }

  private def first(found: Iterator[Option[String]]): Option[String] =
    found.collectFirst { case Some(why) => why }

  /** The subqueries that Spark turns into joins later. Others run once, and their result stays. */
  private def joined(node: QueryPlan[_]): Seq[LogicalPlan] =
    node.expressions.flatMap(_.collect {
      case subquery: SubqueryExpression if isJoined(subquery) => subquery.plan
    })

  private def isJoined(subquery: SubqueryExpression): Boolean = subquery match {
    case scalar: ScalarSubquery => scalar.isCorrelated
    case _ => true
  }

  private def at(node: QueryPlan[_]): Option[String] = node match {
    // cached rows are computed again where they are lost
    case cached: InMemoryRelation => in(cached.cacheBuilder.cachedPlan)
    case scan: InMemoryTableScanExec => in(scan.relation.cacheBuilder.cachedPlan)
    case adaptive: AdaptiveSparkPlanExec => in(adaptive.initialPlan)
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail | _: LimitExec |
        _: TakeOrderedAndProjectExec =>
      Some("the query has a limit")
    case _: Sample | _: SampleExec => Some("the query draws a sample")
    // a function of many rows sees them in the order in which they come
    case _ if OfManyRows.exists(node.nodeName.contains) =>
      Some(s"the operator ${node.nodeName} may depend on the order of its rows")
    case _ if node.children.isEmpty && !isStored(node) =>
      Some(s"nobody knows what ${node.nodeName} reads a second time")
    case _ if node.expressions.exists(!_.deterministic) => Some("the query is not deterministic")
    case _ if groupingKeys(node).exists(k => hasEqualTexts(k.dataType)) =>
      Some("of texts that its collation takes for equal, a group keeps the first")
    case _ => first(node.expressions.iterator.map(ordered))
  }

  /** Leaves that give the same rows when they are read again: files, and rows of the plan itself. */
  private def isStored(leaf: QueryPlan[_]): Boolean = leaf match {
    case relation: LogicalRelation => relation.relation.isInstanceOf[HadoopFsRelation]
    case relation: DataSourceV2ScanRelation => isOfFiles(relation.scan)
    case scan: BatchScanExec => isOfFiles(scan.scan)
    case _: HiveTableRelation | _: LocalRelation | _: Range | _: OneRowRelation => true
    case _: CTERelationRef => true
    case _: FileSourceScanLike | _: LocalTableScanExec | _: RangeExec => true
    // the shuffle that is used again is elsewhere in the plan
    case _: ReusedExchangeExec => true
    case other => other.output.isEmpty || Stored(other.getClass.getSimpleName)
  }

  // Iceberg reads one snapshot
  private def isOfFiles(scan: Scan): Boolean =
    scan.isInstanceOf[FileScan] || scan.getClass.getName.startsWith("org.apache.iceberg.")

  // classes that some versions do not have, or that are in another module
  private val Stored =
    Set(
      "HiveTableScanExec",
      "EmptyRelationExec",
      "OneRowRelationExec",
      "CommandResult",
      "CommandResultExec")

  private def groupingKeys(node: QueryPlan[_]): Seq[Expression] = node match {
    case a: Aggregate => a.groupingExpressions
    case a: BaseAggregateExec => a.groupingExpressions
    case _ => Nil
  }

  /** Texts that differ in bytes and are equal in their collation. */
  private def hasEqualTexts(dataType: DataType): Boolean = dataType match {
    case text: StringType => !TypeBridge.isTextInBinaryOrder(text)
    case s: StructType => s.exists(f => hasEqualTexts(f.dataType))
    case a: ArrayType => hasEqualTexts(a.elementType)
    case _ => false
  }

  private def ordered(e: Expression): Option[String] =
    e.collectFirst {
      case a: AggregateExpression if !isFreeOfOrder(a.aggregateFunction) =>
        a.aggregateFunction.prettyName
      case w: WindowExpression if !isFreeOfOrder(w) =>
        w.windowFunction match {
          case a: AggregateExpression => a.aggregateFunction.prettyName
          case function => function.prettyName
        }
    }.map(name => s"$name may depend on the order of its rows")

  private def isFreeOfOrder(window: WindowExpression): Boolean =
    window.windowFunction match {
      // rows of equal rank get the same value
      case _: Rank | _: DenseRank | _: PercentRank | _: CumeDist => true
      case _: AggregateExpression =>
        window.windowSpec.frameSpecification match {
          case SpecifiedWindowFrame(RowFrame, UnboundedPreceding, UnboundedFollowing) => true
          case SpecifiedWindowFrame(RangeFrame, _, _) => true
          case _ => false
        }
      case _ => false
    }

  private def isFreeOfOrder(function: AggregateFunction): Boolean = function match {
    case _: Count | _: HyperLogLogPlusPlus => true
    case _: Min | _: Max => !hasEqualTexts(function.dataType)
    case _: BitAndAgg | _: BitOrAgg | _: BitXorAgg => true
    case s: Sum => isExact(s)
    // an average of whole numbers is a sum of DOUBLEs, which are exact up to 2^53: 4 million INTs may
    // have a larger sum, but no table has rows enough for SMALLINTs
    case a: Average => a.child.dataType match {
        case ByteType | ShortType => true
        case decimal => hasRoom(decimal)
      }
    case _ => false
  }

  /** Whether the sum is the same in every order, also where the sum of a part is too large. */
  private def isExact(sum: Sum): Boolean = sum.child.dataType match {
    case ByteType | ShortType | IntegerType => true
    // Spark goes on with 64 bits of the sum, or fails; try_sum makes NULL of the part
    case LongType => !isTry(sum)
    // the last bits of a sum of floating-point numbers depend on the order
    case other => hasRoom(other)
  }

  // the mode itself before Spark 4.1, a part of the context since
  private def isTry(sum: Sum): Boolean = {
    val modes = sum.productIterator.toSeq.flatMap {
      case _: Expression => Nil
      case context: scala.Product => context.productIterator.toSeq
      case mode => Seq(mode)
    }
    modes.exists(_ == EvalMode.TRY)
  }

  /** Whether the ten digits that Spark adds to a sum of DECIMALs fit: without them, a part becomes NULL. */
  private def hasRoom(dataType: DataType): Boolean = dataType match {
    case d: DecimalType => d.precision + 10 <= DecimalType.MAX_PRECISION
    case _ => false
  }
}
