// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.sparkzorder.SparkLine

/**
 * Extensions that put nodes of their own in the place of Spark's, such as Comet, Gluten and RAPIDS. In a
 * session of such an extension a plan holds nothing that only a node of ours can run: scans are Spark's own
 * nodes, and what is known only when the query runs is found out by the file index ([[FiltersAtListing]]).
 */
private[skipping] object Accelerators {

  /** True if the session of this thread has rules for columnar plans. This extension brings none. */
  def areHere: Boolean = SparkSession.getActiveSession.exists(s =>
    SparkLine.session(s).sessionState.columnarRules.nonEmpty)
}
