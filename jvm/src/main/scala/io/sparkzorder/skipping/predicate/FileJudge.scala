package io.sparkzorder.skipping.predicate

import org.apache.hadoop.fs.FileStatus

/** Judges the files of a listing, one by one. */
trait FileJudge extends (FileStatus => Boolean) {

  /** Columns of the predicates that may let files go: `a`, or `(a, b)` where they are in one predicate. */
  def causes: IndexedSeq[String]

  /**
   * @return the position in [[causes]] of what lets the file go; [[FileJudge.Read]] when rows of it may
   *   match, [[FileJudge.NoEntry]] when the index does not know it, or not as it is now
   */
  def verdict(file: FileStatus): Int

  /** True unless no row of the file can match. */
  final override def apply(file: FileStatus): Boolean = verdict(file) < 0
}

object FileJudge {
  val Read: Int = -1
  val NoEntry: Int = -2

  /** Several that each know files of their own; a file must be read where none lets it go. */
  def of(judges: Seq[FileJudge]): Option[FileJudge] =
    if (judges.size > 1) Some(new Several(judges)) else judges.headOption

  private final class Several(judges: Seq[FileJudge]) extends FileJudge {
    override val causes: IndexedSeq[String] = judges.flatMap(_.causes).distinct.toIndexedSeq
    private val positions = judges.map(_.causes.map(c => causes.indexOf(c)))

    override def verdict(file: FileStatus): Int = {
      val each = judges.iterator.map(_.verdict(file)).zip(positions.iterator)
      var found = NoEntry
      while (found < 0 && each.hasNext) {
        val (v, places) = each.next()
        if (v >= 0) found = places(v)
        else if (v == Read) found = Read
      }
      found
    }
  }
}
