// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.types.DataType

/** There is no TIME before Spark 4.1. */
private[sparkzorder] object TimeBridge {

  def isTime(dataType: DataType): Boolean = {
    val _ = dataType
    false
  }
}
