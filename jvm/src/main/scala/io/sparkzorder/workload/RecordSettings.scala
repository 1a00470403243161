// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import scala.util.Try

import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.{Setting, Settings}
import io.sparkzorder.util.NameList

/** Whether and what to record of the scans of a table, by its properties and the session's settings. */
private[sparkzorder] object RecordSettings {

  /**
   * The table's property before the setting of the session. A wrong property is off, as a query must
   * not fail by it. Nothing is recorded while spark-zorder is turned off.
   */
  def isOn(properties: Map[String, String]): Boolean =
    Settings.ofSession(Settings.Enabled) &&
      valueOf(Settings.WorkloadEnabled, properties).getOrElse(false)

  /** @return None if the value is wrong */
  def valueOf[T](setting: Setting[T], properties: Map[String, String]): Option[T] =
    Try(Settings.resolve(setting, properties)).toOption

  /** Tells which columns must not be noted. */
  def excluded(
      properties: Map[String, String],
      sameName: (String, String) => Boolean): String => Boolean =
    properties.get(Settings.WorkloadExclude.propertyKey) match {
      case None => _ => false
      case Some(text) =>
        val names =
          NameList.split(text).map(_.stripPrefix("`").stripSuffix("`").replace("``", "`"))
        column => names.exists(sameName(_, column))
    }

  /** The share of the bytes of all columns that the columns of a scan have, by their types. */
  def columnsShare(read: StructType, all: StructType): Double = {
    def size(schema: StructType) = schema.fields.map(_.dataType.defaultSize.toDouble).sum
    val whole = size(all)
    if (whole <= 0) 1.0 else math.min(1.0, math.max(1.0, size(read)) / whole)
  }
}
