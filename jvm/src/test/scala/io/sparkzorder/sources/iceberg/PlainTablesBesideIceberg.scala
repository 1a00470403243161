// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import org.scalatest.tags.Slow

import io.sparkzorder.skipping.scan.{Neighbour, NeighbourTests}

trait IcebergFirst extends Neighbour {
  override protected def neighbour: String =
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
  override protected def isFirst: Boolean = true
}

trait IcebergLast extends IcebergFirst {
  override protected def isFirst: Boolean = false
}

@Slow
class IcebergFirstSuite extends NeighbourTests with IcebergFirst
@Slow
class IcebergLastSuite extends NeighbourTests with IcebergLast
