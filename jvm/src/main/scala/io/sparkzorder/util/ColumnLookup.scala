package io.sparkzorder.util

import scala.collection.JavaConverters._

import org.apache.parquet.schema.MessageType

/** Finds the leaf columns of a file by name. */
private[sparkzorder] object ColumnLookup {

  /**
   * The position of a column among the leaf columns. An exact match takes precedence over a match
   * by `sameName`.
   */
  def position(
      schema: MessageType,
      path: Seq[String],
      sameName: (String, String) => Boolean): Option[Int] = {
    val leaves = schema.getColumns.asScala
    def first(same: (String, String) => Boolean): Option[Int] =
      Some(leaves.indexWhere(leaf => path.corresponds(leaf.getPath.toSeq)(same))).filter(_ >= 0)
    first(_ == _).orElse(first(sameName))
  }
}
