package io.sparkzorder.formats.delta

import io.sparkzorder.formats.FormatLinkageTests

class DeltaLinkageSuite extends FormatLinkageTests("delta")
