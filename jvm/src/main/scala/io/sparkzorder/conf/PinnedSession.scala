// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.conf

import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * The session in which OPTIMIZE reads and writes: a clone of the user's session in which all
 * settings that could change, drop or convert data have fixed values. The user's session is not
 * changed.
 *
 * Other settings of the readers keep the user's values, because some tables cannot be read without
 * them: which of Spark's readers reads, batches, pushed filters, `nanosAsLong`. They change no value
 * that is stored.
 */
private[sparkzorder] object PinnedSession {

  /** Settings that can change data or files, with the value that preserves them. */
  val pins: Seq[(String, String)] = Seq(
    // an unreadable file must raise an error instead of losing rows
    "spark.sql.files.ignoreCorruptFiles" -> "false",
    "spark.sql.files.ignoreMissingFiles" -> "false",
    "spark.sql.files.maxRecordsPerFile" -> "0",
    // read values as they are stored. int96TimestampConversion keeps the user's value, because it
    // decides which value the user sees, and the rewritten column must show the same value
    "spark.sql.parquet.binaryAsString" -> "false",
    "spark.sql.parquet.int96AsTimestamp" -> "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled" -> "true",
    "spark.sql.readSideCharPadding" -> "false",
    "spark.sql.parquet.fieldId.read.enabled" -> "false",
    "orc.skip.corrupt.data" -> "false",
    "orc.force.positional.evolution" -> "false",
    // dates before 1582 are written unchanged. They are read as the user's queries read them: where
    // the footer of a file does not say in which calendar it counts, the user's setting does
    "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED",
    // settings of the writer
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat" -> "false",
    "spark.sql.parquet.fieldId.write.enabled" -> "true",
    "spark.sql.variant.writeShredding.enabled" -> "false",
    "spark.sql.variant.inferShreddingSchema" -> "false",
    "spark.sql.variant.forceShreddingSchemaForTest" -> "",
    "spark.sql.legacy.allowHashOnMapType" -> "true",
    // reads of our own statements are not part of the table's workload
    "spark.zorder.workload.enabled" -> "false",
    // one task writes one file, so AQE must not split or merge partitions
    "spark.sql.adaptive.enabled" -> "false",
    "spark.sql.optimizer.excludedRules" -> "")

  /**
   * The settings that are pinned while a table of another format is rewritten: those of which the
   * format's own reader and writer do not make sure that values stay as they are.
   */
  val pinsOfFormats: Seq[(String, String)] = Seq(
    "spark.zorder.workload.enabled" -> "false",
    "spark.sql.adaptive.enabled" -> "false",
    "spark.sql.optimizer.excludedRules" -> "",
    // Iceberg: rows must fit the table's schema; a file of deletes is read once for each partition
    "spark.sql.iceberg.check-nullability" -> "true",
    "spark.sql.iceberg.check-ordering" -> "true",
    "spark.sql.iceberg.merge-schema" -> "false",
    "spark.sql.iceberg.executor-cache.delete-files.enabled" -> "false",
    // Delta: an unreadable file must raise an error instead of losing rows
    "spark.sql.files.ignoreCorruptFiles" -> "false",
    "spark.sql.files.ignoreMissingFiles" -> "false",
    // CHAR values are written as they are stored
    "spark.sql.readSideCharPadding" -> "false",
    // one task writes one file of one partition, without another sort by the partition columns
    "spark.sql.files.maxRecordsPerFile" -> "0",
    "spark.sql.maxConcurrentOutputFileWriters" -> "1",
    // dates before 1582 are written as they are
    "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED",
    // milliseconds would cut timestamps; Delta asks its own setting where it writes newer Parquet
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
    "spark.databricks.delta.table.parquetV2.timestampOutputType" -> "TIMESTAMP_MICROS",
    // the counts of rows, and the bounds for which the rows are laid out
    "spark.databricks.delta.stats.collect" -> "true",
    "spark.databricks.delta.stats.skipping" -> "true",
    // neither other files than ours, nor others instead of them
    "spark.databricks.delta.optimizeWrite.enabled" -> "false",
    "spark.databricks.delta.autoCompact.enabled" -> "false")

  /** Settings by which a session sends its writes elsewhere, or reads another state. */
  private val unset = Seq("spark.wap.id", "spark.wap.branch")

  def of(user: Session): Session = {
    val session = SparkLine.clone(user)
    pins.foreach { case (key, value) => session.conf.set(key, value) }
    session
  }

  /** Spark's reader that reads rows one by one reads each encoding; the vectorized reader does not. */
  def readRowByRow(pinned: Session): Unit =
    pinned.conf.set("spark.sql.parquet.enableVectorizedReader", "false")

  /** The session in which OPTIMIZE rewrites a table of another format. */
  def ofFormat(user: Session): Session = {
    val session = SparkLine.clone(user)
    pinsOfFormats.foreach { case (key, value) => session.conf.set(key, value) }
    unset.foreach(session.conf.unset)
    session
  }
}
