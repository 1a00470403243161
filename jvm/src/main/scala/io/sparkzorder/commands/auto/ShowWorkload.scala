// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._

import io.sparkzorder.commands.{TableState, WorkloadAction}
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.table.Target
import io.sparkzorder.workload.{ExcludedColumns, Workload, WorkloadStore}

/** SHOW WORKLOAD: the recorded scans of a table. The templates that read the most bytes come first. */
private[sparkzorder] case object ShowWorkload extends WorkloadAction {
  override def statement: String = "SHOW WORKLOAD"
  override def description(target: Target): String = s"ShowWorkload ${target.name}"

  private val use = new StructType()
    .add("name", StringType, nullable = false)
    .add("kind", StringType, nullable = false)

  /**
   * One row for each template. A template stands for all scans that skip files by the same columns in the same way.
   */
  override val schema: StructType = new StructType()
    .add("columns", ArrayType(use, containsNull = false), nullable = false)
    .add("usable", BooleanType, nullable = false)
    .add("scans", LongType, nullable = false)
    .add("bytes", LongType, nullable = false)
    .add("share", DoubleType, nullable = false)
    .add("boxes", LongType, nullable = false)
    .add("unusedPredicates", LongType, nullable = false)

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.check()
    runOnWorkload(table.state, table.conf, table.target.properties)
  }

  override def runOnWorkload(
      state: StateDirectory,
      conf: Configuration,
      properties: => Map[String, String]): Seq[Row] = {
    val workload =
      Workload.read(state, conf, WorkloadStore.today, ExcludedColumns.of(properties))
    val all = math.max(1e-9, workload.weight)
    workload.templates.toSeq.sortBy { case (t, u) => (-u.weight, t.columns.mkString(",")) }
      .map { case (t, u) =>
        Row(
          t.uses.map(c => Row(c.column, c.kind.name)),
          t.uses.nonEmpty,
          u.count,
          u.weight.toLong,
          math.rint(u.weight / all * 1e6) / 1e6,
          u.boxes.size.toLong,
          u.unused)
      }
  }
}
