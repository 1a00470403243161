package io.sparkzorder.skipping.predicate

/**
 * The files of an index that some groups of tests keep. The groups stand in the order in which
 * their pruned files are counted: a file that several groups prune counts for the first one.
 *
 * @param prunedBy names of the groups
 * @param after bitmaps: the files that are left after each group and the groups before it
 */
final class KeptFiles private[predicate] (
    val prunedBy: IndexedSeq[String],
    val after: IndexedSeq[Array[Long]]) {
  private val last = after.lastOption

  /** @return the position of the group that prunes file `i`, or [[FilePruner.Read]] */
  def decide(i: Int): Int =
    if (last.forall(KeptFiles.has(_, i))) FilePruner.Read
    else after.indexWhere(!KeptFiles.has(_, i))
}

private[predicate] object KeptFiles {

  // as many blocks tell which group prunes most
  private val SampledBlocks = 64

  private def has(words: Array[Long], i: Int): Boolean = (words(i >> 6) >>> i & 1L) != 0

  /**
   * Evaluates the group that prunes most files first. Each further group sees only the files that
   * are left.
   *
   * @param groups names and tests
   * @param count number of files
   */
  def by(groups: Seq[(String, FileTest)], count: Int): KeptFiles = {
    val ordered = groups.map { case (name, test) => (keptOfSample(test, count), name, test) }
      .sortBy(g => (g._1, g._2))
    val words = FileTest.all(count)
    val after = ordered.map { case (_, _, test) =>
      test.restrict(words, 0)
      words.clone()
    }
    new KeptFiles(ordered.map(_._2).toIndexedSeq, after.toIndexedSeq)
  }

  /** How many files of some blocks a test keeps alone; of all blocks if there are few. */
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
