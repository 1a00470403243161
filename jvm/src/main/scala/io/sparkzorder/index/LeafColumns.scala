package io.sparkzorder.index

import java.util.Locale

/**
 * The leaf columns that a file has, whether indexed or not. They distinguish a column that the file
 * lacks from a column without an entry in the index.
 *
 * @param leaves name parts of each leaf column, as the file spells them
 */
final case class LeafColumns(leaves: Seq[Seq[String]]) {
  // compared for every file, and files of a table share few of them
  @transient override lazy val hashCode: Int = leaves.hashCode()

  @transient private lazy val spellings: Seq[Spelling] =
    Seq(new Spelling(LeafColumns.fold), new Spelling(LeafColumns.lower))

  /** The leaf columns under one rule of which names are the same. */
  private final class Spelling(same: String => String) {
    private val names: Set[Seq[String]] = leaves.map(_.map(same)).toSet
    private val groups: Set[Seq[String]] = names.flatMap(l => (1 until l.size).map(l.take(_)))

    def lacks(path: Seq[String]): Boolean = {
      val wanted = path.map(same)
      val found = (1 to wanted.size).takeWhile(n => groups(wanted.take(n))).lastOption.getOrElse(0)
      // a leaf where a struct should be is another type, not a missing column
      found < wanted.size && !names(wanted.take(found + 1))
    }
  }

  /**
   * True when the file has no such column in any spelling, so that every row reads as NULL (or as the
   * column's default).
   */
  def lacks(path: Seq[String]): Boolean = spellings.forall(_.lacks(path))

  /** True when another column of the file differs from this one in upper and lower case alone. */
  def isAmbiguous(leaf: Seq[String]): Boolean = {
    val wanted = LeafColumns.fold(leaf)
    (1 to wanted.size).exists { n =>
      val likeIt = leaves.filter(_.size >= n).map(_.take(n)).filter(p =>
        LeafColumns.fold(p) == wanted.take(n))
      likeIt.distinct.size > 1 || leaves.count(_ == leaf) > 1
    }
  }
}

object LeafColumns {

  /** A name without its case, as `String.equalsIgnoreCase` sees it. */
  def fold(name: String): String = name.map(c => Character.toLowerCase(Character.toUpperCase(c)))

  def fold(path: Seq[String]): Seq[String] = path.map(fold(_: String))

  /** A name without its case, as Spark finds columns in files; few letters are folded otherwise. */
  def lower(name: String): String = name.toLowerCase(Locale.ROOT)
}
