// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.sparkzorder

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable
import org.apache.spark.sql.catalyst.expressions.{CommonExpressionRef, Expression, With}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike

/** In Spark 4, the sessions and data frames that have plans are those of the package `classic`. */
object SparkLine {
  type Session = classic.SparkSession
  type Frame = classic.DataFrame

  def session(s: SparkSession): Session = s.asInstanceOf[classic.SparkSession]

  /** A session with its own settings that shares the catalog and the caches. */
  def clone(s: Session): Session = s.cloneSession()

  def frame(s: Session, plan: LogicalPlan): Frame = classic.Dataset.ofRows(s, plan)

  def column(e: Expression): org.apache.spark.sql.Column = ExpressionUtils.column(e)

  /**
   * The expression without the names that Spark gives to parts which occur twice, such as `x` in `x BETWEEN 1 AND 2`.
   * The analyzer cannot resolve the columns of such a part again.
   */
  def inlined(e: Expression): Expression = e.transformUp {
    case With(child, defs) =>
      val parts = defs.map(d => d.id -> d.child).toMap
      child.transform { case r: CommonExpressionRef if parts.contains(r.id) => parts(r.id) }
  }

  def unresolvedTable(name: Seq[String], command: String): LogicalPlan =
    UnresolvedTable(name, command)

  /** The id of the shuffle of an exchange that has run. */
  def shuffleId(exchange: ShuffleExchangeLike): Option[Int] = Some(exchange.shuffleId)

  /**
   * True if Spark can read a Parquet column as a wider type: INT32 as BIGINT, FLOAT as DOUBLE, a DECIMAL as a
   * wider DECIMAL (SPARK-40876).
   */
  val readsWidened: Boolean = true
}
