// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.functions.{coalesce, col, count, lit, sum, xxhash64}
import org.apache.spark.sql.sparkzorder.SparkLine.Frame
import org.apache.spark.sql.types._

import io.sparkzorder.cluster.InputFrame
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.TableFiles
import io.sparkzorder.table.stats.ScannedFile

/**
 * The check of `verify=full`: compares the rows of the inputs with the rows of the written files,
 * folder by folder. All columns of a row are hashed twice, each time to 64 bits. The two sums of
 * these hashes do not depend on the order of the rows. Inputs and written files are both read once
 * more for this.
 */
private[plain] final class RowChecksum(p: PlainInputs) {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_VERIFICATION_FAILED */
  def check(inputs: TableFiles, written: Seq[ScannedFile]): Unit = {
    val output = inputs.copy(files = written.map(_.file).toIndexedSeq)
    val before = sums(inputs)
    val after = sums(output)
    if (before != after) {
      throw ZOrderErrors.verificationFailed(
        p.target.name,
        s"the checksums by folder were $before and are $after")
    }
  }

  private def sums(files: TableFiles): Map[Int, Seq[Any]] = {
    val input = new InputFrame(p.session, files, p.schema, p.target.format)
    val columns = p.schema.fields.toSeq.filter(f => hashable(f.dataType)).flatMap(hashed)
    val frame: Frame = input.frame
    frame
      .groupBy(col(quoteIdentifier(input.folderColumn)))
      // each hash begins with a different number, so rows that agree in one hash may still differ
      // in the other
      .agg(count(lit(1)), total(lit(1) +: columns), total(lit(2) +: columns))
      .collect()
      .map(r => r.getInt(0) -> r.toSeq.tail)
      .toMap
  }

  /**
   * The hashed expressions of a column. Spark's hash skips NULLs, so the rows (NULL, 1) and
   * (1, NULL) would have the same hash. Therefore `IS NULL` of the column is hashed as well. For an
   * array, a map or a struct Spark hashes only the values inside, so the text of such a column is
   * hashed instead of `IS NULL`. The text shows the position of each value.
   */
  private def hashed(field: StructField): Seq[Column] = {
    val column = col(quoteIdentifier(field.name))
    field.dataType match {
      case _: StructType | _: ArrayType | _: MapType => Seq(column, column.cast(StringType))
      case _ => Seq(column, column.isNull)
    }
  }

  // the sum is a DECIMAL(30,0), which the hashes of 10^11 rows cannot overflow
  private def total(values: Seq[Column]): Column =
    coalesce(sum(xxhash64(values: _*).cast(DecimalType(20, 0))), lit(0))

  private def hashable(t: DataType): Boolean = t match {
    case s: StructType => s.forall(f => hashable(f.dataType))
    case a: ArrayType => hashable(a.elementType)
    case m: MapType => hashable(m.keyType) && hashable(m.valueType)
    case other => other.typeName != "variant"
  }
}
