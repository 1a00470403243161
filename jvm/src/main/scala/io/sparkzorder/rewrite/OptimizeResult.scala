package io.sparkzorder.rewrite

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

import io.sparkzorder.commands.Phases
import io.sparkzorder.report.{PointQueries, ValueDistribution}
import io.sparkzorder.table.stats.{FileRange, ScannedFile}

/** Sizes of files in bytes. Without a file, min, max and mean are NULL and the totals are 0. */
final case class FileSizes(lengths: Seq[Long]) {
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
final case class ColumnGain(name: String, before: Double, after: Double, ideal: Double)

object ColumnGain {

  /** The numbers are sums of many fractions. Users should not see the digits of rounding errors. */
  def rounded(name: String, before: Double, after: Double, ideal: Double): ColumnGain = {
    def short(files: Double): Double = math.rint(files * 1e6) / 1e6
    ColumnGain(name, short(before), short(after), short(ideal))
  }
}

/** The one row that OPTIMIZE returns. */
final case class OptimizeResult(
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

object OptimizeResult {
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

/**
 * Builds the result row from the batches that were done or, in a DRY RUN, planned.
 *
 * @param effort the predicted effort of a real run; None unless this is a DRY RUN
 */
private[rewrite] final class ResultRow(
    inputs: RewriteInputs,
    destination: Destination,
    phases: Phases,
    startMs: Long,
    done: Seq[(BatchPlan, Option[BatchOutcome])],
    effort: Option[PredictedEffort]) {

  private val plans = done.map(_._1)
  private val outcomes = done.flatMap(_._2)

  def build(reason: Option[String]): OptimizeResult = {
    val rewritten = plans.flatMap(_.inputs.files)
    val gains = columns
    OptimizeResult(
      path = destination.path,
      added = done.flatMap { case (plan, outcome) =>
        outcome.fold(plan.expectedBytes)(_.added.map(_.file.length))
      },
      removed = if (destination.replacesInputs) rewritten.map(_.file.length) else Nil,
      partitionsOptimized = partitions,
      batches = done.size.toLong,
      considered = inputs.files.size.toLong,
      skipped = inputs.files.size.toLong - rewritten.size,
      startMs = startMs,
      endMs = System.currentTimeMillis(),
      rows = rewritten.map(_.rows).sum,
      sampledRows = plans.map(_.sampledRows).sum,
      shuffleBytes = effort.fold(outcomes.map(_.shuffleBytes).sum)(_.shuffleBytes),
      publishMs = outcomes.map(_.publishMs).sum,
      retainedBytes = outcomes.flatMap(_.removed.map(_.length)).sum,
      retainedUntilMs = outcomes.flatMap(_.retainedUntilMs).reduceOption(_ max _),
      columns = gains,
      phases = phases.millis,
      dryRun = effort.isDefined,
      reason = reason)
  }

  // the one folder of a table without partition columns counts as one partition
  private def partitions: Long =
    plans.flatMap(_.outputs.map(_.path)).distinct.size.toLong

  private def columns: Seq[ColumnGain] =
    inputs.columns.zipWithIndex.map { case (c, i) =>
      val values = ValueDistribution.of(plans.flatMap(_.weighted(i)))
      def mean(footers: Seq[ScannedFile]) = PointQueries.meanFiles(
        FileRange.ofFooters(c, footers, inputs.session.sessionState.conf.resolver),
        values)
      val rewritten =
        if (effort.isDefined) PointQueries.predicted(plans.flatMap(_.cells(i)), i, values)
        else mean(outcomes.flatMap(_.added))
      val stays = mean(kept)
      val before = mean(plans.flatMap(_.inputs.files)) + stays
      ColumnGain.rounded(c.name, before, rewritten + stays, ideal(i))
    }

  /**
   * The files that stay in folders of which other files are rewritten. A query of these folders
   * reads both kinds.
   */
  private lazy val kept: Seq[ScannedFile] = {
    val rewritten = plans.flatMap(_.inputs.files.map(_.file))
    val (paths, folders) = (rewritten.map(_.path).toSet, rewritten.map(_.folder).toSet)
    inputs.files.filter(f => folders(f.file.folder) && !paths(f.file.path))
  }

  private def ideal(column: Int): Double = {
    val stay = kept.groupBy(_.file.folder).map { case (f, files) => f -> files.size }
    val perFolder = done.flatMap { case (plan, outcome) =>
      val folders = outcome.fold(plan.outputs)(_.added.map(_.file.folder))
      folders.groupBy(identity).map { case (f, own) => own.size + stay.getOrElse(f, 0) }
    }
    PointQueries.ideal(perFolder, inputs.evenOrWeights, column)
  }
}
