// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.index.PathLookup

/** Decides for the files of a listing, one by one, which of them a query reads. */
private[sparkzorder] trait FilePruner extends (FileStatus => Boolean) {

  /** Columns of the predicates that may prune files: `a`, or `(a, b)` if one predicate has both. */
  def prunedBy: IndexedSeq[String]

  /**
   * @return the position in [[prunedBy]] of the columns that prune the file; [[FilePruner.Read]] if
   *   some of its rows may match; [[FilePruner.NoEntry]] if the index does not know the file in its
   *   present state
   */
  def decide(file: FileStatus): Int

  /**
   * The same decisions for the entries of one index; None if several indexes decide. An
   * implementation that fails has to return None.
   */
  def byEntries: Option[EntryPruner] = None

  /** True unless no row of the file can match. */
  final override def apply(file: FileStatus): Boolean = decide(file) < 0
}

/**
 * Decides for the entries of an index.
 *
 * @param identity of the index, see `LoadedIndex.identity`
 * @param lookup finds the entries of files
 */
private[sparkzorder] final class EntryPruner(
    val identity: AnyRef,
    val lookup: PathLookup,
    val kept: KeptFiles)

private[sparkzorder] object FilePruner {
  val Read: Int = -1
  val NoEntry: Int = -2

  /** Several pruners, each for files of its own. A file that none of them prunes must be read. */
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
