package org.apache.spark.sql.sparkzorder

import org.apache.spark.sql.types.{AbstractDataType, AnyDataType, DataType, TypeCollection}

/**
 * Spark's input types of expressions. In Spark's package, as their names are private to it, though
 * `ExpectsInputTypes`, which every extension with functions implements, is not.
 */
object InputTypes {
  type InputType = AbstractDataType

  /** Any type, without a cast. */
  val any: InputType = AnyDataType

  /** One of these types. */
  def oneOf(types: DataType*): InputType = TypeCollection(types: _*)
}
