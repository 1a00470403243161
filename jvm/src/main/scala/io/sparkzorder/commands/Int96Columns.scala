package io.sparkzorder.commands

import scala.collection.JavaConverters._

import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

import io.sparkzorder.errors.ZOrderErrors

/** INT96 has no min/max, so a column that stays INT96 cannot be an ordering column. */
private[commands] object Int96Columns {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_COLUMN_NOT_ORDERABLE */
  def check(p: Prepared): Unit =
    p.columns.foreach { c =>
      val written = p.shape.schema.getColumns.asScala.find(_.getPath.toSeq == c.parts)
      if (written.exists(_.getPrimitiveType.getPrimitiveTypeName == INT96)) {
        throw ZOrderErrors.columnNotOrderable(
          c.name,
          p.target.name,
          "TIMESTAMP as INT96",
          "files have no min/max of it; set timestampType to micros")
      }
    }
}
