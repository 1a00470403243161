// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import io.sparkzorder.cluster.{KeyColumn, RankedColumn}

/**
 * A column of the whole table, whose shares the record of the workload has. A folder may hold another
 * part of the values, such as those of one day.
 *
 * @param folders folders with sampled rows
 * @param c number of the column in the samples
 */
private[auto] final class WholeColumn(folders: Seq[SampledFolder], c: Int) {

  private val whole: RankedColumn =
    if (folders.size == 1) folders.head.ranked(c)
    else {
      // a small folder has more of its rows in its sample than a large one
      val share = folders.map(f => f.sample.rows.toDouble / f.rows).min
      KeyColumn.pooled(folders.map { f =>
        val all = f.sample.rows
        val n = math.max(1, math.min(all.toLong, math.round(share * f.rows)).toInt)
        (f.ranked(c), (0 until n).map(i => (i.toLong * all / n).toInt))
      }).ranked
    }

  /**
   * The ranks in a folder of an interval of shares of the whole table.
   *
   * @return None if the folder has no such values
   */
  def ranksIn(folder: SampledFolder, from: Double, until: Double): Option[(Int, Int)] = {
    val own = folder.ranked(c).distinct
    // a sample of NULLs alone has no value
    if (whole.distinct.length == 0 || own.length == 0) None
    else {
      // an odd slot is that of a sampled value, an even slot lies below it
      val low = (own.slotOfKey(key(whole.rankAt(from))) >> 1) + 1
      val high = (own.slotOfKey(key(whole.rankUntil(from, until))) + 1) >> 1
      // values between two sampled values lie in a file with one of them
      if (low > own.length || high < 1) None else Some((low, math.max(low, high)))
    }
  }

  private def key(rank: Int): AnyRef = whole.distinct.key(rank - 1)
}
