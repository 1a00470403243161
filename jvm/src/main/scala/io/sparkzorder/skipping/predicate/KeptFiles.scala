// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

/**
 * The files of an index that some groups of tests keep. The groups are in the order of their evaluation,
 * and a file that several groups prune counts for the first of them.
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

  // the number of blocks that are tested to find the group that prunes most files
  private val SampledBlocks = 64

  /** The number of set bits from position `from` to position `until - 1`. */
  def count(words: Array[Long], from: Int, until: Int): Int =
    if (from >= until) 0
    else {
      val (first, last) = (from >> 6, (until - 1) >> 6)
      val (low, high) = (-1L << from, -1L >>> -until)
      if (first == last) java.lang.Long.bitCount(words(first) & low & high)
      else {
        var n = java.lang.Long.bitCount(words(first) & low) +
          java.lang.Long.bitCount(words(last) & high)
        var w = first + 1
        while (w < last) {
          n += java.lang.Long.bitCount(words(w))
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
      else math.min(until, (w << 6) + java.lang.Long.numberOfTrailingZeros(word))
    }

  private def has(words: Array[Long], i: Int): Boolean = (words(i >> 6) >>> i & 1L) != 0

  /**
   * Evaluates the groups, and first the group that prunes most files. Each further group tests only the
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
      window.map(java.lang.Long.bitCount).sum
    }.sum
  }
}
