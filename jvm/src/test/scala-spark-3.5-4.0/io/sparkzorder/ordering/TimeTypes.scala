// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.types.DataType

/** There is no TIME before Spark 4.1. */
object TimeTypes {
  val all: Seq[DataType] = Nil
}
