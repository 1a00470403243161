// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.util.TimeZone

import org.apache.hadoop.util.VersionUtil

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.delta.actions.Metadata
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StringType, TimestampType}

import io.sparkzorder.errors.ZOrderErrors

/**
 * The time zone for a write of partitions by a timestamp. Spark names the folder of such a partition by the time in the
 * zone of the session, and Delta reads the instant from this name. In a zone with summer time, the last hour of summer
 * time has the same names as the hour after it.
 *
 * @param name of the table, as messages show it
 */
private[delta] final class DeltaZone(name: String, metadata: Metadata) {
  import DeltaZone._

  /**
   * A zone of the session in which each instant has a name of its own.
   *
   * @param instants partition values with a zone, as the Delta log writes them
   * @param ofSession the zone of the session, which is kept if possible
   */
  def of(instants: Seq[String], ofSession: String): String =
    if (instants.isEmpty) ofSession
    else {
      val usual = if (readsFoldersInZoneOfJvm) TimeZone.getDefault.getID else ofSession
      instants.distinct.find(!hasOwnName(_, usual)).fold(usual) { time =>
        if (readsFoldersInZoneOfJvm || hasExpressions) refuse(time, usual) else "UTC"
      }
    }

  /** True if the table has generated columns or constraints. Delta evaluates them in the zone of the session. */
  private def hasExpressions: Boolean =
    metadata.configuration.keys.exists(_.startsWith("delta.constraints.")) ||
      Seq("delta.generationExpression", "delta.invariants").exists(metadata.schemaString.contains)

  private def refuse(time: String, zone: String): Nothing = {
    val setting =
      if (readsFoldersInZoneOfJvm) "-Duser.timezone of the driver and the executors"
      else SQLConf.SESSION_LOCAL_TIMEZONE.key
    throw ZOrderErrors.unsupportedTable(
      name,
      s"a Delta table with the partition $time, whose hour the zone $zone repeats at the end of summer time",
      s"Run the statement with UTC for $setting, or leave the partition out by WHERE.")
  }
}

private[delta] object DeltaZone {

  /**
   * Delta before 4.1 reads the name of a folder in the time zone of the JVM, and so gets another instant where this
   * zone differs from that of the session.
   */
  def readsFoldersInZoneOfJvm: Boolean = VersionUtil.compareVersions(io.delta.VERSION, "4.1.0") < 0

  /** True if the time that a zone shows for an instant leads back to this instant. */
  private def hasOwnName(instant: String, zone: String): Boolean = {
    def cast(value: Expression, to: DataType) = Cast(value, to, Some(zone), ansiEnabled = false)
    val time = cast(Literal(instant), TimestampType)
    cast(cast(time, StringType), TimestampType).eval() == time.eval()
  }
}
