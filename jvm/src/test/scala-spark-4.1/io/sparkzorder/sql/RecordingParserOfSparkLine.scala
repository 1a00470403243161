// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.scalatest.Assertions

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.parser.{
  NamedParameterContext,
  ParameterContext,
  ParserInterface
}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.StructType

/** The parser methods from Spark 4.1 on. */
class RecordingParserOfSparkLine(real: ParserInterface) extends RecordingParser(real) {
  override def parsePlanWithParameters(sqlText: String, context: ParameterContext): LogicalPlan =
    note("parsePlanWithParameters", sqlText)(real.parsePlanWithParameters(sqlText, context))
  override def parseRoutineParam(sqlText: String): StructType =
    note("parseRoutineParam", sqlText)(real.parseRoutineParam(sqlText))
}

object RecordingParserOfSparkLine extends Assertions {
  val ownMethods: Set[String] = Set("parsePlanWithParameters", "parseRoutineParam")

  def checkOwnMethods(parser: ZOrderParser, recording: RecordingParser): Unit = {
    val context = NamedParameterContext(Map("x" -> Literal(1)))
    val text = "SELECT :x AS layout, 'optimize'"
    val plan = parser.parsePlanWithParameters(text, context)
    parser.parseRoutineParam("layout INT")
    assert(recording.seen.toSeq ===
      Seq("parsePlanWithParameters" -> text, "parseRoutineParam" -> "layout INT"))
    def plain(p: LogicalPlan) = p.toString.replaceAll("#\\d+", "")
    assert(plain(plan) === plain(recording.real.parsePlanWithParameters(text, context)))
  }
}
