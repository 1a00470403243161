// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import org.apache.commons.io.FileUtils.byteCountToDisplaySize

import org.apache.spark.sql.types._

import io.sparkzorder.log.{Record, RunCost}
import io.sparkzorder.sources.{BatchPlan, Effort}

/**
 * The effort that DRY RUN predicts for a run: files, tasks, shuffled bytes and space on disk. The
 * prediction includes seconds if the costs of an earlier run on the table are known.
 *
 * @param records the records of the table's runs, in ascending order
 */
private[plain] final class PredictedEffort(
    p: PlainInputs,
    plans: Seq[BatchPlan],
    records: Seq[Record]) {

  private val inputBytes = plans.map(_.bytes).sum
  private val files = plans.map(_.outputs.size).sum

  private val former: Option[RunCost] =
    records.reverseIterator.flatMap(_.cost).find(c => c.inputBytes > 0 && c.shuffleBytes > 0)

  def result: Effort = Effort(shuffleBytes, text)

  /** Bytes that the shuffles will write. */
  private def shuffleBytes: Long =
    if (files == 0) 0L
    else {
      val perByte = former.map(c => c.shuffleBytes.toDouble / c.inputBytes)
      perByte.map(r => (r * inputBytes).toLong).getOrElse(
        (plans.map(_.rows.sum).sum * rowBytes * PredictedEffort.Compressed).toLong)
    }

  private def text: Option[String] =
    if (files == 0) None
    else {
      val seconds = former.map { c =>
        val s = c.millis.toDouble / c.inputBytes * inputBytes / 1000
        f"; about $s%.0f seconds, as a former run took"
      }
      Some(
        s"a run writes $files files in as many tasks, shuffles about ${byteCountToDisplaySize(shuffleBytes)} and " +
          s"needs about ${byteCountToDisplaySize(inputBytes)} of free space while old and new files are kept" +
          seconds.getOrElse(""))
    }

  /**
   * Bytes of a row in Spark's shuffle format before compression: 8 for each value, the null bits,
   * and the bytes of values that do not fit into 8 bytes.
   */
  private def rowBytes: Double = {
    val rows = math.max(1L, p.rows)
    val strings = p.schema.fields.exists(f => !PredictedEffort.isFixed(f.dataType))
    val beside = if (strings) p.files.map(_.uncompressed).sum.toDouble / rows else 0.0
    8.0 * (p.schema.length + 2 + p.schema.length / 64) + beside
  }
}

private object PredictedEffort {
  // the share of a shuffled row's bytes that is left after compression by Spark's codec, measured
  // on the table store_sales of TPC-DS: 296 of 530 MB
  private val Compressed = 0.55

  private def isFixed(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision <= Decimal.MAX_LONG_DIGITS
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType => true
    case _ => false
  }
}
