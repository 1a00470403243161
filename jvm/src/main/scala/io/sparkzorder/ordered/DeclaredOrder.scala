// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.util.Locale

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap

import io.sparkzorder.conf.{Setting, Settings}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.expressions.ZOrderByValue
import io.sparkzorder.table.WrittenName
import io.sparkzorder.util.NameList

/**
 * The order in which rows are written into a table, as SORT BY or a table property declares it.
 *
 * @param columns the name parts of each ordering column; empty only for [[DeclaredOrder.auto]]
 * @param lexical true to sort rows by the first column, then by the second and so on; false to order rows
 *   by all columns together
 */
private[sparkzorder] final case class DeclaredOrder(columns: Seq[Seq[String]], lexical: Boolean) {
  import DeclaredOrder._

  /** The columns in the form of the property `zorder.columns`. */
  def text: String = columns.map(WrittenName.of).mkString(", ")

  /** The clause of the statement that declares this order, such as `ZORDER (a, b)`. */
  def clause: String =
    if (columns.isEmpty) "ZORDER AUTO" else s"${word.toUpperCase(java.util.Locale.ROOT)} ($text)"

  private def word: String = if (lexical) Lexical else ZOrder

  /**
   * The table properties that declare this order: our properties, and two that Impala and Hive read. Impala and Hive
   * separate names by commas and do not quote them. So an order with a nested field, or with a comma in a name, has
   * only our properties.
   */
  def properties: Map[String, String] = {
    val own = Map(Settings.Columns.propertyKey -> text, Settings.Order.propertyKey -> word)
    if (columns.isEmpty) {
      Map(Settings.Order.propertyKey -> Auto, Settings.WorkloadEnabled.propertyKey -> "true")
    } else if (columns.exists(c => c.size > 1 || c.head.contains(","))) own
    else {
      // Impala refuses ZORDER with one column, and LEXICAL with one column is the same order
      val order = if (lexical || columns.size == 1) "LEXICAL" else "ZORDER"
      own ++ Map(ImpalaColumns -> columns.map(_.head).mkString(","), ImpalaOrder -> order)
    }
  }
}

private[sparkzorder] object DeclaredOrder {
  val Lexical = "lexical"
  val ZOrder = "zorder"
  val Auto = "auto"
  val ImpalaColumns = "sort.columns"
  val ImpalaOrder = "sort.order"

  /**
   * The order ZORDER AUTO: OPTIMIZE chooses the columns by the recorded workload, and writes have no order.
   */
  val auto: DeclaredOrder = DeclaredOrder(Nil, lexical = false)

  def isAuto(table: CatalogTable): Boolean =
    table.properties.get(Settings.Order.propertyKey).exists(_.equalsIgnoreCase(Auto)) &&
      !table.properties.contains(Settings.Columns.propertyKey)

  /** The table property in which Spark 4 keeps the columns of CLUSTER BY. */
  val SparkClustering = "clusteringColumns"

  /**
   * The properties of a declaration, which `SORT BY ()` removes. It leaves `zorder.workload.enabled`, which AUTO has
   * set.
   */
  val propertyKeys: Seq[String] =
    Seq(Settings.Columns.propertyKey, Settings.Order.propertyKey, ImpalaColumns, ImpalaOrder)

  /** The names in the property `zorder.columns`, which are separated by commas and quoted as in SQL. */
  def split(text: String): Seq[String] = NameList.split(text)

  /**
   * The declared order of a table: from our properties, else from Impala's, else from Spark's CLUSTER BY; None if
   * none of them is there. Options of the table count like properties, because `saveAsTable` stores the options of
   * the writer there. If both name columns, the properties count alone. Also None for ZORDER AUTO.
   */
  def of(table: CatalogTable): Option[DeclaredOrder] =
    if (isAuto(table)) None
    // the options may name the columns, and the properties another order of them
    else of(table.properties).orElse(of(table.storage.properties ++ table.properties))

  /**
   * @param properties the properties of a table, or the options of a write to a path
   * @throws io.sparkzorder.errors.ZOrderException if a value is not valid
   */
  def of(properties: Map[String, String]): Option[DeclaredOrder] = {
    val (columns, lexical) =
      properties.get(Settings.Columns.propertyKey)
        .map(text => split(text).map(WrittenName.parts) -> (order(properties) == Lexical))
        .orElse(properties.get(ImpalaColumns).map(impala(_, properties.get(ImpalaOrder))))
        .orElse(properties.get(SparkClustering).map(spark(_) -> false))
        .getOrElse(Nil -> false)
    if (columns.isEmpty) None else Some(DeclaredOrder(columns, lexical))
  }

  private def order(properties: Map[String, String]): String =
    properties.get(Settings.Order.propertyKey)
      .fold(ZOrder)(Settings.Order.parse(_, Settings.Order.propertyKey))

  private def impala(names: String, order: Option[String]): (Seq[Seq[String]], Boolean) =
    names.split(',').toSeq.map(_.trim).filter(_.nonEmpty).map(Seq(_)) ->
      !order.exists(_.equalsIgnoreCase("ZORDER"))

  /** @param json an array that has an array of name parts for each column */
  private def spark(json: String): Seq[Seq[String]] =
    try new ObjectMapper().readTree(json).asScala.toSeq.map(_.asScala.toSeq.map(_.asText))
    catch {
      case e: java.io.IOException =>
        throw ZOrderErrors.invalidSetting(SparkClustering, json, e.getMessage)
    }
}

/**
 * One write into a table with a declared order.
 *
 * @param order the declared order
 * @param grade the value of the setting `write`, but never `none`
 */
private[sparkzorder] final case class DeclaredWrite(
    order: DeclaredOrder,
    grade: String,
    targetFileSize: Long) {

  /** True if the rows are sorted by the values of the columns. A single column has no other order. */
  def isByColumns: Boolean = order.lexical || order.columns.size == 1

  /**
   * The keys by which the rows are sorted if no grid is used.
   *
   * @param columns the ordering columns
   * @param why why no grid is used. EXPLAIN shows this reason, unless the rows are sorted by the columns themselves
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
   * The keys for a write that is nested in another command. They sort the rows by their values. A nested write that
   * is planned later may replace them by other keys.
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
   * @param options the options of the write; they take precedence over the table's properties. For a table of the
   *   catalog, Spark also puts the options of the table there, as the session has read them first
   */
  def of(table: Option[CatalogTable], options: Map[String, String]): Option[DeclaredWrite] = {
    val own = options.map { case (key, value) => lowerCased(key) -> value }
    val stored = table.fold(Map.empty[String, String])(t => t.storage.properties ++ t.properties)
    val order = DeclaredOrder.of(own).orElse(table.flatMap(t => DeclaredOrder.of(t)))
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
    // the keys of stored options may be in lower case
    def ofTable = if (stored.contains(setting.propertyKey)) None
    else CaseInsensitiveMap(stored).get(setting.propertyKey)
    val option = own.get(setting.propertyKey.toLowerCase(Locale.ROOT)).orElse(ofTable)
    Settings.resolve(setting, stored ++ option.map(setting.propertyKey -> _))
  }

  // the keys of a writer's options are not case-sensitive
  private def lowerCased(key: String): String = {
    val lower = key.toLowerCase(Locale.ROOT)
    if (lower.startsWith(Setting.PropertyPrefix)) lower else key
  }
}
