// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.joins.BaseJoinExec

/**
 * Tells how the scans of a query's fact tables are joined, to find out why a scan is not pruned.
 * The joins are those of the plan without adaptive execution.
 */
object JoinsAbove extends AdaptiveSparkPlanHelper {

  /** One line for each scan of a fact table: the table, its filters and the joins above the scan. */
  def of(open: OpenContender, query: String): Seq[String] = {
    open.session.conf.set("spark.sql.adaptive.enabled", "false")
    try {
      val plan = open.session.sql(query).queryExecution.executedPlan
      (plan +: subqueriesAll(plan)).flatMap(p => lines(p, Nil, open.sizes.keySet))
    } finally open.session.conf.unset("spark.sql.adaptive.enabled")
  }

  private def lines(plan: SparkPlan, above: Seq[String], facts: Set[String]): Seq[String] =
    plan match {
      case scan: FileSourceScanExec =>
        val table = scan.relation.location.rootPaths.head.getName
        val filters = scan.dataFilters.map(_.sql).filterNot(_.contains("IS NOT NULL"))
        if (facts(table)) {
          Seq(s"$table [${filters.mkString(" AND ").take(300)}]: ${above.reverse.mkString(" < ")}")
        } else Nil
      case join: BaseJoinExec =>
        val keys = join.leftKeys.map(_.sql).zip(join.rightKeys.map(_.sql))
          .map { case (l, r) => s"$l = $r" }.mkString(" AND ")
        Seq("left" -> join.left, "right" -> join.right).flatMap { case (side, child) =>
          val name = join.nodeName.stripSuffix("Exec")
          lines(child, above :+ s"$side of $name ${join.joinType} on $keys", facts)
        }
      case other =>
        val name = other.nodeName
        val noted = Seq("Aggregate", "Union", "Window", "Limit", "Generate", "Expand")
          .filter(name.contains)
        other.children.flatMap(lines(_, above ++ noted, facts))
    }
}
