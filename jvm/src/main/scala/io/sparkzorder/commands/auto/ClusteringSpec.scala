// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import scala.util.Try

import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.cluster.QueryBox
import io.sparkzorder.commands.Phases
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.table.OrderingColumn

/**
 * The order that a statement requests, before its columns are looked up.
 *
 * @param names the name parts of each ordering column; empty for a compaction
 * @param weights the weights of these columns; empty if all weights are equal, or if OPTIONS give them
 * @param queries the recorded queries, as boxes in the space of these columns
 * @param reason why AUTO has chosen this order
 * @param rewritesAll true if files that have this order already are rewritten, too
 * @param leavesTable true if AUTO leaves a table without a layout as it is
 */
private[sparkzorder] final case class ClusteringSpec(
    names: Seq[Seq[String]],
    weights: Seq[Double] = Nil,
    queries: IndexedSeq[QueryBox] = IndexedSeq.empty,
    reason: Option[String] = None,
    rewritesAll: Boolean = false,
    leavesTable: Boolean = false)

private[sparkzorder] object ClusteringSpec {

  /**
   * The order that AUTO chooses by the recorded workload.
   *
   * @param hasWhere true if the statement has a WHERE clause
   */
  def auto(
      user: Session,
      settings: Settings,
      table: AutoTable,
      hasWhere: Boolean,
      phases: Phases): ClusteringSpec = {
    settings.get(Settings.Weights).foreach { text =>
      throw ZOrderErrors.invalidSetting(Settings.Weights.key, text, "AUTO chooses the weights")
    }
    new AutoChoice(user, table, hasWhere, phases).choose()
  }
}

/** Reads the option `weights`. */
private[sparkzorder] final class WeightsOption(user: Session, settings: Settings) {
  private val key = Settings.Weights.key
  private val sameName = user.sessionState.conf.resolver

  /**
   * @param columns the ordering columns, which all exist in the table
   * @return the weight of each column, scaled so that the least weight is 1; empty if all weights are
   *   equal. None if the option is not set
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_INVALID_SETTING
   */
  def of(columns: Seq[OrderingColumn]): Option[Seq[Double]] =
    settings.get(Settings.Weights).map { text =>
      val named = DeclaredOrder.split(text).map(entry(_, text))
      val names = named.map(_._1)
      if (names.indices.exists(i => names.take(i).exists(_.corresponds(names(i))(sameName))))
        wrong(text, "it names a column twice")
      def isNamed(column: OrderingColumn, parts: Seq[String]) =
        column.parts.corresponds(parts)(sameName)
      named.find { case (parts, _) => !columns.exists(isNamed(_, parts)) }.foreach { case (p, _) =>
        wrong(text, s"${p.mkString(".")} is not one of the ordering columns")
      }
      WeightsOption.relative(columns.map { c =>
        named.collectFirst { case (parts, w) if isNamed(c, parts) => w }.getOrElse(1.0)
      })
    }

  private def entry(item: String, text: String): (Seq[String], Double) = {
    val colon = item.lastIndexOf(':')
    val parsed = for {
      parts <- Try(user.sessionState.sqlParser
        .parseMultipartIdentifier(item.take(math.max(0, colon)).trim)).toOption
      weight <- Try(item.drop(colon + 1).trim.toDouble).toOption
      if weight > 0 && weight <= WeightsOption.Most && weight >= 1 / WeightsOption.Most
    } yield (parts, weight)
    parsed.getOrElse(wrong(
      text,
      "it must be column:weight, separated by commas, with weights from 0.000001 to 1000000"))
  }

  private def wrong(text: String, problem: String): Nothing =
    throw ZOrderErrors.invalidSetting(key, text, problem)
}

private[sparkzorder] object WeightsOption {
  val Most = 1e6

  /** The weights, scaled so that the least weight is 1; empty if all weights are equal. */
  def relative(weights: Seq[Double]): Seq[Double] =
    if (weights.distinct.size <= 1) Nil else weights.map(_ / weights.min)
}
