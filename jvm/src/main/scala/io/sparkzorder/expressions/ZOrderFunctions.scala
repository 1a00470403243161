package io.sparkzorder.expressions

import scala.reflect.ClassTag

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, FunctionRegistryBase}
import org.apache.spark.sql.catalyst.expressions.Expression

/** Every SQL function of spark-zorder, by its name. */
object ZOrderFunctions {

  type Description = SparkSessionExtensions#FunctionDescription

  val all: Seq[Description] = Seq(
    function[Hilbert](Hilbert.Name),
    function[InterleaveBits]("interleave_bits"),
    function[OrderedBits]("ordered_bits"),
    function[RangePartitionId](RangePartitionId.Name),
    function[ZOrder](ZOrder.Name),
    function[ZOrderByValue]("zorder_by_value"))

  /**
   * Adds the functions to every session of this JVM that is made from now on.
   *
   * A permanent view may call built-in functions and functions of the catalog only, and Spark takes a
   * function for built-in if it is in this registry; one that is only injected passes for temporary.
   */
  def registerAsBuiltin(): Unit = all.foreach { case (name, info, builder) =>
    FunctionRegistry.builtin.registerFunction(name, info, builder)
  }

  private def function[T <: Expression: ClassTag](name: String): Description = {
    val (info, builder) = FunctionRegistryBase.build[T](name, None)
    (FunctionIdentifier(name), info, builder)
  }
}
