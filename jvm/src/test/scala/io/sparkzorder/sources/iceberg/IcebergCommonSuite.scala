// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.io.File

import io.sparkzorder.sources.{FormatAutoTests, FormatStatementTests}

/** What is the same for each format, on Iceberg tables. */
class IcebergCommonSuite
    extends IcebergTestBase
    with FormatAutoTests
    with FormatStatementTests {
  override protected def directory: File = new File(warehouse, "db/t")
  override protected def commits: Int = snapshots("t").count(_.operation == "replace")
  override protected def allCommits: Int = snapshots("t").size
}
