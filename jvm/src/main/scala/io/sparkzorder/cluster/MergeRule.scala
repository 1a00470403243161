package io.sparkzorder.cluster

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{FileSpan, ScannedFile}

/**
 * Chooses the files of a folder that a run rewrites: the new files, which came since the last
 * layout, and some older files.
 *
 * The files that one run of OPTIMIZE leaves overlap little. The files of different runs overlap
 * each other, so a point query reads some files of every run. New files always form a run of their
 * own.
 *
 * The excess of a folder is the mean number of files that a point query reads, divided by that
 * number in an ideal layout. Earlier runs are merged into the new run only when the excess would
 * otherwise be above [[MergeRule.ExcessLimit]]. A choice consists of the smallest earlier runs, up
 * to some number of them. Among the choices that meet the limit, the rule takes the choice that
 * saves the most files of a point query for each byte that is rewritten. If no choice meets the
 * limit, the rule merges every run that it may merge. (Log-structured merge trees also merge small
 * runs with small ones first: O'Neil et al., 1996. Here the excess decides when.)
 *
 * The rule takes no sample, because the files to read are not chosen yet. It counts the files of a
 * point query at the middle of each file's range, and weights each file by its rows. (The ends of
 * the ranges would do for the files of one run. Wide files of several runs overlap only in part, so
 * an end of one file often lies outside another file.) The new run is assumed to be ideal.
 *
 * @param columns ordering columns
 * @param targetBytes of a file
 * @param weights how many point queries there are on each column; empty if equally many
 */
final class MergeRule(
    columns: Seq[OrderingColumn],
    targetBytes: Long,
    sameName: (String, String) => Boolean,
    weights: Seq[Double] = Nil) {

  private val ofColumns: IndexedSeq[Double] =
    if (weights.isEmpty) columns.map(_ => 1.0).toIndexedSeq else weights.toIndexedSeq

  /**
   * @param footers of all files of a folder
   * @param runOf the run that wrote each file; None for a new file
   * @param dealt the runs that are inserts whose files are [[isDealt well dealt]]
   * @return positions of the files to rewrite; empty when no file is new
   */
  def choose(
      footers: IndexedSeq[ScannedFile],
      runOf: IndexedSeq[Option[String]],
      dealt: Set[String] = Set.empty): Set[Int] = {
    val added = footers.indices.filter(runOf(_).isEmpty)
    if (added.isEmpty && !runOf.flatten.exists(dealt)) Set.empty
    else {
      val bySize = footers.indices.filter(runOf(_).isDefined).groupBy(runOf(_)).values.toSeq
        .sortBy(files => (bytes(footers, files), files.head))
      // of more than MaxRuns earlier runs, the smallest are always merged until MaxRuns are left
      val (small, runs) = bySize.splitAt(bySize.size - MergeRule.MaxRuns)
      val first = added.toSet ++ small.flatten
      val choices = affordable(footers, first, runs).scanLeft(first)(_ ++ _)
      val overlap = new Overlap(columns.map(FileSpan.of(_, footers, sameName)), footers)
      val plain = overlap.meanFiles(choices.head)
      if (overlap.excess(plain) <= MergeRule.ExcessLimit) choices.head
      else {
        val judged = choices.tail.map(c => (c, overlap.meanFiles(c)))
        val good = judged.filter { case (_, mean) => overlap.excess(mean) <= MergeRule.ExcessLimit }
        if (good.isEmpty) choices.last
        else good.maxBy { case (c, mean) => (plain - mean) / bytes(footers, c) }._1
      }
    }
  }

  /**
   * True if the files of one insert into a folder are as good as those of a run of OPTIMIZE: several
   * files, of about the target size, that overlap little. To rewrite them would gain nothing.
   */
  def isDealt(files: IndexedSeq[ScannedFile]): Boolean =
    columns.size > 1 && files.size >= MergeRule.MinDealtFiles &&
      bytes(files, files.indices) >= MergeRule.MinDealtFill * files.size * targetBytes && {
        val overlap = new Overlap(columns.map(FileSpan.of(_, files, sameName)), files)
        overlap.excess(overlap.meanFiles(Set.empty)) <= MergeRule.DealtExcess
      }

  /**
   * The runs that may be merged. With one ordering column every run adds a whole file to each
   * query, so a rule that always meets the limit would rewrite each row a dozen times. In that case
   * a run is merged only if it is no larger than the files that are gathered so far. A binary
   * counter carries in the same way.
   */
  private def affordable(
      footers: IndexedSeq[ScannedFile],
      first: Set[Int],
      runs: Seq[Seq[Int]]): Seq[Seq[Int]] =
    if (columns.size > 1) runs
    else {
      val gathered = runs.scanLeft(bytes(footers, first))((sum, r) => sum + bytes(footers, r))
      runs.zip(gathered).takeWhile { case (r, sum) => bytes(footers, r) <= sum }.map(_._1)
    }

  private def bytes(footers: IndexedSeq[ScannedFile], files: Iterable[Int]): Double =
    files.iterator.map(footers(_).file.length.toDouble).sum

  private def filesOf(bytes: Double): Double =
    math.max(1.0, math.rint(bytes / targetBytes))

  /** The files that a point query reads of a run of this size in an ideal layout. */
  private def ideal(bytes: Double): Double =
    IdealSides.meanFiles(filesOf(bytes), ofColumns)

  private final class Overlap(spans: Seq[FileSpan], footers: IndexedSeq[ScannedFile]) {
    private val idealOfAll = ideal(bytes(footers, footers.indices))

    def excess(meanFiles: Double): Double = meanFiles / idealOfAll

    /**
     * Mean number of files of a point query, over all columns and values, if the `rewritten` files
     * become one new run.
     */
    def meanFiles(rewritten: Set[Int]): Double = {
      val run = ideal(bytes(footers, rewritten))
      spans.zip(ofColumns).map { case (span, weight) =>
        val kept = span.filesAt(!rewritten(_))
        val inRun = span.spanOf(rewritten)
        def at(rank: Int): Double =
          kept(rank) + (if (inRun.exists(r => r._1 <= rank && rank <= r._2)) run else 0.0)
        val withValues = footers.indices.filter(span.low(_) >= 0)
        val rows = withValues.map(footers(_).rows.toDouble).sum
        if (rows == 0) 0.0
        else {
          val files = withValues.map(f => footers(f).rows * at((span.low(f) + span.high(f)) / 2))
          weight * files.sum / rows
        }
      }.sum / ofColumns.sum
    }
  }
}

object MergeRule {

  /** Excess above which earlier runs are merged with new files. */
  val ExcessLimit = 2.0

  private val MaxRuns = 64

  /** Excess up to which the files of an insert count as well dealt. */
  val DealtExcess = 1.35
  private val MinDealtFiles = 4
  private val MinDealtFill = 0.5
}
