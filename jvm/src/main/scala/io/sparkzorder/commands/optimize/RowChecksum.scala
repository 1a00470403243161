package io.sparkzorder.commands.optimize

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
 * `verify=full`: two order-independent sums of 64-bit hashes over all columns of every row, 128 bits
 * together, by folder, of the inputs and again of the written files. Both are read once more.
 */
private[optimize] final class RowChecksum(p: RewriteInputs) {

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
      // a number that comes first, so that rows which agree in one hash need not agree in the other
      .agg(count(lit(1)), total(lit(1) +: columns), total(lit(2) +: columns))
      .collect()
      .map(r => r.getInt(0) -> r.toSeq.tail)
      .toMap
  }

  /**
   * The expressions that are hashed for a column. Spark's hash skips NULLs, so that (NULL, 1) and
   * (1, NULL) would agree; of arrays, maps and structs it hashes only the values inside. The text of such
   * a column shows where its values stand.
   */
  private def hashed(field: StructField): Seq[Column] = {
    val column = col(quoteIdentifier(field.name))
    field.dataType match {
      case _: StructType | _: ArrayType | _: MapType => Seq(column, column.cast(StringType))
      case _ => Seq(column, column.isNull)
    }
  }

  // a decimal sum of 64-bit hashes cannot overflow below 10^18 rows
  private def total(values: Seq[Column]): Column =
    coalesce(sum(xxhash64(values: _*).cast(DecimalType(20, 0))), lit(0))

  private def hashable(t: DataType): Boolean = t match {
    case s: StructType => s.forall(f => hashable(f.dataType))
    case a: ArrayType => hashable(a.elementType)
    case m: MapType => hashable(m.keyType) && hashable(m.valueType)
    case other => other.typeName != "variant"
  }
}
