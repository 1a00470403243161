// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

import io.sparkzorder.commands.Phases
import io.sparkzorder.report.{PointQueries, ValueDistribution}
import io.sparkzorder.sources.{BatchPlan, Effort, FormatFile, FormatFolder, Rewritten, TableFormat}
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * What a batch did, or will do.
 *
 * @param replaced None in a DRY RUN
 */
private[rewrite] final case class BatchDone(plan: BatchPlan, replaced: Option[Rewritten])

/** One listing of the table, and the batches of its plan that were done. */
private[rewrite] final case class Round(plan: RewritePlan, done: Seq[BatchDone])

/**
 * Builds the result row from the batches that were done or, in a DRY RUN, planned. Files between two passes
 * count neither as added nor as removed.
 *
 * @param rounds at least one
 * @param effort in a DRY RUN, the expected effort of the real run; else None
 */
private[rewrite] final class RewriteReport(
    format: TableFormat,
    rounds: Seq[Round],
    effort: Option[Effort]) {
  private val plan = rounds.head.plan
  private val done = rounds.flatMap(_.done)
  private val columns = plan.snapshot.columns
  private val considered = plan.snapshot.files
  private val plans = done.map(_.plan)
  private val replaced = done.flatMap(_.replaced)

  /**
   * For each batch, the inputs that were in the table before the statement. Files that the first pass of this
   * statement has made are left out.
   */
  private val inputs: Seq[(BatchPlan, Seq[FormatFile])] = {
    lazy val before = considered.map(_.path).toSet
    plans.map(p => p -> p.files.filter(f => rounds.size == 1 || before(f.path)))
  }

  private val rewritten: Seq[FormatFile] = inputs.flatMap(_._2)

  /**
   * The number of rewritten rows. If all inputs of a batch were in the table before the statement, the batch has
   * counted its rows. Else the rows of its older inputs are counted by the table format's numbers for each file, which
   * may include deleted rows.
   */
  private def rows: Long = inputs.map { case (p, files) =>
    if (files.size == p.files.size) p.rows.sum else files.map(_.records).sum
  }.sum

  /** For each batch, its new files that are still there when the statement ends; None in a DRY RUN. */
  private val added: Seq[(BatchPlan, Option[IndexedSeq[FormatFile]])] = {
    val gathered = rounds.drop(1).flatMap(_.done).flatMap(_.plan.files).flatMap(_.dealt).toSet
    done.map { d =>
      d.plan -> d.replaced.map { r =>
        if (r.dealt.isEmpty) r.files
        else r.files.zip(r.dealt).collect { case (f, to) if !gathered(to) => f }
      }
    }
  }

  private val newFiles: Seq[FormatFile] = added.flatMap(_._2).flatten

  /**
   * A key by which folders are compared. With one listing, the folder itself is the key, because two folders of
   * a listing may have the same name. With several listings, the name is the key, because the same folder is a
   * different object in each listing.
   */
  private def keyOf(folder: FormatFolder): Any = if (rounds.size == 1) folder else folder.name

  def result(startMs: Long, phases: Phases, reasons: Seq[String]): OptimizeResult = {
    val gains = columns.indices.map(gain)
    OptimizeResult(
      path = format.resultPath,
      added = added.flatMap { case (p, files) => files.fold(p.expectedBytes)(_.map(_.bytes)) },
      removed = if (format.isCopy) Nil else rewritten.map(_.bytes),
      // the one folder of a table without partition columns counts as one partition
      partitionsOptimized = plans.flatMap(_.outputs).map(keyOf).distinct.size.toLong,
      batches = done.size.toLong + plan.planned.predicted,
      considered = considered.size.toLong,
      skipped = considered.size.toLong - rewritten.size,
      startMs = startMs,
      endMs = System.currentTimeMillis(),
      rows = rows,
      sampledRows = plans.map(_.sampledRows).sum,
      shuffleBytes = effort.fold(replaced.map(_.shuffleBytes).sum)(_.shuffleBytes),
      publishMs = replaced.map(_.publishMs).sum,
      retainedBytes = replaced.map(_.retainedBytes).sum,
      retainedUntilMs = replaced.flatMap(_.retainedUntilMs).reduceOption(_ max _),
      columns = gains,
      phases = phases.millis,
      dryRun = effort.isDefined,
      reason = reasons.reduceOption(_ + "; " + _))
  }

  private def gain(c: Int): ColumnGain = {
    val values = ValueDistribution.of(plans.flatMap(_.weighted(c)))
    def mean(files: Seq[FormatFile]): Double = {
      val ranges: Seq[Option[FileRange]] =
        files.filter(f => f.records > 0 || f.isUncounted).map(_.columns(c).range)
          .filter(_ != ColumnRange.Empty).map(_.bounds)
      PointQueries.meanFiles(ranges, values)
    }
    val stays = mean(kept)
    val after =
      if (effort.isDefined) PointQueries.predicted(plans.flatMap(_.cells(c)), c, values)
      else mean(newFiles)
    ColumnGain.rounded(columns(c).name, mean(rewritten) + stays, after + stays, ideal(c))
  }

  /**
   * The files that stay in folders of which other files are rewritten. A query of these folders
   * reads both kinds.
   */
  private lazy val kept: Seq[FormatFile] = {
    val (files, folders) = (rewritten.toSet, rewritten.map(f => keyOf(f.folder)).toSet)
    considered.filter(f => folders(keyOf(f.folder)) && !files(f))
  }

  private def ideal(c: Int): Double = {
    val stay = kept.groupBy(f => keyOf(f.folder)).map { case (f, files) => f -> files.size }
    val made = added.flatMap { case (p, files) => files.fold(p.outputs)(_.map(_.folder)) }
    val perFolder = made.groupBy(keyOf).map { case (f, own) =>
      own.size + stay.getOrElse(f, 0)
    }.toSeq
    val weights = plan.layout.weights
    val all = if (weights.isEmpty) columns.map(_ => 1.0) else weights
    PointQueries.ideal(perFolder, all.toIndexedSeq, c)
  }
}

