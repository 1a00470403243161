// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import org.scalatest.Tag
import org.scalatest.tagobjects.Slow

import io.sparkzorder.sources.FormatStarFuzz

/** Random star schemas of Delta tables. */
class DeltaStarFuzzSuite extends DeltaTestBase with FormatStarFuzz {
  // for each change on Iceberg tables alone
  override protected def commonTags: Seq[Tag] = Seq(Slow)
  override protected def starFormat: String = "delta"
  override protected def nameOf(table: String): String = table
  override protected def withTablesOfStar(body: => Any): Unit = withTables(body)
}
