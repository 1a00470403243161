// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import java.io.IOException

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.table.Target
import io.sparkzorder.workload.LaterNotes

/**
 * What a statement does with the table that it names. The table is not a part of the action: the statement is parsed
 * before the table is looked up. A TargetAction is neither a plan nor an expression, so that the analyzer does not
 * look inside.
 */
private[sparkzorder] trait TargetAction {

  /** The statement's name in messages, such as UNDO LAYOUT. */
  def statement: String

  /**
   * This action, for the partitions that a WHERE chooses. The grammar accepts WHERE only for actions that override this
   * method.
   */
  def choosing(where: Option[Expression]): TargetAction = this

  /** Returns the command for a known target. Nothing is read or checked until the command runs. */
  def command(target: Target): LogicalPlan

  /**
   * Returns the command for a table of another format than Parquet and ORC. None if the statement refuses such
   * tables.
   *
   * @param name full name of the table with its catalog, quoted for SQL
   * @param format such as `delta` or `iceberg`
   */
  def commandOnOther(name: String, format: String): Option[LogicalPlan] = None

  /**
   * The advice of the error for a table of another format, such as a statement of that format; None if there is no
   * advice.
   *
   * @param rollback the statement of the format that undoes the last run of OPTIMIZE
   */
  def adviceOnOther(rollback: => Option[String]): Option[String] = None
}

/** An action that accepts only tables of the session catalog and paths. */
private[sparkzorder] trait TableAction extends TargetAction {

  /** Columns of the result, as the SQL reference documents them. */
  def schema: StructType

  def run(session: Session, target: Target): Seq[Row]

  /** What EXPLAIN shows. */
  def description(target: Target): String

  override def command(target: Target): LogicalPlan = TableCommand(target, this)
}

/** An action on the recorded workload of a table. Tables of other formats have a workload, too. */
private[sparkzorder] trait WorkloadAction extends TableAction {

  /**
   * @param state the state directory of the table. For a table of another format, the directory has only the workload
   * @param properties of the table
   */
  def runOnWorkload(
      state: StateDirectory,
      conf: Configuration,
      properties: => Map[String, String]): Seq[Row]

  /** The command for a table of another format. */
  def command(name: String, location: String): LogicalPlan =
    WorkloadCommand(name, location, this)
}

/** A [[WorkloadAction]] on a table of another format. */
private[sparkzorder] final case class WorkloadCommand(
    name: String,
    location: String,
    action: WorkloadAction)
    extends LeafRunnableCommand
    with Logging {
  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(action.schema)
  override def simpleString(maxFields: Int): String = s"${action.statement} $name"

  override def run(session: SparkSession): Seq[Row] = {
    val user = SparkLine.session(session)
    val conf = user.sessionState.newHadoopConf()
    val state =
      try new StateDirectory(new Path(location), conf)
      catch {
        case e: IOException => throw ZOrderErrors.unsupportedTable(
            name,
            s"a table whose location has no file system of Hadoop: $e",
            "Its workload is not recorded.")
      }
    LaterNotes.await()
    Permissions.namingDenials(s"${action.statement} of $name")(
      action.runOnWorkload(state, conf, propertiesIn(user)))
  }

  /** The properties of the table in its catalog; none if the name does not lead to the table there. */
  private def propertiesIn(session: Session): Map[String, String] =
    try {
      val parts = session.sessionState.sqlParser.parseMultipartIdentifier(name)
      session.sessionState.analyzer.execute(SparkLine.unresolvedTable(parts, action.statement))
        .collectFirst { case r: ResolvedTable => r.table.properties.asScala.toMap }
        .getOrElse(Map.empty)
    } catch {
      case NonFatal(e) =>
        logWarning(s"the properties of $name are not known, so no column is left out: $e")
        Map.empty
    }
}

/** The command for an action on a known target. EXPLAIN shows the command and runs nothing. */
private[sparkzorder] final case class TableCommand(target: Target, action: TableAction)
    extends LeafRunnableCommand {
  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(action.schema)
  override def simpleString(maxFields: Int): String = action.description(target)
  override def run(session: SparkSession): Seq[Row] =
    Permissions.namingDenials(s"${action.statement} of ${target.name}")(
      action.run(SparkLine.session(session), target))
}
