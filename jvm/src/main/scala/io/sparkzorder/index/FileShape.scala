package io.sparkzorder.index

/**
 * The leaf columns that a file has, whether indexed or not: it tells a column that the file lacks from
 * one that the index knows nothing of.
 *
 * @param leaves name parts of each leaf column, as the file spells them
 */
final case class FileShape(leaves: Seq[Seq[String]]) {
  // compared for every file, and files of a table share few of them
  @transient override lazy val hashCode: Int = leaves.hashCode()

  @transient private lazy val folded: Set[Seq[String]] = leaves.map(FileShape.fold).toSet
  @transient private lazy val groups: Set[Seq[String]] =
    folded.flatMap(l => (1 until l.size).map(l.take(_)))

  /**
   * True when the file has no such column in any spelling, so that every row reads as NULL (or as the
   * column's default).
   */
  def lacks(path: Seq[String]): Boolean = {
    val wanted = FileShape.fold(path)
    val found = (1 to wanted.size).takeWhile(n => groups(wanted.take(n))).lastOption.getOrElse(0)
    // a leaf where a struct should be is another type, not a missing column
    found < wanted.size && !folded(wanted.take(found + 1))
  }

  /** True when another column of the file differs from this one in upper and lower case alone. */
  def isAmbiguous(leaf: Seq[String]): Boolean = {
    val wanted = FileShape.fold(leaf)
    (1 to wanted.size).exists { n =>
      val spellings = leaves.filter(_.size >= n).map(_.take(n)).filter(p =>
        FileShape.fold(p) == wanted.take(n))
      spellings.distinct.size > 1 || leaves.count(_ == leaf) > 1
    }
  }
}

object FileShape {

  /** A name without its case, as `String.equalsIgnoreCase` sees it. */
  def fold(name: String): String = name.map(c => Character.toLowerCase(Character.toUpperCase(c)))

  def fold(path: Seq[String]): Seq[String] = path.map(fold(_: String))
}
