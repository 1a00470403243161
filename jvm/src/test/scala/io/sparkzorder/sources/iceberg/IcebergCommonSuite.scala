// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import io.sparkzorder.sources.{FormatAutoTests, FormatStatementTests}

/** What is the same for each format, on Iceberg tables. */
class IcebergCommonSuite extends IcebergTestBase with FormatAutoTests with FormatStatementTests
