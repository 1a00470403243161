package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

import io.sparkzorder.commands.TargetAction

/**
 * A statement on a target that is not looked up yet.
 *
 * @param child the target: Spark's unresolved table, [[PathTable]] or [[PathOrTable]]
 * @param action what the statement does with it
 */
final case class TargetStatement(child: LogicalPlan, action: TargetAction) extends UnaryNode {
  override def output: Seq[Attribute] = Nil
  // replaced by ResolveZOrderStatements as soon as the child is known
  override lazy val resolved: Boolean = false
  override protected def withNewChildInternal(newChild: LogicalPlan): TargetStatement =
    copy(child = newChild)
}
