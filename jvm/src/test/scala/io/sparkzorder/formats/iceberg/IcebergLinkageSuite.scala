package io.sparkzorder.formats.iceberg

import io.sparkzorder.formats.FormatLinkageTests

class IcebergLinkageSuite extends FormatLinkageTests("iceberg")
