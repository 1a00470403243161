package io.sparkzorder.cluster

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{FileSpan, ScannedFile}

/**
 * Which files of a folder are rewritten together with the files that have come since its last layout.
 *
 * Each run of OPTIMIZE leaves files that lie well among themselves; those of several runs overlap, and
 * so a point query reads some of each. New files always form a run of their own. Earlier runs
 * are merged into it only when the folder's excess would be above [[MergeRule.ExcessLimit]] without:
 * the smallest runs, as many as lower the files of a point query most for each byte that is
 * rewritten, among the choices that meet the limit. (Merging small runs with small ones first is
 * what log-structured merge trees do: O'Neil et al., 1996; the excess decides when.)
 *
 * The mean files of a point query are counted at the middle of each file's range, by rows: no sample
 * is taken before it is known what to read. (The ends of ranges would do for one run, but wide files
 * side by side lie half beyond each other's ends.) The new run is assumed to be ideal.
 *
 * @param columns ordering columns
 * @param targetBytes of a file
 */
final class MergeRule(
    columns: Seq[OrderingColumn],
    targetBytes: Long,
    sameName: (String, String) => Boolean) {

  /**
   * @param footers of all files of a folder
   * @param runOf the run that made each file; None for a new one
   * @return positions of the files to rewrite; none when no file is new
   */
  def choose(footers: IndexedSeq[ScannedFile], runOf: IndexedSeq[Option[String]]): Set[Int] = {
    val added = footers.indices.filter(runOf(_).isEmpty)
    if (added.isEmpty) Set.empty
    else {
      val bySize = footers.indices.filter(runOf(_).isDefined).groupBy(runOf(_)).values.toSeq
        .sortBy(files => (bytes(footers, files), files.head))
      // above MaxRuns earlier runs, the smallest of them are always merged
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
   * With one ordering column every run adds a whole file to each query, and holding the limit would
   * rewrite each row a dozen times. There a run is merged only while it is no larger than the files
   * gathered so far, as a binary counter carries.
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

  /** A run of n files of d columns at its best. */
  private def ideal(bytes: Double): Double =
    math.pow(filesOf(bytes), 1.0 - 1.0 / columns.size)

  private final class Overlap(spans: Seq[FileSpan], footers: IndexedSeq[ScannedFile]) {
    private val idealOfAll = ideal(bytes(footers, footers.indices))

    def excess(meanFiles: Double): Double = meanFiles / idealOfAll

    /** Mean files of a point query, over columns and values, once some files are one new run. */
    def meanFiles(rewritten: Set[Int]): Double = {
      val run = ideal(bytes(footers, rewritten))
      spans.map { span =>
        val kept = span.filesAt(!rewritten(_))
        val inRun = span.spanOf(rewritten)
        def at(rank: Int): Double =
          kept(rank) + (if (inRun.exists(r => r._1 <= rank && rank <= r._2)) run else 0.0)
        val withValues = footers.indices.filter(span.low(_) >= 0)
        val rows = withValues.map(footers(_).rows.toDouble).sum
        if (rows == 0) 0.0
        else withValues.map(f => footers(f).rows * at((span.low(f) + span.high(f)) / 2)).sum / rows
      }.sum / spans.size
    }
  }
}

object MergeRule {

  /** Excess above which earlier runs are merged with new files. */
  val ExcessLimit = 2.0

  private val MaxRuns = 64
}
