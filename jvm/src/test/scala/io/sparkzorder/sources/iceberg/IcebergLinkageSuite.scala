package io.sparkzorder.sources.iceberg

import io.sparkzorder.sources.FormatLinkageTests

class IcebergLinkageSuite extends FormatLinkageTests("iceberg")
