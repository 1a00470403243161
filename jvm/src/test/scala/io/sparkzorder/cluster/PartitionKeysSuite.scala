// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.functions.{col, lit, spark_partition_id}

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
    // one query for all
    val counts = Seq(1, 5, 64)
    val seen = counts.map { n =>
      PartitionKeys(n).zipWithIndex.toSeq.toDF("x", "wanted")
        .repartition(n, col("x"))
        .select(lit(n), col("wanted"), spark_partition_id())
    }.reduce(_ union _).collect().groupBy(_.getInt(0))
    for (n <- counts) {
      assert(seen(n).length === n)
      seen(n).foreach(r => assert(r.getInt(1) === r.getInt(2)))
    }
  }
}
