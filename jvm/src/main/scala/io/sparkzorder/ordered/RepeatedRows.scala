package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.{
  GlobalLimit,
  LocalLimit,
  LogicalPlan,
  Offset,
  Sample,
  Tail
}
import org.apache.spark.sql.execution.{LimitExec, SampleExec}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.types._

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
  // the same name.
  private val OfManyRows =
    Seq(
      "MapPartitions",
      "MapIn",
      "PythonMapIn",
      "MapGroups",
      "FlatMap",
      "CoGroup",
      "ScriptTransformation")

  /** Why the rows may differ. */
  def obstacle(query: LogicalPlan): Option[String] = in(query)

  private def in(plan: QueryPlan[_]): Option[String] =
    at(plan).orElse(
      plan.children.iterator.map(c => in(c.asInstanceOf[QueryPlan[_]])).collectFirst {
        case Some(why) => why
      })

  private def at(node: QueryPlan[_]): Option[String] = node match {
    // cached rows are computed again where they are lost
    case cached: InMemoryRelation => in(cached.cacheBuilder.cachedPlan)
    case scan: InMemoryTableScanExec => in(scan.relation.cacheBuilder.cachedPlan)
    case adaptive: AdaptiveSparkPlanExec => in(adaptive.initialPlan)
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail | _: LimitExec =>
      Some("the query has a limit")
    case _: Sample | _: SampleExec => Some("the query draws a sample")
    // a function of many rows sees them in the order in which they come
    case _ if OfManyRows.exists(node.nodeName.startsWith) =>
      Some(s"the operator ${node.nodeName} may depend on the order of its rows")
    case _ if node.expressions.exists(!_.deterministic) => Some("the query is not deterministic")
    case _ => node.expressions.iterator.map(ordered).collectFirst { case Some(why) => why }
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
    case _: Count | _: Min | _: Max | _: HyperLogLogPlusPlus => true
    case _: BitAndAgg | _: BitOrAgg | _: BitXorAgg => true
    // the last bits of a sum of floating-point numbers depend on the order
    case s: Sum => isExact(s.child.dataType) || s.child.dataType == LongType
    // an average of whole numbers is a sum of DOUBLEs, which are exact up to 2^53
    case a: Average => isExact(a.child.dataType)
    case _ => false
  }

  private def isExact(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType => true
    case _: DecimalType => true
    case _ => false
  }
}
