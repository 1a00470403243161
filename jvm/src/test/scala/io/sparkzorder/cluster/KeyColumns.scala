// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.types.DataType

/** Key columns of values in hand, for tests. */
object KeyColumns {

  /** @param values Catalyst values, nulls included */
  def of(dataType: DataType, values: Seq[Any]): KeyColumn = {
    val builder = KeyColumn.newBuilder(dataType)
    values.foreach(builder.add)
    builder.result()
  }
}
