// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import org.apache.commons.io.FileUtils.byteCountToDisplaySize

import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIfNeeded
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.cluster.QueryBox
import io.sparkzorder.commands.Phases
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.Record
import io.sparkzorder.workload.Workload

/**
 * The present layout of a table.
 *
 * @param columns the name parts of each ordering column
 * @param weights the weights of these columns; empty if all weights are equal
 */
private[sparkzorder] final case class LayoutInForce(columns: Seq[Seq[String]], weights: Seq[Double])

/** What [[AutoChoice]] needs to know about a table. */
private[sparkzorder] trait AutoTable {
  def workload(): Workload

  /** True if scans of the table are recorded only while the table has a skipping index. */
  def needsIndex: Boolean = false

  /** The last layout; None if there is no layout, or if one of the ordering columns was dropped. */
  def inForce: Option[LayoutInForce]

  /** A sample of the table. None if the table has no rows, or no recorded column by which files can be ordered. */
  def sampled(workload: Workload): Option[Sampled]

  /**
   * How many days ago the layout was changed; None if that is long enough ago for another change.
   *
   * @param bytes the size of the table
   */
  def daysSinceChange(bytes: Long): Option[Long]
}

/**
 * Chooses the ordering columns of a table by its recorded workload.
 *
 * @param hasWhere true if the statement has a WHERE clause
 */
private[sparkzorder] final class AutoChoice(
    user: Session,
    table: AutoTable,
    hasWhere: Boolean,
    phases: Phases) {
  import AutoChoice._

  private val sameName = user.sessionState.conf.resolver
  private lazy val inForce = table.inForce
  private def withIndex = if (table.needsIndex) " and the table has a skipping index" else ""

  /** The chosen order. It has no columns if the table has no layout and gets none. */
  def choose(): ClusteringSpec = {
    val workload = phases("workload")(table.workload())
    if (hasWhere) {
      keep("the record is that of the whole table, of which WHERE chooses a part")
    } else if (workload.count < MinScans) {
      keep(
        s"${workload.count} scans are recorded, and fewer than $MinScans do not tell enough" +
          (if (workload.count > 0) ""
           else
             s"; scans are recorded if ${Settings.WorkloadEnabled.propertyKey} is true$withIndex"))
    } else if (workload.usableCount == 0) {
      keep(s"none of the ${workload.count} recorded scans can skip files in any layout")
    } else {
      phases("choose")(table.sampled(workload)) match {
        case None =>
          keep(
            "the table has no rows, or no recorded scan is on a column that files can be ordered by")
        case Some(sampled) => decide(workload, sampled)
      }
    }
  }

  private def decide(workload: Workload, sampled: Sampled): ClusteringSpec = {
    val reads = sampled.reads
    val judged = Candidates.of(sampled.queries, sampled.values, sampled.files)
      .map(c => (c, reads.of(c))).sortBy(_._2)
    def text(bytes: Double) = byteCountToDisplaySize(bytes.toLong)
    val listing =
      judged.take(MaxListed).map { case (c, r) => s"${nameOf(c, sampled)} ${text(r)}" }
    // all recorded scans that no box stands for: every layout costs them the same
    val others = math.max(0.0, workload.weight - sampled.queries.weight)
    val layouts = if (listing.isEmpty) "" else listing.mkString(", and by the layouts ", ", ", "")
    val about = s"${workload.usableCount} of ${workload.count} recorded scans can skip files; they " +
      s"read ${text(reads.today)} of ${text(sampled.queries.weight)} if the files stay as they are" +
      layouts + workload.changedDaysAgo.fold("") { days =>
        s"; only the scans of the last ${days + 1} days count, because the queries changed"
      }
    judged.headOption match {
      case None => keep(s"$about; no column has two values")
      case Some((best, read)) =>
        val saved = reads.today - read
        if (saved < LeastSaving * (reads.today + others)) {
          keep(
            s"$about; no other layout saves a fifth of what all recorded scans read, " +
              text(reads.today + others),
            Some(sampled))
        } else if (saved < RewriteFactor * sampled.bytes) {
          keep(
            s"$about; ${text(saved)} saved are not worth a rewrite of ${text(sampled.bytes.toDouble)}",
            Some(sampled))
        } else {
          table.daysSinceChange(sampled.bytes) match {
            case Some(days) =>
              keep(
                s"$about; the layout was changed $days days ago, and AUTO changes it once in " +
                  s"${RecentChange.Days} days",
                Some(sampled))
            case None => chosen(best, about, sampled)
          }
        }
    }
  }

  private def chosen(c: Candidate, about: String, sampled: Sampled): ClusteringSpec = {
    val names = c.columns.map(sampled.columns(_).parts)
    val weights = if (c.weights.distinct.size <= 1) Nil else c.weights
    val reason = s"AUTO chooses ${nameOf(c, sampled)}: $about"
    // The best layout may have the columns and weights of the present layout. A rewrite still saves reads, because the
    // files were cut for earlier queries. Then all files are rewritten, with the present order of the columns.
    inForce.filter { r =>
      val was = r.columns.zip(weightsOf(r.weights, r.columns.size))
      val is = names.zip(weightsOf(weights, names.size))
      was.size == is.size && was.forall { case (n, w) =>
        is.exists { case (m, v) => n.corresponds(m)(sameName) && v == w }
      }
    }.fold(ClusteringSpec(names, weights, sampled.queries.boxesOf(c.columns), Some(reason))) { r =>
      present(boxesOf(r.columns, sampled), reason).copy(rewritesAll = true)
    }
  }

  private def weightsOf(weights: Seq[Double], n: Int): Seq[Double] =
    if (weights.isEmpty) Seq.fill(n)(1.0) else weights

  /** Keeps the present layout. New files get it, too. */
  private def keep(why: String, sampled: Option[Sampled] = None): ClusteringSpec =
    present(
      sampled.fold(IndexedSeq.empty[QueryBox])(boxesOf(inForce.toSeq.flatMap(_.columns), _)),
      s"AUTO keeps $inForceText: $why")

  private def present(queries: IndexedSeq[QueryBox], reason: String): ClusteringSpec =
    ClusteringSpec(
      inForce.toSeq.flatMap(_.columns),
      inForce.toSeq.flatMap(_.weights),
      queries,
      Some(reason),
      leavesTable = inForce.forall(_.columns.isEmpty))

  /** The recorded queries as boxes of these columns; empty if the sample lacks one of them. */
  private def boxesOf(names: Seq[Seq[String]], sampled: Sampled): IndexedSeq[QueryBox] = {
    val numbers = names.map(n => sampled.columns.indexWhere(_.parts.corresponds(n)(sameName)))
    if (numbers.isEmpty || numbers.contains(-1)) IndexedSeq.empty
    else sampled.queries.boxesOf(numbers)
  }

  private def inForceText: String = inForce match {
    case Some(r) => s"the layout by (${r.columns.map(nameOf).mkString(", ")})"
    case None => "the files as they are"
  }

  private def nameOf(parts: Seq[String]): String = parts.map(quoteIfNeeded).mkString(".")

  private def nameOf(c: Candidate, sampled: Sampled): String =
    c.columns.zip(c.weights).map { case (n, w) =>
      val name = nameOf(sampled.columns(n).parts)
      if (w == 1 || c.columns.size == 1) name else s"$name:${w.toLong}"
    }.mkString("(", ", ", ")")
}

