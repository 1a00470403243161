package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Which nodes of a plan compute nothing that could fail on NULL in place of a value. Nodes and
 * expressions that are not known here count as able to fail.
 */
private[dynamic] object StrictExpressions {

  def isPlain(node: LogicalPlan): Boolean = node match {
    case p: Project => p.projectList.forall(isStrict)
    case f: Filter => isTotal(f.condition)
    case j: Join => j.condition.forall(isTotal)
    case _: Sort | _: Union => node.expressions.forall(isStrict)
    case _ => false
  }

  /** NULL for NULL, whatever the other columns hold. */
  private def isStrict(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => true
    case a: Alias => isStrict(a.child)
    case _: GetStructField | _: Cast | _: BinaryArithmetic | _: BinaryComparison =>
      !e.isInstanceOf[EqualNullSafe] && e.children.forall(isStrict)
    case _ => false
  }

  /** Never an error on NULL. */
  private def isTotal(e: Expression): Boolean = e match {
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: Coalesce =>
      e.children.forall(isTotal)
    case _: BinaryComparison | _: In | _: InSet => e.children.forall(isTotal)
    case _ => isStrict(e)
  }
}
