// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import io.sparkzorder.sources.FormatLinkageTests

class IcebergLinkageSuite extends FormatLinkageTests("iceberg")
