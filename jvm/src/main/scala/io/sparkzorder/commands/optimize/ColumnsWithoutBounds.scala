package io.sparkzorder.commands.optimize

import scala.collection.JavaConverters._

import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

import org.apache.spark.sql.types.BinaryType

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.{OrcFiles, OrderingColumn}
import io.sparkzorder.write.ParquetShape

/**
 * A column that has no min/max in the written files cannot be an ordering column: one that stays INT96
 * in Parquet, and in ORC bytes and TIME.
 */
private[sparkzorder] object ColumnsWithoutBounds {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_COLUMN_NOT_ORDERABLE */
  def check(p: Prepared): Unit = p.shape match {
    case shape: ParquetShape => p.columns.foreach(checkInt96(p, shape, _))
    case _ => p.columns.foreach(checkOrc(p, _))
  }

  private def checkInt96(p: Prepared, shape: ParquetShape, c: OrderingColumn): Unit = {
    val written = shape.schema.getColumns.asScala.find(_.getPath.toSeq == c.parts)
    if (written.exists(_.getPrimitiveType.getPrimitiveTypeName == INT96)) {
      throw ZOrderErrors.columnNotOrderable(
        c.name,
        p.target.name,
        "TIMESTAMP as INT96",
        "files have no min/max of it; set timestampType to micros")
    }
  }

  private def checkOrc(p: Prepared, c: OrderingColumn): Unit =
    if (c.dataType == BinaryType || c.dataType.typeName.startsWith("time(")) {
      throw ZOrderErrors.columnNotOrderable(
        c.name,
        p.target.name,
        c.dataType.sql,
        s"${OrcFiles.title} files have no min/max of it")
    }
}
