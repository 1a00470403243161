package io.sparkzorder.commands.history

import java.sql.Timestamp
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types._

import io.sparkzorder.commands.{TableState, TargetAction}
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.{Cleanup, Leftover, Leftovers}
import io.sparkzorder.table.Target

/**
 * VACUUM LAYOUT: removes what `_zorder/` holds for a while only, when that while is over.
 *
 * @param hours RETAIN: instead of the retention of each run and of the table
 * @param dryRun tells what would be removed, and changes nothing
 */
final case class VacuumLayout(hours: Option[Long], dryRun: Boolean) extends TargetAction {
  override def statement: String = "VACUUM LAYOUT"
  override def command(target: Target): LogicalPlan = VacuumLayoutCommand(target, this)

  override def toString: String =
    hours.map(h => s" RETAIN $h HOURS").getOrElse("") + (if (dryRun) " DRY RUN" else "")
}

object VacuumLayout {

  /** So many that no sum of milliseconds overflows. */
  val MaxHours: Long = Int.MaxValue.toLong

  /** Columns of the result, a row for each directory or file. */
  val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("kind", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("bytes", LongType, nullable = false)
    .add("since", TimestampType, nullable = false)
    .add("removed", BooleanType, nullable = false)
}

/** VACUUM LAYOUT of a known target. */
final case class VacuumLayoutCommand(target: Target, clauses: VacuumLayout)
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(VacuumLayout.schema)

  override def simpleString(maxFields: Int): String = s"VacuumLayout ${target.name}$clauses"

  override def run(session: SparkSession): Seq[Row] = {
    val user = SparkLine.session(session)
    val table = new TableState(user, target)
    table.checkInPlace()
    val nowMs = System.currentTimeMillis()
    // what this very statement publishes is not over, however short the retention
    val unfinished = table.state.unfinished().map(_._2.run).toSet
    if (!clauses.dryRun && unfinished.nonEmpty) {
      table.exchanging(table.rollForward())
    }
    val cleanup = new Cleanup(table.state, user.sparkContext.sparkUser)
    leftovers(table, nowMs).filterNot(l => unfinished(l.run)).map { l =>
      val removed =
        if (clauses.dryRun) l.kind != Leftover.Conflict else cleanup.remove(l)
      Row(l.path.toString, l.kind.name, l.files, l.bytes, new Timestamp(l.sinceMs), removed)
    }
  }

  private def leftovers(table: TableState, nowMs: Long): Seq[Leftover] = {
    val asked = clauses.hours.map(TimeUnit.HOURS.toMillis)
    val retainMs = asked.getOrElse(table.settings(Settings.Retention))
    val found = new Leftovers(table.state, nowMs)
    found.expired(asked) ++ found.conflicts ++
      (found.uncommitted ++ found.temporary).filter(found.isOver(_, retainMs))
  }
}
