// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import scala.collection.JavaConverters._

import org.apache.parquet.schema.MessageType

/**
 * Finds the leaf columns of a file by name, each in constant time.
 *
 * @param sameName compares names exactly, or without case as `equalsIgnoreCase` does
 */
private[sparkzorder] final class ColumnLookup(
    schema: MessageType,
    sameName: (String, String) => Boolean) {
  private val paths = schema.getColumns.asScala.map(_.getPath.toSeq).toIndexedSeq
  private val exact = paths.indices.reverseIterator.map(i => paths(i) -> i).toMap
  private val similar = paths.indices.groupBy(i => paths(i).map(NameLookup.folded))

  /**
   * The position of a column among the leaf columns. An exact match takes precedence over a match
   * by `sameName`.
   */
  def position(path: Seq[String]): Option[Int] = exact.get(path).orElse(
    similar.getOrElse(path.map(NameLookup.folded), Nil).find(i =>
      path.corresponds(paths(i))(sameName)))
}

private[sparkzorder] object ColumnLookup {

  /** Finds a single column by the same rule, without the maps of a [[ColumnLookup]]. */
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

/** A set of names. Looks each name up in constant time. */
private[sparkzorder] final class NameLookup(
    names: Seq[String],
    sameName: (String, String) => Boolean) {
  private val similar = names.groupBy(NameLookup.folded)

  def contains(name: String): Boolean =
    similar.getOrElse(NameLookup.folded(name), Nil).exists(sameName(_, name))
}

private[sparkzorder] object NameLookup {

  /**
   * A form of the name that is equal for all names that `equalsIgnoreCase` takes for equal. Since Java 16
   * `equalsIgnoreCase` ignores the case of letters of two chars, too, such as those of Deseret.
   */
  def folded(name: String): String = {
    val points = name.codePoints.map(c => Character.toLowerCase(Character.toUpperCase(c))).toArray
    new String(points, 0, points.length)
  }
}
