// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.parser.ParserInterface

/** The parser methods of Spark 3.5: none of its own. */
class RecordingParserOfSparkLine(real: ParserInterface) extends RecordingParser(real)

object RecordingParserOfSparkLine {
  val ownMethods: Set[String] = Set.empty

  def checkOwnMethods(parser: ZOrderParser, recording: RecordingParser): Unit = {
    val _ = (parser, recording)
  }
}
