// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.FileSpan

/**
 * What the merge rule needs to know of the files of a folder.
 *
 * @param spansOf the ranges of the files in each ordering column; computed when they are needed
 */
private[sparkzorder] final class RuledFiles(
    val bytes: IndexedSeq[Long],
    val rows: IndexedSeq[Long],
    spansOf: => Seq[FileSpan]) {
  lazy val spans: Seq[FileSpan] = spansOf

  def size: Int = bytes.size
  def indices: Range = bytes.indices
  def bytesOf(files: Iterable[Int]): Double = files.iterator.map(bytes(_).toDouble).sum
}

/**
 * Chooses the files of a folder that a run rewrites: the new files, which came since the last
 * layout, and some older files.
 *
 * The files that one run of OPTIMIZE leaves overlap little. The files of different runs overlap
 * each other, so a point query reads some files of every run. New files always form a run of their
 * own.
 *
 * The excess of a folder is the mean number of files that a point query reads, divided by that
 * number in an ideal layout. Earlier runs are merged into the new run if the excess would otherwise be above
 * [[MergeRule.ExcessLimit]], or if there are more than `MaxRuns` of them. A choice consists of the smallest earlier
 * runs, up to some number of them. Among the choices that meet the limit, the rule takes the choice that
 * saves the most files of a point query for each byte that is rewritten. If no choice meets the limit, the
 * rule merges every run that it may merge; but if one statement cannot lay out all these runs, it takes the
 * choice that saves the most for each byte. (Log-structured merge trees also merge small runs with small ones
 * first: O'Neil et al., 1996. Here the excess decides when.)
 *
 * The rule takes no sample, because the files to read are not chosen yet. It asks for the middle of each
 * file's range as a point query, counts the files that this query reads, and weights the count by the rows of
 * the file. (With the ends of the ranges instead of their middles, the rule would count too few files. Wide files
 * of several runs overlap only in part, so an end of one file often lies outside another file.) The new run is
 * assumed to be ideal.
 *
 * @param columns ordering columns
 * @param targetBytes the wanted size of a file
 * @param weights how many point queries there are on each column; empty if equally many
 * @param mostBytes the most bytes that one statement can lay out
 */
private[sparkzorder] final class MergeRule(
    columns: Seq[OrderingColumn],
    targetBytes: Long,
    weights: Seq[Double] = Nil,
    mostBytes: Long = Long.MaxValue) {

  private val ofColumns: IndexedSeq[Double] =
    if (weights.isEmpty) columns.map(_ => 1.0).toIndexedSeq else weights.toIndexedSeq

  /**
   * @param files all files of a folder
   * @param runOf the run that wrote each file; None for a new file
   * @param inserts the runs that are inserts with [[isGoodInsert good]] files
   * @return positions of the files to rewrite; empty when no file is new and there are no such inserts
   */
  def choose(
      files: RuledFiles,
      runOf: IndexedSeq[Option[String]],
      inserts: Set[String] = Set.empty): Set[Int] = {
    val added = files.indices.filter(runOf(_).isEmpty)
    if (added.isEmpty && !runOf.flatten.exists(inserts)) Set.empty
    else {
      val bySize = files.indices.filter(runOf(_).isDefined).groupBy(runOf(_)).values.toSeq
        .sortBy(own => (files.bytesOf(own), own.head))
      // The smallest runs are merged in any case, as far as they fit, until MaxRuns earlier runs are left. Without
      // new files, the merged runs become one more run.
      val tooMany = math.max(0, bySize.size - MergeRule.MaxRuns)
      val (small, runs) =
        bySize.splitAt(if (tooMany > 0 && added.isEmpty) tooMany + 1 else tooMany)
      val gathered = small.scanLeft(files.bytesOf(added))((sum, r) => sum + files.bytesOf(r))
      val fitting = small.zip(gathered.tail).takeWhile(_._2 <= mostBytes).map(_._1)
      val merged = if (added.isEmpty && fitting.size < 2) Nil else fitting.flatten
      val first: Set[Int] = (added ++ merged).toSet
      val all = affordable(files, first, runs).scanLeft(first)(_ ++ _)
      val choices = all.head +: all.tail.takeWhile(fits(files, _))
      val overlap = new Overlap(files)
      val plain = overlap.meanFiles(choices.head)
      if (overlap.excess(plain) <= MergeRule.ExcessLimit) choices.head
      else {
        val judged = choices.tail.map(c => (c, overlap.meanFiles(c)))
        val good = judged.filter { case (_, mean) => overlap.excess(mean) <= MergeRule.ExcessLimit }
        def best(some: Seq[(Set[Int], Double)]) =
          some.maxBy { case (c, mean) => (plain - mean) / files.bytesOf(c) }._1
        if (good.nonEmpty) best(good)
        // The runs that do not fit into this statement keep the excess above the limit. So the next statements
        // would merge again, and each byte should save as much as possible.
        else if (choices.size < all.size && judged.nonEmpty) best(judged)
        else choices.last
      }
    }
  }

  /**
   * True if the files of one insert into a folder are as good as those of a run of OPTIMIZE: several
   * files, of about the target size, that overlap little. To rewrite them would gain nothing.
   *
   * New values of a column that grows with time lie beyond the grid by which an insert shuffles its rows. So
   * the files of such an insert overlap each other more, but they overlap no other files. Such an insert may
   * stay while the excess of the whole folder is at most [[MergeRule.InsertExcess]].
   *
   * @param ofFolder the [[excess]] of all files of the folder, also those of the insert
   */
  def isGoodInsert(files: RuledFiles, ofFolder: => Double): Boolean =
    columns.size > 1 && files.size >= MergeRule.MinInsertFiles && isFilled(files) && {
      val own = excess(files)
      own <= MergeRule.InsertExcess ||
      (own <= MergeRule.DriftingExcess && ofFolder <= MergeRule.InsertExcess)
    }

  /**
   * True if several files of about the target size overlap as little as those of one run, whether or not
   * one run wrote them.
   */
  def isOneLayout(files: RuledFiles): Boolean =
    isFilled(files) && excess(files) <= MergeRule.InsertExcess

  private def isFilled(files: RuledFiles): Boolean =
    files.bytesOf(files.indices) >= MergeRule.MinFill * files.size * targetBytes

  /** The mean number of files that a point query reads, divided by that number in an ideal layout. */
  def excess(files: RuledFiles): Double = {
    val overlap = new Overlap(files)
    overlap.excess(overlap.meanFiles(Set.empty))
  }

  /**
   * The runs that may be merged. With one ordering column every run adds a whole file to each
   * query, so a rule that always meets the limit would rewrite each row a dozen times. In that case
   * a run is merged only if it is no larger than the files that are gathered so far. A binary
   * counter carries in the same way.
   */
  private def affordable(
      files: RuledFiles,
      first: Set[Int],
      runs: Seq[Seq[Int]]): Seq[Seq[Int]] =
    if (columns.size > 1) runs
    else {
      val gathered = runs.scanLeft(files.bytesOf(first))((sum, r) => sum + files.bytesOf(r))
      runs.zip(gathered).takeWhile { case (r, sum) => files.bytesOf(r) <= sum }.map(_._1)
    }

  private def fits(files: RuledFiles, some: Set[Int]): Boolean = files.bytesOf(some) <= mostBytes

  private def filesOf(bytes: Double): Double =
    math.max(1.0, math.rint(bytes / targetBytes))

  /** How many files of a run of this size a point query reads in an ideal layout. */
  private def ideal(bytes: Double): Double =
    IdealSides.meanFiles(filesOf(bytes), ofColumns)

  private final class Overlap(files: RuledFiles) {
    private val idealOfAll = ideal(files.bytesOf(files.indices))

    def excess(meanFiles: Double): Double = meanFiles / idealOfAll

    /**
     * The mean number of files that a point query reads, over all columns and values, if the `rewritten` files
     * become one new run.
     */
    def meanFiles(rewritten: Set[Int]): Double = {
      val run = ideal(files.bytesOf(rewritten))
      files.spans.zip(ofColumns).map { case (span, weight) =>
        val kept = span.filesAt(!rewritten(_))
        val inRun = span.spanOf(rewritten)
        def at(rank: Int): Double =
          kept(rank) + (if (inRun.exists(r => r._1 <= rank && rank <= r._2)) run else 0.0)
        val withValues = files.indices.filter(span.low(_) >= 0)
        val rows = withValues.map(files.rows(_).toDouble).sum
        if (rows == 0) 0.0
        else {
          val read =
            withValues.map(f => files.rows(f) * at((span.low(f) + span.high(f)) / 2))
          weight * read.sum / rows
        }
      }.sum / ofColumns.sum
    }
  }
}

