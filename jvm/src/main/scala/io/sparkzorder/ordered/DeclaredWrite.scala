// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.util.Locale

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression

import io.sparkzorder.conf.{Setting, Settings}
import io.sparkzorder.expressions.ZOrderByValue

/**
 * One write into a table with a declared order.
 *
 * @param order the declared order
 * @param grade the setting `write`, never `none`
 */
private[sparkzorder] final case class DeclaredWrite(
    order: DeclaredOrder,
    grade: String,
    targetFileSize: Long) {

  /** True if the rows are sorted by the values of the columns. A single column has no other order. */
  def isByColumns: Boolean = order.lexical || order.columns.size == 1

  /**
   * The keys by which the rows are sorted without a grid.
   *
   * @param columns the ordering columns
   * @param why the reason that EXPLAIN shows, unless the rows are sorted by the columns themselves
   */
  def byValue(columns: Seq[Expression], why: String = "no grid is stored"): Seq[DeclaredKey] =
    if (isByColumns)
      columns.map(DeclaredKey(_, Settings.WriteSort, s"the order is ${order.clause}"))
    else {
      Seq(DeclaredKey(
        ZOrderByValue(columns),
        Settings.WriteSort,
        s"the order is ${order.clause}, and $why"))
    }

  /**
   * The keys for a write that is nested in another command. They sort the rows by value, until the nested
   * write is planned and chooses other keys.
   */
  def nested(columns: Seq[Expression]): Seq[DeclaredKey] =
    if (order.lexical) byValue(columns)
    else {
      val keys = byValue(columns).map(_.copy(nested = Some(this)))
      if (grade != Settings.WriteSampled) keys
      else {
        val why =
          s"the order is ${order.clause}, by a sample of the rows where they can be read twice"
        keys.map(_.copy(grade = grade, why = why))
      }
    }
}

private[ordered] object DeclaredWrite {

  /** The declared write and its ordering columns, if a nested write still has to choose its keys. */
  def nestedIn(keys: Seq[DeclaredKey]): Option[(DeclaredWrite, Seq[Expression])] =
    keys.head.nested.map { declared =>
      declared -> (keys.head.child match {
        case z: ZOrderByValue => z.children
        case _ => keys.map(_.child)
      })
    }

  /**
   * The declared write. None if no order is declared, or if the setting `write` is `none`.
   *
   * @param table the table of the catalog that is written to
   * @param options of the writer; they take precedence over the table's properties
   */
  def of(table: Option[CatalogTable], options: Map[String, String]): Option[DeclaredWrite] = {
    val own = options.map { case (key, value) => lowerCased(key) -> value }
    val stored = table.fold(Map.empty[String, String])(t => t.storage.properties ++ t.properties)
    val order = DeclaredOrder.of(own).orElse(DeclaredOrder.of(stored))
    order.flatMap { o =>
      val grade = setting(Settings.Write, own, stored)
      if (grade == Settings.WriteNone) None
      else Some(DeclaredWrite(o, grade, setting(Settings.TargetFileSize, own, stored)))
    }
  }

  private def setting[T](
      setting: Setting[T],
      own: Map[String, String],
      stored: Map[String, String]): T = {
    val option = own.get(setting.propertyKey.toLowerCase(Locale.ROOT))
    Settings.resolve(setting, stored ++ option.map(setting.propertyKey -> _))
  }

  // options of a writer ignore the case of their keys
  private def lowerCased(key: String): String = {
    val lower = key.toLowerCase(Locale.ROOT)
    if (lower.startsWith(Setting.PropertyPrefix)) lower else key
  }
}
