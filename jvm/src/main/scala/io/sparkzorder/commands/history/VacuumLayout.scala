// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.sql.Timestamp
import java.util.concurrent.TimeUnit

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._

import io.sparkzorder.commands.{TableState, WorkloadAction}
import io.sparkzorder.conf.Settings
import io.sparkzorder.index.IndexStore
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.log.publish.{Cleanup, Leftover, Leftovers}
import io.sparkzorder.sources.plain.TrustedStores
import io.sparkzorder.table.Target
import io.sparkzorder.workload.{WorkloadCapture, WorkloadStore}

/**
 * VACUUM LAYOUT: removes files that are kept for a limited time when this time is over: replaced files,
 * leftovers of dead runs, and old files in `_zorder/`.
 *
 * @param hours the hours of RETAIN, in place of the retention of each run and of the table
 * @param dryRun true to report what would be removed and change nothing
 */
private[sparkzorder] final case class VacuumLayout(hours: Option[Long], dryRun: Boolean)
    extends WorkloadAction {
  override def statement: String = "VACUUM LAYOUT"
  override def schema: StructType = VacuumLayout.schema

  override def description(target: Target): String =
    s"VacuumLayout ${target.name}" + hours.map(h => s" RETAIN $h HOURS").getOrElse("") +
      (if (dryRun) " DRY RUN" else "")

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.checkPublishing()
    val nowMs = System.currentTimeMillis()
    // Publishing these runs retains files. This statement does not remove them, however short the retention
    // is.
    val unfinished = TableLog.read(table.state).unfinished.map(_._2.run).toSet
    if (!dryRun && unfinished.nonEmpty) {
      table.exchanging(table.rollForward())
    }
    val user = session.sparkContext.sparkUser
    val cleanup = new Cleanup(table.state, user)
    if (!dryRun) TrustedStores.require(target.name, table.state)
    val shadows = new ShadowCleanup(table, user).expired(hours, nowMs).map { l =>
      val removed = dryRun || l.remove(atOnce = hours.contains(0L))
      Row(l.path.toString, l.kind, l.files, l.bytes, new Timestamp(l.sinceMs), removed)
    }
    shadows ++ leftovers(table, nowMs).filterNot(l => unfinished(l.run)).map { l =>
      val removed =
        if (dryRun) !l.kind.stays else cleanup.remove(l)
      Row(l.path.toString, l.kind.name, l.files, l.bytes, new Timestamp(l.sinceMs), removed)
    } ++ ofIndex(table) ++ runOnWorkload(table.state, table.conf)
  }

  /** Removes the parts of the index of values that the newest generation of the index does not need. */
  private def ofIndex(table: TableState): Seq[Row] = {
    val store = new IndexStore(table.state.root, table.conf)
    store.superseded(hours.fold(IndexStore.AbandonedMs)(TimeUnit.HOURS.toMillis)).map { f =>
      val inside = store.filesOf(f)
      val removed = dryRun || store.remove(f)
      val since = new Timestamp(f.getModificationTime)
      Row(f.getPath.toString, "index", inside.size.toLong, inside.map(_.getLen).sum, since, removed)
    }
  }

  /** Removes old files of the recorded workload. With RETAIN 0 HOURS, all of these files are removed. */
  override def runOnWorkload(state: StateDirectory, conf: Configuration): Seq[Row] = {
    val store = new WorkloadStore(state, conf)
    val all = hours.contains(0L)
    // Only this driver must forget its workload here. Other drivers notice that their files are gone.
    if (all && !dryRun) WorkloadCapture.forget(state)
    store.expired(WorkloadStore.today, all).map { f =>
      val removed = dryRun || store.remove(f)
      val since = new Timestamp(f.getModificationTime)
      Row(f.getPath.toString, "workload", 1L, f.getLen, since, removed)
    }
  }

  private def leftovers(table: TableState, nowMs: Long): Seq[Leftover] = {
    val asked = hours.map(TimeUnit.HOURS.toMillis)
    val retainMs = asked.getOrElse(table.settings(Settings.Retention))
    val found = new Leftovers(table.state, nowMs)
    found.expired(asked) ++ found.conflicts ++
      (found.uncommitted ++ found.strays ++ found.temporary)
        .filter(l => l.kind.stays || found.isOver(l, retainMs))
  }
}

private[sparkzorder] object VacuumLayout {

  /** The limit of RETAIN, which is small enough that no sum of milliseconds overflows. */
  val MaxHours: Long = Int.MaxValue.toLong

  /** A row for each directory or file. */
  private val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("kind", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("bytes", LongType, nullable = false)
    .add("since", TimestampType, nullable = false)
    .add("removed", BooleanType, nullable = false)
}
