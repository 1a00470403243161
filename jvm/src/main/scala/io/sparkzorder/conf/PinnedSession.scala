package io.sparkzorder.conf

import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * The session in which OPTIMIZE reads and writes: a clone of the user's, with every setting pinned
 * that could change, drop or reshape data. The user's session is never changed.
 */
object PinnedSession {

  /** Settings that change data or files, and the value that keeps them as they are. */
  val pins: Seq[(String, String)] = Seq(
    // a file that cannot be read is an error, never fewer rows
    "spark.sql.files.ignoreCorruptFiles" -> "false",
    "spark.sql.files.ignoreMissingFiles" -> "false",
    "spark.sql.files.maxRecordsPerFile" -> "0",
    // values as they are stored (int96TimestampConversion stays the user's: it decides which value the
    // user sees, and the rewritten column must show that value)
    "spark.sql.parquet.binaryAsString" -> "false",
    "spark.sql.parquet.int96AsTimestamp" -> "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled" -> "true",
    "spark.sql.legacy.parquet.nanosAsLong" -> "false",
    "spark.sql.readSideCharPadding" -> "false",
    "spark.sql.parquet.fieldId.read.enabled" -> "false",
    "orc.skip.corrupt.data" -> "false",
    "orc.force.positional.evolution" -> "false",
    // dates before 1582: by the footer of each file, written as they are
    "spark.sql.parquet.datetimeRebaseModeInRead" -> "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead" -> "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED",
    // what is written
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat" -> "false",
    "spark.sql.parquet.fieldId.write.enabled" -> "true",
    "spark.sql.variant.writeShredding.enabled" -> "false",
    "spark.sql.variant.inferShreddingSchema" -> "false",
    "spark.sql.variant.forceShreddingSchemaForTest" -> "",
    "spark.sql.legacy.allowHashOnMapType" -> "true",
    // one task writes one file: no partition may be split or merged
    "spark.sql.adaptive.enabled" -> "false",
    "spark.sql.parquet.enableVectorizedReader" -> "true",
    "spark.sql.orc.enableVectorizedReader" -> "true",
    "spark.sql.optimizer.excludedRules" -> "")

  def of(user: Session): Session = {
    val session = SparkLine.clone(user)
    pins.foreach { case (key, value) => session.conf.set(key, value) }
    session
  }
}
