// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import scala.reflect.ClassTag

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, FunctionRegistryBase}
import org.apache.spark.sql.catalyst.expressions.Expression

/** All SQL functions of spark-zorder. */
private[sparkzorder] object ZOrderFunctions {

  type Description = SparkSessionExtensions#FunctionDescription

  val all: Seq[Description] = Seq(
    function[Hilbert](Hilbert.Name),
    function[InterleaveBits]("interleave_bits"),
    function[OrderedBits]("ordered_bits"),
    function[RangePartitionId](RangePartitionId.Name),
    function[ZOrder](ZOrder.Name),
    function[ZOrderByValue]("zorder_by_value"))

  /**
   * Adds the functions to every session that this JVM creates from now on.
   *
   * A permanent view may only call built-in functions and functions of the catalog. Spark treats each function in this
   * registry as built-in. If an extension only injects a function, Spark treats the function as temporary.
   */
  def registerAsBuiltin(): Unit = all.foreach { case (name, info, builder) =>
    FunctionRegistry.builtin.registerFunction(name, info, builder)
  }

  private def function[T <: Expression: ClassTag](name: String): Description = {
    val (info, builder) = FunctionRegistryBase.build[T](name, None)
    (FunctionIdentifier(name), info, builder)
  }
}
