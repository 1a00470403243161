// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{DataType, StructType}

/** Writes down what reaches the next parser, and lets Spark's own do the work. */
abstract class RecordingParser(val real: ParserInterface) extends ParserInterface {
  val seen: ArrayBuffer[(String, String)] = ArrayBuffer.empty
  protected def note[T](method: String, text: String)(result: => T): T = {
    seen += (method -> text)
    result
  }
  override def parsePlan(sqlText: String): LogicalPlan =
    note("parsePlan", sqlText)(real.parsePlan(sqlText))
  override def parseExpression(sqlText: String): Expression =
    note("parseExpression", sqlText)(real.parseExpression(sqlText))
  override def parseTableIdentifier(sqlText: String): TableIdentifier =
    note("parseTableIdentifier", sqlText)(real.parseTableIdentifier(sqlText))
  override def parseFunctionIdentifier(sqlText: String): FunctionIdentifier =
    note("parseFunctionIdentifier", sqlText)(real.parseFunctionIdentifier(sqlText))
  override def parseMultipartIdentifier(sqlText: String): Seq[String] =
    note("parseMultipartIdentifier", sqlText)(real.parseMultipartIdentifier(sqlText))
  override def parseTableSchema(sqlText: String): StructType =
    note("parseTableSchema", sqlText)(real.parseTableSchema(sqlText))
  override def parseDataType(sqlText: String): DataType =
    note("parseDataType", sqlText)(real.parseDataType(sqlText))
  override def parseQuery(sqlText: String): LogicalPlan =
    note("parseQuery", sqlText)(real.parseQuery(sqlText))
}
