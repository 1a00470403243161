package io.sparkzorder.sources

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.table.OrderingColumn

/** A table that runs `before` when all files are written and nothing is committed yet. */
private[sources] final class LatchedFormat(inner: TableFormat, before: () => Unit)
    extends TableFormat {
  override def name: String = inner.name
  override def isNamed: Boolean = inner.isNamed
  override def format: String = inner.format
  override def location: String = inner.location
  override def properties: Map[String, String] = inner.properties
  override def defaults: Map[String, String] = inner.defaults
  override def schema: StructType = inner.schema
  override def partitionSchema: StructType = inner.partitionSchema
  override def lastLayout: Option[LastLayout] = inner.lastLayout
  override def hasBounds(column: OrderingColumn): Boolean = inner.hasBounds(column)
  override def rollback: Option[String] = inner.rollback
  override def check(): Unit = inner.check()
  override def check(files: Seq[FormatFile]): Unit = inner.check(files)
  override def snapshot(c: Seq[OrderingColumn], where: Option[Expression]): TableSnapshot =
    inner.snapshot(c, where)
  override def frame(s: TableSnapshot, session: Session, files: Seq[FormatFile]): FormatRows =
    inner.frame(s, session, files)
  override def write(rows: FormatRows, frame: Frame): StagedFiles = inner.write(rows, frame)
  override def commit(rows: FormatRows, staged: StagedFiles, layout: LayoutTag): Unit = {
    before()
    inner.commit(rows, staged, layout)
  }
  override def abort(staged: StagedFiles): Unit = inner.abort(staged)
}
