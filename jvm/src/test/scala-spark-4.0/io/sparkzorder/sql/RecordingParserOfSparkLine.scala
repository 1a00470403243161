// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.scalatest.Assertions

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.types.StructType

/** The parser methods of Spark 4.0. */
class RecordingParserOfSparkLine(real: ParserInterface) extends RecordingParser(real) {
  override def parseRoutineParam(sqlText: String): StructType =
    note("parseRoutineParam", sqlText)(real.parseRoutineParam(sqlText))
}

object RecordingParserOfSparkLine extends Assertions {
  val ownMethods: Set[String] = Set("parseRoutineParam")

  def checkOwnMethods(parser: ZOrderParser, recording: RecordingParser): Unit = {
    parser.parseRoutineParam("layout INT")
    assert(recording.seen.toSeq === Seq("parseRoutineParam" -> "layout INT"))
  }
}
