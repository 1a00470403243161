// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult.{DataTypeMismatch, TypeCheckSuccess}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.IntegerType

import io.sparkzorder.ordering.{OrderedType, TypeBridge}

/** Checks of function arguments. They raise Spark's own error conditions. */
private[expressions] object ArgumentChecks {

  private val orderableTypes =
    "BOOLEAN, a numeric type, a date or time, an ANSI interval, a STRING in binary order, or BINARY"

  /**
   * Raises Spark's WRONG_NUM_ARGS unless `valid`. Spark's function registry cannot check the number
   * of arguments of a function that takes any number of columns.
   */
  def requireCount(function: String, expected: String, actual: Int, valid: Boolean): Unit =
    if (!valid) {
      throw new AnalysisException(
        errorClass = "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
        messageParameters = Map(
          "functionName" -> TypeUtils.toSQLId(function),
          "expectedNum" -> expected,
          "actualNum" -> actual.toString,
          "docroot" -> "https://spark.apache.org/docs/latest"))
    }

  /** Checks that every argument has an orderable atomic type. */
  def orderable(function: String, arguments: Seq[Expression]): TypeCheckResult =
    arguments.zipWithIndex
      .collectFirst {
        case (e, i) if OrderedType.of(e.dataType).isEmpty =>
          TypeUtils.checkForOrderingExpr(e.dataType, function) match {
            case TypeCheckSuccess => unexpectedType(e, i, orderableTypes)
            case failure => failure
          }
      }
      .getOrElse(TypeCheckSuccess)

  /** Checks that `argument` is a constant and not NULL, and, if it is an INT, that it lies within `range`. */
  def literalInt(name: String, argument: Expression, range: Range.Inclusive): TypeCheckResult =
    if (!argument.foldable) {
      DataTypeMismatch(
        "NON_FOLDABLE_INPUT",
        Map(
          "inputName" -> TypeUtils.toSQLId(name),
          "inputType" -> TypeUtils.toSQLType(IntegerType),
          "inputExpr" -> TypeUtils.toSQLExpr(argument)))
    } else {
      argument.eval() match {
        case null => DataTypeMismatch("UNEXPECTED_NULL", Map("exprName" -> TypeUtils.toSQLId(name)))
        case n: Int if n < range.start || n > range.end =>
          DataTypeMismatch(
            "VALUE_OUT_OF_RANGE",
            Map(
              "exprName" -> TypeUtils.toSQLId(name),
              "valueRange" -> s"[${range.start}, ${range.end}]",
              "currentValue" -> TypeUtils.toSQLValue(n, IntegerType)))
        case _ => TypeCheckSuccess
      }
    }

  /** Spark's UNEXPECTED_INPUT_TYPE for the argument at `index`, counted from 0. */
  def unexpectedType(argument: Expression, index: Int, required: String): TypeCheckResult =
    DataTypeMismatch(
      "UNEXPECTED_INPUT_TYPE",
      Map(
        "paramIndex" -> TypeBridge.parameterName(index),
        "requiredType" -> required,
        "inputSql" -> TypeUtils.toSQLExpr(argument),
        "inputType" -> TypeUtils.toSQLType(argument.dataType)))
}
