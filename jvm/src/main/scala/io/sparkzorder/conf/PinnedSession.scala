// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.conf

import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * The session in which OPTIMIZE reads and writes: a clone of the user's session. Settings that decide which values are
 * written have fixed values. Settings that decide how the user's queries see a stored value keep the user's value. The
 * user's session is not changed.
 *
 * Other settings of the readers keep the user's values, because some tables cannot be read with the defaults.
 * Examples are the choice of the vectorized reader, the size of its batches, filter pushdown and `nanosAsLong`. None
 * of these settings changes a stored value.
 */
private[sparkzorder] object PinnedSession {

  private val ofAllTables: Seq[(String, String)] = Seq(
    // OPTIMIZE must fail on an unreadable file: a reader that ignores the file loses its rows
    "spark.sql.files.ignoreCorruptFiles" -> "false",
    "spark.sql.files.ignoreMissingFiles" -> "false",
    // CHAR values are written as they are stored, without more blanks
    "spark.sql.readSideCharPadding" -> "false",
    // Dates before 1582 are written unchanged. They are read as the user's queries read them: where the
    // footer of a file does not name the calendar of its dates, the user's setting decides.
    "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED",
    // milliseconds would truncate timestamps
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
    // each task writes one file: the writer must not begin a second one, and AQE must not split or merge partitions
    "spark.sql.files.maxRecordsPerFile" -> "0",
    "spark.sql.adaptive.enabled" -> "false",
    // Accelerators read some values otherwise than Spark. Comet, for example, does not convert days of the old
    // calendar, and refuses bytes that are no UTF-8. Both the new files and verify = full would take over what it
    // reads.
    "spark.comet.enabled" -> "false",
    "spark.gluten.enabled" -> "false",
    "spark.rapids.sql.enabled" -> "false",
    // no rule of the optimizer may be missing in the plan of a rewrite
    "spark.sql.optimizer.excludedRules" -> "",
    // the scans of a rewrite are not part of the table's workload
    "spark.zorder.workload.enabled" -> "false")

  /** Settings that can change data or files, with the value that preserves them. */
  val pins: Seq[(String, String)] = ofAllTables ++ Seq(
    // Values are read as they are stored. int96TimestampConversion keeps the user's value: it decides which value the
    // user sees, and the rewritten column must show the same value.
    "spark.sql.parquet.binaryAsString" -> "false",
    "spark.sql.parquet.int96AsTimestamp" -> "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled" -> "true",
    "spark.sql.parquet.fieldId.read.enabled" -> "false",
    // with true, a VARIANT is read as the struct in which it is stored, and would be written as such a struct
    "spark.sql.parquet.ignoreVariantAnnotation" -> "false",
    "orc.skip.corrupt.data" -> "false",
    "orc.force.positional.evolution" -> "false",
    // Spark takes the days that ORC gives it for days of the Julian calendar. With true, ORC gives days of the
    // proleptic Gregorian calendar, and days before 1582 would be shifted.
    "orc.proleptic.gregorian" -> "false",
    // settings of the writer
    "spark.sql.parquet.writeLegacyFormat" -> "false",
    "spark.sql.parquet.fieldId.write.enabled" -> "true",
    "spark.sql.variant.writeShredding.enabled" -> "false",
    "spark.sql.variant.inferShreddingSchema" -> "false",
    "spark.sql.variant.forceShreddingSchemaForTest" -> "",
    // verify = full also hashes columns of maps
    "spark.sql.legacy.allowHashOnMapType" -> "true")

  /**
   * The settings that are pinned while a Delta or Iceberg table is rewritten. With other values, the reader or writer
   * of the format could change rows or write other files. All other settings leave the rows of such a table
   * unchanged, because the format itself sees to that, or [[pinsOf]] pins them for this format.
   */
  val pinsOfFormats: Seq[(String, String)] = ofAllTables ++ Seq(
    // Iceberg: rows must fit the table's schema. Executors do not cache delete files, as in Iceberg's own rewrite: each
    // partition is read once.
    "spark.sql.iceberg.check-nullability" -> "true",
    "spark.sql.iceberg.check-ordering" -> "true",
    "spark.sql.iceberg.merge-schema" -> "false",
    "spark.sql.iceberg.executor-cache.delete-files.enabled" -> "false",
    // each task writes one file of one partition, so rows need no further sort by the partition columns
    "spark.sql.maxConcurrentOutputFileWriters" -> "1",
    // the type of timestamps in Delta tables that use version 2 of the Parquet format
    "spark.databricks.delta.table.parquetV2.timestampOutputType" -> "TIMESTAMP_MICROS",
    // without these statistics, Delta would know neither row counts nor bounds of the new files
    "spark.databricks.delta.stats.collect" -> "true",
    "spark.databricks.delta.stats.skipping" -> "true",
    // Delta must neither shuffle the rows into files of its own nor compact the new files
    "spark.databricks.delta.optimizeWrite.enabled" -> "false",
    "spark.databricks.delta.autoCompact.enabled" -> "false")

  /** The settings that are pinned for one format alone, by its name. */
  private val pinsOf: Map[String, Seq[(String, String)]] = Map(
    "delta" -> Seq(
      // Names of columns in Delta have no case, but Spark's reader looks for them in the files by this setting. With
      // true, the values of a column that a file spells otherwise would be read as NULL, and so be lost. Iceberg reads
      // by the ids of columns, and its names have a case, so there the user's value decides which columns are meant.
      "spark.sql.caseSensitive" -> "false",
      // a file without the ids of columns must not be read as NULL where only the ids identify the columns
      "spark.sql.parquet.fieldId.read.ignoreMissing" -> "false",
      // with true, a struct is NULL in the rows of a file that has only fields which the table has dropped
      "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing" -> "false"),
    // up to version 1.10, Iceberg itself can read Parquet by Comet
    "iceberg" -> Seq("spark.sql.iceberg.parquet.reader-type" -> "ICEBERG"))

  /** Settings of Iceberg by which a session writes to, or reads from, a branch or a staged snapshot. */
  private val branchesOfIceberg = Seq("spark.wap.id", "spark.wap.branch")

  def of(user: Session): Session = withPins(user, pins)

  private def withPins(user: Session, pins: Seq[(String, String)]): Session = {
    val session = SparkLine.clone(user)
    pins.foreach { case (key, value) => session.conf.set(key, value) }
    session
  }

  /** Turns off Spark's vectorized Parquet reader, which does not support every encoding. */
  def readRowByRow(pinned: Session): Unit =
    pinned.conf.set("spark.sql.parquet.enableVectorizedReader", "false")

  /**
   * The session in which OPTIMIZE rewrites a Delta or Iceberg table.
   *
   * @param format such as `delta`
   */
  def ofFormat(user: Session, format: String): Session = {
    val session = withPins(user, pinsOfFormats ++ pinsOf.getOrElse(format, Nil))
    branchesOfIceberg.foreach(session.conf.unset)
    session
  }
}
