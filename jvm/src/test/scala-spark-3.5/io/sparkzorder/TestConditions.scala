// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import org.apache.spark.SparkThrowable

/** The condition of an error, whose getter has another name in each line of Spark. */
object TestConditions {
  def of(e: SparkThrowable): String = e.getErrorClass
}
