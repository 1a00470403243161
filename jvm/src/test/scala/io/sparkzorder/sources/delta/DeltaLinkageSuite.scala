package io.sparkzorder.sources.delta

import io.sparkzorder.sources.FormatLinkageTests

class DeltaLinkageSuite extends FormatLinkageTests("delta")
