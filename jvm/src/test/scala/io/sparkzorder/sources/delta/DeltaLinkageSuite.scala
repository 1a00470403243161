// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import io.sparkzorder.sources.FormatLinkageTests

class DeltaLinkageSuite extends FormatLinkageTests("delta")
