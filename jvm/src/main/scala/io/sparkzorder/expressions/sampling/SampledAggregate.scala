package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}

/** Calls over the results of an aggregate, as in `SELECT zorder(max(a), b) ... GROUP BY b`. */
private[sparkzorder] object SampledAggregate {

  def isOverGroups(call: SampledCall): Boolean =
    call.children.exists(_.exists(_.isInstanceOf[AggregateExpression]))

  /** The same result as a projection, which has the calls over groups, of the aggregate. */
  def split(aggregate: Aggregate): Project = {
    val computed = Seq.newBuilder[NamedExpression]
    def below(e: Expression): Expression =
      if (e.foldable) e
      else if (!e.exists(isCallOverGroups)) {
        val alias = Alias(e, "group")()
        computed += alias
        alias.toAttribute
      } else e.mapChildren(below)
    val above = aggregate.aggregateExpressions.map {
      case e if e.exists(isCallOverGroups) => below(e).asInstanceOf[NamedExpression]
      case e =>
        computed += e
        e.toAttribute
    }
    Project(above, aggregate.copy(aggregateExpressions = computed.result()))
  }

  private def isCallOverGroups(e: Expression): Boolean = e match {
    case c: SampledCall => c.isSampled && isOverGroups(c)
    case _ => false
  }
}
