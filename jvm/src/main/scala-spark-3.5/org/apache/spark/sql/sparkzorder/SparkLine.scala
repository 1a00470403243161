// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.sparkzorder

import org.apache.spark.sql.{Column, DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ShuffleExchangeLike}

/**
 * The types of sessions and data frames in Spark 3.5. In Spark 4, the same aliases stand for the classes of the
 * package `classic`, because only those have plans.
 */
object SparkLine {
  type Session = SparkSession
  type Frame = DataFrame

  def session(s: SparkSession): Session = s

  /** A session with its own settings that shares the catalog and the caches. */
  def clone(s: Session): Session = s.cloneSession()

  def frame(s: Session, plan: LogicalPlan): Frame = Dataset.ofRows(s, plan)

  def column(e: Expression): Column = new Column(e)

  /** The expression without the names that Spark 4 gives to parts of an expression. Spark 3.5 has no such names. */
  def inlined(e: Expression): Expression = e

  def unresolvedTable(name: Seq[String], command: String): LogicalPlan =
    UnresolvedTable(name, command, None)

  /**
   * The id of the shuffle of an exchange. An exchange that has not run gets its id by this call. None for the exchange
   * of an accelerator: in Spark 3.5, only Spark's own exchange tells the id.
   */
  def shuffleId(exchange: ShuffleExchangeLike): Option[Int] = exchange match {
    case s: ShuffleExchangeExec => Some(s.shuffleDependency.shuffleId)
    case _ => None
  }

  /**
   * True if Spark can read a Parquet column as a wider type. The vectorized reader of 3.5 cannot read INT32 as
   * BIGINT (SPARK-40876 is in 4.0).
   */
  val readsWidened: Boolean = false
}
