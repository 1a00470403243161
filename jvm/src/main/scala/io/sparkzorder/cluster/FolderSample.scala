package io.sparkzorder.cluster

/**
 * Sampled key rows of one folder, column by column.
 *
 * @param sizes how large the folder's rows are
 */
final case class FolderSample(
    columns: IndexedSeq[KeyColumn],
    sizes: RowSizes = RowSizes.even) {
  def rows: Int = columns.headOption.map(_.rows).getOrElse(0)

  lazy val ranked: IndexedSeq[RankedColumn] = columns.map(_.ranked)
}

/**
 * How large rows are. Files should be even in bytes, though rows in which ordering columns are NULL
 * are smaller and the cuts bring them together; and even in rows, which cost something to read
 * however small they are. So a row counts half by itself and half by its bytes.
 *
 * @param rest of a row without the ordering columns
 * @param values of a value of each ordering column, NULLs take none
 */
final case class RowSizes(rest: Double, values: IndexedSeq[Double]) {
  import RowSizes._

  /** The size of each sampled row, in units of which a row has about 16. */
  def of(columns: IndexedSeq[RankedColumn]): Array[Int] = {
    val n = columns.head.rows
    val nullable = columns.indices.filter(c => c < values.length && columns(c).nulls > 0)
    val whole = rest + values.sum
    if (whole <= 0 || nullable.isEmpty) Array.fill(n)(Units)
    else {
      Array.tabulate(n) { r =>
        val missing = nullable.map(c => if (columns(c).ranks(r) == 0) values(c) else 0.0).sum
        math.round(Units * (1 - missing / whole / 2)).toInt
      }
    }
  }
}

object RowSizes {
  private val Units = 16

  /** Every row as large as every other. */
  val even: RowSizes = RowSizes(1.0, IndexedSeq.empty)
}
