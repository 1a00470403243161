package io.sparkzorder.cluster

import org.apache.spark.sql.catalyst.expressions.Murmur3HashFunction
import org.apache.spark.sql.types.LongType

/**
 * For each shuffle partition a BIGINT that Spark's hash partitioning sends to that partition.
 *
 * Only Spark 4.1 lets a caller choose the partition of a row (repartitionById), and
 * `repartition(n, id)` hashes the ids, so that some partitions get two files' rows and others none.
 */
private[sparkzorder] object ShufflePreimages {
  // the seed of Spark's HashPartitioning
  private val seed = 42L

  def apply(partitions: Int): Array[Long] = {
    val preimages = new Array[Long](partitions)
    val found = new Array[Boolean](partitions)
    var missing = partitions
    var x = 0L
    while (missing > 0) {
      val p = partitionOf(x, partitions)
      if (!found(p)) {
        found(p) = true
        preimages(p) = x
        missing -= 1
      }
      x += 1
    }
    preimages
  }

  /** Where Spark sends a row whose only partitioning expression is `x`. */
  def partitionOf(x: Long, partitions: Int): Int =
    java.lang.Math.floorMod(Murmur3HashFunction.hash(x, LongType, seed).toInt, partitions)
}
