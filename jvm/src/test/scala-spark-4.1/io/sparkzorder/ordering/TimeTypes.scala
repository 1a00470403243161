// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.types.{DataType, TimeType}

/** TIME is a type from Spark 4.1 on. */
object TimeTypes {
  val all: Seq[DataType] = Seq(TimeType(0), TimeType(6))
}
