package io.sparkzorder.skipping.predicate

import org.apache.hadoop.fs.FileStatus

/** Decides for the files of a listing, one by one, which of them a query reads. */
trait FilePruner extends (FileStatus => Boolean) {

  /** Columns of the predicates that may prune files: `a`, or `(a, b)` where they are in one predicate. */
  def prunedBy: IndexedSeq[String]

  /**
   * @return the position in [[prunedBy]] of what prunes the file; [[FilePruner.Read]] when rows of it may
   *   match, [[FilePruner.NoEntry]] when the index does not know it, or not as it is now
   */
  def decide(file: FileStatus): Int

  /** True unless no row of the file can match. */
  final override def apply(file: FileStatus): Boolean = decide(file) < 0
}

object FilePruner {
  val Read: Int = -1
  val NoEntry: Int = -2

  /** Several that each know files of their own; a file must be read where none of them prunes it. */
  def of(pruners: Seq[FilePruner]): Option[FilePruner] =
    if (pruners.size > 1) Some(new Several(pruners)) else pruners.headOption

  private final class Several(pruners: Seq[FilePruner]) extends FilePruner {
    override val prunedBy: IndexedSeq[String] =
      pruners.flatMap(_.prunedBy).distinct.toIndexedSeq
    private val positions = pruners.map(_.prunedBy.map(c => prunedBy.indexOf(c)))

    override def decide(file: FileStatus): Int = {
      val each = pruners.iterator.map(_.decide(file)).zip(positions.iterator)
      var found = NoEntry
      while (found < 0 && each.hasNext) {
        val (decision, places) = each.next()
        if (decision >= 0) found = places(decision)
        else if (decision == Read) found = Read
      }
      found
    }
  }
}
