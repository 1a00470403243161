// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import io.sparkzorder.skipping.scan.IndexPruning

/**
 * Counts what the skipping index did in this JVM. The counters start at 0 and only grow, so a
 * monitor compares two readings.
 *
 * @since 0.3.0
 */
object SkippingCounters {

  /** The number of files that queries read because the index of their table did not know them. */
  def filesWithoutEntry: Long = IndexPruning.withoutEntryCount

  /** How often an index could not be used because of an error. The query then read all files. */
  def failures: Long = IndexPruning.failureCount
}
