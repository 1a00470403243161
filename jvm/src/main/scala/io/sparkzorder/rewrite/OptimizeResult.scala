// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

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

  /** The numbers are sums of many fractions. Users should not see the digits of rounding errors. */
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
