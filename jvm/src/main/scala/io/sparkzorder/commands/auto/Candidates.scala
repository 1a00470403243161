// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import io.sparkzorder.workload.LayoutModel

/**
 * A layout that could be made.
 *
 * @param columns numbers of its columns, those of the most cuts first
 * @param weights of these columns; the least is 1
 */
private[sparkzorder] final case class Candidate(columns: Seq[Int], weights: Seq[Double])

/** The short list of layouts: by the model, without looking at data. */
private[auto] object Candidates {
  private val MaxSets = 12
  private val MaxColumns = 6

  /**
   * @param values number of distinct values of each column
   * @param files number of files of the layout
   */
  def of(queries: RecordedQueries, values: IndexedSeq[Int], files: Int): Seq[Candidate] = {
    val model = new LayoutModel(queries.forModel, values.map(LayoutModel.bitsOf))
    // as many bits as tell the files of the layout apart
    val bits = math.max(1, LayoutModel.bitsOf(files))
    val columns = values.indices.filter(values(_) > 1)
    val sets = (1 to math.min(MaxColumns, columns.size)).flatMap(columns.combinations(_))
    val judged = sets.map(s => (s, model.greedy(bits, s)))
      // a column without a bit is not in the layout, so that a smaller set has the same layout
      .filter { case (s, b) => s.forall(b(_) > 0) }
      .map { case (s, b) => (of(s, b), model.cost(b)) }
    val best = judged.sortBy(_._2).map(_._1).take(MaxSets)
    (best ++ judged.map(_._1).filter(_.columns.size == 1)).distinct
  }

  private def of(set: Seq[Int], bits: IndexedSeq[Int]): Candidate = {
    val sorted = set.sortBy(c => (-bits(c), c))
    val least = bits(sorted.last)
    Candidate(sorted, sorted.map(c => math.pow(2, bits(c) - least)))
  }
}
