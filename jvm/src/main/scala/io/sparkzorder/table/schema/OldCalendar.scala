// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._

import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation
}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

import org.apache.spark.sql.execution.datasources.DataSourceUtils
import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.table.stats.ScannedFile

/**
 * Tells which Parquet files have early dates and timestamps of the hybrid calendar, which is Julian before 1582. Spark
 * converts these when it reads them, and the new files have days of the proleptic Gregorian calendar.
 *
 * @param conf by which files that name no calendar are read
 */
private[sparkzorder] final class OldCalendar(conf: SQLConf) {
  private val ofDays = conf.getConf(SQLConf.PARQUET_REBASE_MODE_IN_READ).toString
  private val ofInt96 = conf.getConf(SQLConf.PARQUET_INT96_REBASE_MODE_IN_READ).toString

  /** True if Spark converts the early values of a column of the file. */
  def isConverted(f: ScannedFile): Boolean = f.orc.isEmpty && {
    def lookup(key: String): String = f.keyValues.getOrElse(key, null)
    // the modes are compared as text, because their class has another place in each line of Spark
    val days = DataSourceUtils.datetimeRebaseSpec(lookup, ofDays).mode.toString == "LEGACY"
    val int96 = DataSourceUtils.int96RebaseSpec(lookup, ofInt96).mode.toString == "LEGACY"
    (days || int96) && f.schema.getColumns.asScala.map(_.getPrimitiveType).exists { t =>
      t.getLogicalTypeAnnotation match {
        case _: DateLogicalTypeAnnotation => days
        // a timestamp without a zone is never converted
        case ts: TimestampLogicalTypeAnnotation => ts.isAdjustedToUTC && days
        case _ => t.getPrimitiveTypeName == INT96 && int96
      }
    }
  }
}

/**
 * The key by which Hive notes the calendar of dates and timestamps. Hive takes a file without the key for one of the
 * hybrid calendar, if a setting does not say otherwise, and converts the early days.
 */
private[schema] object HiveCalendarKey {
  val Name = "writer.date.proleptic"
  val Proleptic = "true"

  /**
   * @param values of the files that have the key
   * @param files the number of distinct footers
   * @param isConverted true if early days of some file are converted
   */
  def join(values: Seq[FooterValue], files: Int, isConverted: Boolean): KeptKey = {
    val isOne = values.size == files && values.forall(_.text == values.head.text)
    // where Spark converts nothing, the new files have the days that are stored, so a common value stays true
    if (isOne && !isConverted) KeptKey(Some(values.head.text), Nil)
    else if (isConverted || values.exists(_.text == Proleptic)) KeptKey(Some(Proleptic), Nil)
    else KeptKey.dropped(Name, "not all files have the same")
  }
}