private[sparkzorder] object MergeRule {

  /** Excess above which earlier runs are merged with new files. */
  val ExcessLimit = 2.0

  private val MaxRuns = 64

  /** Excess up to which the files of an insert are good. */
  val InsertExcess = 1.35

  /**
   * Excess up to which the files of an insert are good if the excess of the whole folder is at most
   * [[InsertExcess]]. With two columns, four files without any order have the excess 2.0.
   */
  val DriftingExcess = 1.75
  private val MinInsertFiles = 4
  private val MinFill = 0.5
}

/**
 * The sides of the cells of an ideal layout, as shares of all rows. The product of the sides of a cell is
 * the share of one file. The weighted number of files that point queries read is smallest if the side in
 * each column is inversely proportional to the weight of the column. No side is larger than 1: a column
 * whose weight is too small is not cut at all.
 */
private[sparkzorder] object IdealSides {

  /**
   * @param weights the relative number of point queries on each column, above 0; there is at least one column
   * @return the side of each column
   */
  def of(files: Double, weights: IndexedSeq[Double]): IndexedSeq[Double] =
    if (weights.distinct.size <= 1) weights.map(_ => math.pow(files, -1.0 / weights.size))
    else {
      // as many columns as possible are cut, in descending order of weight, so that no side exceeds 1
      val sorted = weights.indices.sortBy(-weights(_))
      val cut = (sorted.size to 1 by -1).map(sorted.take).find { some =>
        factor(files, some.map(weights)) / weights(some.last) <= 1 || some.size == 1
      }.get
      val k = factor(files, cut.map(weights))
      weights.indices.map(c => if (cut.contains(c)) math.min(1.0, k / weights(c)) else 1.0)
    }

  /** The factor k for which the product of the sides `k / weight` is the share of one file. */
  private def factor(files: Double, weights: IndexedSeq[Double]): Double =
    math.exp((weights.map(math.log).sum - math.log(files)) / weights.size)

  /** The mean number of files that point queries read, weighted by the weights of their columns. */
  def meanFiles(files: Double, weights: IndexedSeq[Double]): Double =
    if (weights.distinct.size <= 1) math.pow(files, 1.0 - 1.0 / weights.size)
    else {
      val sides = of(files, weights)
      weights.zip(sides).map { case (w, s) => w * s }.sum * files / weights.sum
    }
}