private[auto] object AutoChoice {

  /** The number of recorded scans that is needed before a layout is changed. */
  val MinScans = 100L
  // a change must save at least this share of the bytes that the recorded scans read
  private val LeastSaving = 0.2
  // the bytes saved must be at least this multiple of the table's size, because a rewrite reads and writes the table
  private val RewriteFactor = 3.0
  private val MaxListed = 8
}

/**
 * Finds whether the layout of a table was changed in the last [[RecentChange.Days]] days. Then AUTO does not change
 * the layout, even if the workload has changed. A change is a run with other columns or weights than the run before
 * it, a run that rewrote more than half of the table, or an UNDO LAYOUT. The first layout of a table is not a change.
 */
private[sparkzorder] object RecentChange {

  /** AUTO changes a layout at most once in this number of days. */
  val Days = 7
  private val DayMs = 24L * 3600 * 1000
  // the clocks of two drivers may differ by this much
  private val ClockSkewMs = 3600L * 1000

  /**
   * @param runs the runs in force that have ordering columns, newest first
   * @param undos records of UNDO LAYOUT. They count because AUTO must not at once repeat a layout that a user has
   *   undone
   * @param bytes the size of the table
   * @return how many days ago the layout was changed, if the change is recent
   */
  def of(runs: Seq[Record], undos: Seq[Record], bytes: Long, nowMs: Long): Option[Long] = {
    // The newest record notes the time of the last change of columns or weights. The two records around a change do
    // not suffice: the record before the change is removed when later runs have replaced all of its files.
    val noted = runs.take(1).map(_.layoutSinceMs).filter(_ > 0)
    val seen = runs.zip(runs.drop(1)).collectFirst {
      case (r, before) if isOther(r, before) || r.cost.exists(_.inputBytes > bytes / 2) =>
        r.createdMs
    }
    daysAgo(noted ++ seen ++ undos.map(_.createdMs), nowMs)
  }

  /** How many days ago the last of these changes was made; None if that is not recent. */
  def daysAgo(changesMs: Seq[Long], nowMs: Long): Option[Long] =
    // Times in the future, beyond the clock skew, are ignored: a clock was wrong, and AUTO would stop until then.
    changesMs.map(nowMs - _).filter(_ > -ClockSkewMs)
      .map(age => math.max(0L, age) / DayMs).filter(_ < Days).reduceOption(_ min _)

  /**
   * The time for the record of a new run at which its layout replaced another layout; 0 if it never did.
   *
   * @param runs the runs in force before the new run that have ordering columns, newest first
   */
  def since(run: Record, runs: Seq[Record]): Long = runs.headOption.fold(0L) { before =>
    if (isOther(run, before)) run.createdMs else before.layoutSinceMs
  }

  private def isOther(r: Record, before: Record): Boolean =
    r.columns != before.columns || r.columnWeights != before.columnWeights
}
