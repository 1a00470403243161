// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import io.sparkzorder.sources.FormatStarFuzz

/** Random star schemas of Iceberg tables. */
class IcebergStarFuzzSuite extends IcebergTestBase with FormatStarFuzz {
  override protected def starFormat: String = "iceberg"
  override protected def nameOf(table: String): String = s"ice.db.$table"
  override protected def withTablesOfStar(body: => Any): Unit = withTables(body)
}
