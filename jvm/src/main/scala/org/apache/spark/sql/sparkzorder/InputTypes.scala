// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.sparkzorder

import org.apache.spark.sql.types.{AbstractDataType, AnyDataType, DataType, TypeCollection}

/**
 * Spark's input types of expressions. Their names are private to Spark's package, although
 * extensions need them to implement the public `ExpectsInputTypes`.
 */
object InputTypes {
  type InputType = AbstractDataType

  /** Any type, without a cast. */
  val any: InputType = AnyDataType

  /** One of these types. */
  def oneOf(types: DataType*): InputType = TypeCollection(types: _*)
}
