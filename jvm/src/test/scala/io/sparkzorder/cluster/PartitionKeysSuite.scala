// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.functions.{col, spark_partition_id}

import io.sparkzorder.ZOrderSessionSuite

class PartitionKeysSuite extends ZOrderSessionSuite {

  test("one preimage for each partition, by our own computation") {
    for (n <- Seq(1, 2, 3, 7, 64, 200, 1000, 5000)) {
      val p = PartitionKeys(n)
      assert(p.length === n)
      assert(p.indices.forall(i => PartitionKeys.partitionOf(p(i), n) == i))
    }
  }

  test("Spark really sends a row there") {
    val session = spark
    import session.implicits._
    for (n <- Seq(1, 2, 5, 64, 113)) {
      val p = PartitionKeys(n)
      val seen = p.zipWithIndex.toSeq.toDF("x", "wanted")
        .repartition(n, col("x"))
        .select(col("wanted"), spark_partition_id())
        .collect()
      assert(seen.length === n)
      seen.foreach(r => assert(r.getInt(0) === r.getInt(1)))
    }
  }
}
