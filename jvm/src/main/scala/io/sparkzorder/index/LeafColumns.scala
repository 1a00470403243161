// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.util.Locale

/**
 * The leaf columns that a file has, whether indexed or not. With this list, a column that the file
 * lacks can be told from a column without an entry in the index.
 *
 * @param leaves name parts of each leaf column, as the file spells them
 */
private[sparkzorder] final case class LeafColumns(leaves: Seq[Seq[String]]) {
  // Computed once: the lists of all files are compared, and the files of a table share few lists.
  @transient override lazy val hashCode: Int = leaves.hashCode()

  @transient private lazy val spellings: Seq[Spelling] =
    Seq(new Spelling(LeafColumns.fold), new Spelling(LeafColumns.lower))

  /** The leaf columns under one rule for equal names. */
  private final class Spelling(same: String => String) {
    private val names: Set[Seq[String]] = leaves.map(_.map(same)).toSet
    private val groups: Set[Seq[String]] = names.flatMap(l => (1 until l.size).map(l.take(_)))

    def lacks(path: Seq[String]): Boolean = {
      val wanted = path.map(same)
      val found = (1 to wanted.size).takeWhile(n => groups(wanted.take(n))).lastOption.getOrElse(0)
      // If the file has a leaf where the path needs a struct, the type differs, but the column is
      // not missing.
      found < wanted.size && !names(wanted.take(found + 1))
    }
  }

  /**
   * True when the file has no such column in any spelling, so that every row reads as NULL (or as
   * the column's default).
   */
  def lacks(path: Seq[String]): Boolean = spellings.forall(_.lacks(path))

  /**
   * True when another leaf or struct of the file differs from `leaf`, or from a struct around it,
   * in upper and lower case alone. Also true when the file has `leaf` twice.
   */
  def isAmbiguous(leaf: Seq[String]): Boolean = {
    val wanted = LeafColumns.fold(leaf)
    (1 to wanted.size).exists { n =>
      val likeIt = leaves.filter(_.size >= n).map(_.take(n)).filter(p =>
        LeafColumns.fold(p) == wanted.take(n))
      likeIt.distinct.size > 1 || leaves.count(_ == leaf) > 1
    }
  }
}

private[sparkzorder] object LeafColumns {

  /**
   * Two names have the same result exactly if `String.equalsIgnoreCase` is true for them.
   */
  def fold(name: String): String = name.map(c => Character.toLowerCase(Character.toUpperCase(c)))

  def fold(path: Seq[String]): Seq[String] = path.map(fold(_: String))

  /**
   * A name in lower case, as Spark compares names to find columns in files. For a few letters the
   * result differs from that of `fold`.
   */
  def lower(name: String): String = name.toLowerCase(Locale.ROOT)
}
