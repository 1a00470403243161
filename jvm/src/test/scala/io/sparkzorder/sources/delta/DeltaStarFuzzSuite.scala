// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import io.sparkzorder.sources.FormatStarFuzz

/** Random star schemas of Delta tables. */
class DeltaStarFuzzSuite extends DeltaTestBase with FormatStarFuzz {
  override protected def starFormat: String = "delta"
  override protected def nameOf(table: String): String = table
  override protected def withTablesOfStar(body: => Any): Unit = withTables(body)
}
