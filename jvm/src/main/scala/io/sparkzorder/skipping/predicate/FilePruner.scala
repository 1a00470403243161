// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.lang.Long.{bitCount, numberOfTrailingZeros}

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
   * The same decisions for the entries of one index; None if several indexes decide. May raise an error. The pruners
   * that [[io.sparkzorder.skipping.scan.IndexPruning]] makes return None in place of an error.
   */
  def byEntries: Option[EntryPruner] = None

  /** True unless no row of the file can match. */
  final override def apply(file: FileStatus): Boolean = decide(file) < 0
}

/**
 * Decides for the entries of an index.
 *
 * @param identity the identity of the index, see `LoadedIndex.entriesId`
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

/**
 * The files of an index that are left after several groups of tests. The groups are in the order of their
 * evaluation. If several groups would prune a file, the file counts for the first of these groups.
 *
 * @param prunedBy the names of the groups
 * @param after for each group, a bitmap of the files that this group and the groups before it keep
 */
private[sparkzorder] final class KeptFiles private[skipping] (
    val prunedBy: IndexedSeq[String],
    val after: IndexedSeq[Array[Long]]) {
  private val last = after.lastOption

  /** @return the position of the group that prunes file `i`, or [[FilePruner.Read]] */
  def decide(i: Int): Int =
    if (last.forall(KeptFiles.has(_, i))) FilePruner.Read
    else after.indexWhere(!KeptFiles.has(_, i))
}

private[sparkzorder] object KeptFiles {

  // about this many blocks, spread over all files, are tested to find the group that prunes most files
  private val SampledBlocks = 64

  /** The number of set bits from position `from` to position `until - 1`. */
  def count(words: Array[Long], from: Int, until: Int): Int =
    if (from >= until) 0
    else {
      val (first, last) = (from >> 6, (until - 1) >> 6)
      val (low, high) = (-1L << from, -1L >>> -until)
      if (first == last) bitCount(words(first) & low & high)
      else {
        var n = bitCount(words(first) & low) + bitCount(words(last) & high)
        var w = first + 1
        while (w < last) {
          n += bitCount(words(w))
          w += 1
        }
        n
      }
    }

  /** The position of the first set bit from `from` to `until - 1`; `until` if no bit is set. */
  def next(words: Array[Long], from: Int, until: Int): Int =
    if (from >= until) until
    else {
      var w = from >> 6
      var word = words(w) & (-1L << from)
      val last = (until - 1) >> 6
      while (word == 0 && w < last) {
        w += 1
        word = words(w)
      }
      if (word == 0) until
      else math.min(until, (w << 6) + numberOfTrailingZeros(word))
    }

  private def has(words: Array[Long], i: Int): Boolean = (words(i >> 6) >>> i & 1L) != 0

  /**
   * Evaluates the groups, beginning with the group that prunes most files. Each further group tests only the
   * files that are left.
   *
   * @param groups names and tests
   * @param count number of files
   */
  private[predicate] def by(groups: Seq[(String, FileTest)], count: Int): KeptFiles = {
    val ordered = groups.map { case (name, test) => (keptOfSample(test, count), name, test) }
      .sortBy(g => (g._1, g._2))
    val words = FileTest.all(count)
    val after = ordered.map { case (_, _, test) =>
      test.restrict(words, 0)
      words.clone()
    }
    new KeptFiles(ordered.map(_._2).toIndexedSeq, after.toIndexedSeq)
  }

  /** How many files a test by itself keeps in a sample of the blocks, or in all blocks if there are few. */
  private def keptOfSample(test: FileTest, count: Int): Int = {
    val n = (count + 63) / 64
    val blocks = (n + ColumnDomains.BlockWords - 1) / ColumnDomains.BlockWords
    val step = math.max(1, blocks / SampledBlocks)
    (0 until blocks by step).map { b =>
      val from = b * ColumnDomains.BlockWords
      val window = FileTest.window(count, from, math.min(n, from + ColumnDomains.BlockWords))
      test.restrict(window, from)
      window.map(bitCount).sum
    }.sum
  }
}
