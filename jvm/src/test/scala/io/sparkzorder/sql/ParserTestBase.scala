// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.analysis.UnresolvedTable
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import io.sparkzorder.commands.OptimizeTestBase

/** Our parser around Spark's own, without a session's other extensions. */
abstract class ParserTestBase extends OptimizeTestBase {

  /** The plain parser of Spark, not the one of the session, which has ours around it already. */
  protected def sparkParser: ParserInterface =
    Iterator.iterate(spark.sessionState.sqlParser) {
      case z: ZOrderParser => z.delegate
      case other => other
    }.find(!_.isInstanceOf[ZOrderParser]).get

  protected def recording: RecordingParserOfSparkLine = new RecordingParserOfSparkLine(sparkParser)

  protected def parse(text: String): LogicalPlan = new ZOrderParser(sparkParser).parsePlan(text)

  /** Without the ids of expressions, which are new in every plan. */
  protected def plain(plan: String): String = plan.replaceAll("#\\d+", "")

  protected def optimize(text: String): OptimizeTable = parse(text) match {
    case o: OptimizeTable => o
    case other => fail(s"$text became $other")
  }

  protected def nameOf(o: OptimizeTable): Seq[String] = o.child match {
    case u: UnresolvedTable => u.multipartIdentifier
    case PathTable(p, _) => Seq(p)
    case PathOrTable(parts) => parts
    case other => fail(other.toString)
  }
}