/** Sizes of files in bytes. Without a file, min, max and mean are NULL and the totals are 0. */
private[sparkzorder] final case class FileSizes(lengths: Seq[Long]) {
  def toRow: Row =
    if (lengths.isEmpty) Row(null, null, null, 0L, 0L)
    else {
      Row(
        lengths.min,
        lengths.max,
        lengths.sum.toDouble / lengths.length,
        lengths.length.toLong,
        lengths.sum)
    }
}

/**
 * The gain of one ordering column: the mean number of files that a point query on the column reads,
 * before and after the run and in an ideal layout.
 */
private[sparkzorder] final case class ColumnGain(
    name: String,
    before: Double,
    after: Double,
    ideal: Double)

private[sparkzorder] object ColumnGain {

  /** Rounds the numbers to six digits after the point. They are sums of many fractions, and the rest is error. */
  def rounded(name: String, before: Double, after: Double, ideal: Double): ColumnGain = {
    def short(files: Double): Double = math.rint(files * 1e6) / 1e6
    ColumnGain(name, short(before), short(after), short(ideal))
  }
}

/** The one row that OPTIMIZE returns. */
private[sparkzorder] final case class OptimizeResult(
    path: String,
    added: Seq[Long],
    removed: Seq[Long],
    partitionsOptimized: Long,
    batches: Long,
    considered: Long,
    skipped: Long,
    startMs: Long,
    endMs: Long,
    rows: Long,
    sampledRows: Long,
    shuffleBytes: Long,
    publishMs: Long,
    retainedBytes: Long,
    retainedUntilMs: Option[Long],
    columns: Seq[ColumnGain],
    phases: Map[String, Long],
    dryRun: Boolean,
    reason: Option[String]) {

  def toRow: Row = Row(
    path,
    Row(
      added.length.toLong,
      removed.length.toLong,
      FileSizes(added).toRow,
      FileSizes(removed).toRow,
      partitionsOptimized,
      batches,
      considered,
      skipped,
      startMs,
      endMs,
      rows,
      sampledRows,
      shuffleBytes,
      publishMs,
      retainedBytes,
      retainedUntilMs.map(new java.sql.Timestamp(_)).orNull),
    columns.map(c => Row(c.name, c.before, c.after, c.ideal)),
    phases,
    dryRun,
    reason.orNull)
}

private[sparkzorder] object OptimizeResult {
  private val sizes = new StructType()
    .add("min", LongType)
    .add("max", LongType)
    .add("avg", DoubleType)
    .add("totalFiles", LongType, nullable = false)
    .add("totalSize", LongType, nullable = false)

  private val metrics = new StructType()
    .add("numFilesAdded", LongType, nullable = false)
    .add("numFilesRemoved", LongType, nullable = false)
    .add("filesAdded", sizes, nullable = false)
    .add("filesRemoved", sizes, nullable = false)
    .add("partitionsOptimized", LongType, nullable = false)
    .add("numBatches", LongType, nullable = false)
    .add("totalConsideredFiles", LongType, nullable = false)
    .add("totalFilesSkipped", LongType, nullable = false)
    .add("startTimeMs", LongType, nullable = false)
    .add("endTimeMs", LongType, nullable = false)
    .add("numRows", LongType, nullable = false)
    .add("sampledRows", LongType, nullable = false)
    .add("shuffleBytes", LongType, nullable = false)
    .add("publishMillis", LongType, nullable = false)
    .add("retainedBytes", LongType, nullable = false)
    .add("retainedUntil", TimestampType)

  private val column = new StructType()
    .add("name", StringType, nullable = false)
    .add("filesPerPointQueryBefore", DoubleType, nullable = false)
    .add("filesPerPointQueryAfter", DoubleType, nullable = false)
    .add("ideal", DoubleType, nullable = false)

  /** Columns of the result, as the SQL reference documents them. */
  val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("metrics", metrics, nullable = false)
    .add("columns", ArrayType(column, containsNull = false), nullable = false)
    .add("phases", MapType(StringType, LongType, valueContainsNull = false), nullable = false)
    .add("dryRun", BooleanType, nullable = false)
    .add("reason", StringType)
}
