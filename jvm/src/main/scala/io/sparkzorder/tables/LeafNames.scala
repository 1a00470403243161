package io.sparkzorder.tables

import scala.collection.JavaConverters._

import org.apache.parquet.schema.MessageType

/** Finds the leaf columns of a file by their names. */
private[sparkzorder] object LeafNames {

  /**
   * The position of a column among the leaves, in any spelling that counts as the same; the exact one
   * goes first.
   */
  def position(
      schema: MessageType,
      path: Seq[String],
      sameName: (String, String) => Boolean): Option[Int] = {
    val paths = schema.getColumns.asScala.map(_.getPath.toSeq)
    val same = paths.indices.filter { i =>
      paths(i).length == path.length && paths(i).zip(path).forall { case (a, b) => sameName(a, b) }
    }
    same.find(paths(_) == path).orElse(same.headOption)
  }
}
