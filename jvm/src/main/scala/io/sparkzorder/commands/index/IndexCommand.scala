package io.sparkzorder.commands.index

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types._

import io.sparkzorder.commands.TargetAction
import io.sparkzorder.table.Target

/** What a statement does with the index of a table. */
sealed trait IndexAction extends TargetAction {
  override def command(target: Target): LogicalPlan = IndexCommand(target, this)
}

/** @param columns name parts; empty for the default columns */
final case class CreateIndex(columns: Seq[Seq[String]], ifNotExists: Boolean) extends IndexAction {
  override def statement: String = "CREATE ZORDER INDEX"
}

/** @param columns name parts; empty for those that the index has */
final case class RefreshIndex(columns: Seq[Seq[String]]) extends IndexAction {
  override def statement: String = "REFRESH ZORDER INDEX"
}

final case class DropIndex(ifExists: Boolean) extends IndexAction {
  override def statement: String = "DROP ZORDER INDEX"
}

/** A statement on the index of a known table. */
final case class IndexCommand(target: Target, action: IndexAction) extends LeafRunnableCommand {
  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(IndexResult.schema)

  override def simpleString(maxFields: Int): String = s"${action.statement} ON ${target.name}"

  override def run(session: SparkSession): Seq[Row] = {
    val run = new IndexRun(SparkLine.session(session), target, action.statement)
    val result = action match {
      case CreateIndex(columns, ifNotExists) => run.create(columns, ifNotExists)
      case RefreshIndex(columns) => run.refresh(columns)
      case DropIndex(ifExists) => run.drop(ifExists)
    }
    Seq(result.toRow)
  }
}

/**
 * The one row of a statement on an index.
 *
 * @param path the table's directory
 * @param files data files in the index; of DROP those that were in it
 * @param columns indexed columns
 * @param rows of these files
 * @param indexBytes size of the index
 * @param filesRead data files whose footers were read
 * @param reason why nothing, or not everything, was done
 */
final case class IndexResult(
    path: String,
    files: Long,
    columns: Seq[String],
    rows: Long,
    indexBytes: Long,
    filesRead: Long,
    reason: Option[String]) {
  def toRow: Row = Row(path, files, columns, rows, indexBytes, filesRead, reason.orNull)
}

object IndexResult {

  /** Columns of the result, as the SQL reference documents them. */
  val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("columns", ArrayType(StringType, containsNull = false), nullable = false)
    .add("rows", LongType, nullable = false)
    .add("indexBytes", LongType, nullable = false)
    .add("filesRead", LongType, nullable = false)
    .add("reason", StringType)
}
