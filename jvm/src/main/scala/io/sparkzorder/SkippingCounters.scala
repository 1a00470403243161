// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import io.sparkzorder.skipping.scan.IndexPruning

/**
 * Counters of the skipping index in this JVM. They start at 0 and never decrease, so a monitor compares two
 * readings.
 *
 * @since 0.3.0
 */
object SkippingCounters {

  /** The number of files that queries read because the index of their table had no entry for them. */
  def filesWithoutEntry: Long = IndexPruning.withoutEntryCount

  /**
   * How often an error kept the filters of a query from pruning files. The query then also read files that it would
   * otherwise have skipped.
   */
  def failures: Long = IndexPruning.failureCount
}
