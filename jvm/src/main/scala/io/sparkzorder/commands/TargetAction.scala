package io.sparkzorder.commands

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import io.sparkzorder.table.Target

/**
 * What a statement does with the table that it names: all of the statement but its target. It is no
 * plan and no expression, so the analyzer does not look inside.
 */
trait TargetAction {

  /** The statement's name as messages have it, such as UNDO LAYOUT. */
  def statement: String

  /** The command, as soon as the target is known; nothing is read or checked before it runs. */
  def command(target: Target): LogicalPlan

  /**
   * The command for a table of another kind of catalog; None where the statement does not take such.
   *
   * @param name of the table, its catalog included, quoted as SQL has it
   * @param format such as `delta` or `iceberg`
   */
  def commandOnOther(name: String, format: String): Option[LogicalPlan] = None
}
