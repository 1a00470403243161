// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.types.DataType

/** Range ids of a sample in one step, for tests. */
object RangeIds {

  /** @param bits 0 to 30 */
  def fromSample(
      dataType: DataType,
      values: Array[Any],
      weights: Array[Double],
      nullWeight: Double,
      bits: Int,
      maxBounds: Int): ColumnRangeIds =
    ColumnRanks.fromSample(dataType, values, weights, nullWeight, maxBounds).toRangeIds(1 << bits)
}
