// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col

/** What a write is expected to bring, before its query runs. */
class ExpectedSizeSuite extends DeclaredTables {

  private def bytes(df: DataFrame): Option[Double] =
    ExpectedSize.bytes(df.queryExecution.optimizedPlan)

  test("a join is not expected to bring the product of its sides") {
    withTable("t") {
      rows.write.saveAsTable("t")
      val one = bytes(spark.table("t")).get
      val joined = spark.table("t").as("x").join(spark.table("t").as("y"), "v")
      assert(joined.queryExecution.optimizedPlan.stats.sizeInBytes.toDouble > 100 * one)
      assert(bytes(joined).get < 10 * one)
    }
  }

  test("rows of unknown size") {
    val unknown = spark.createDataFrame(rows.rdd, rows.schema)
    assert(bytes(unknown) === None)
    assert(bytes(unknown.where("a < 5").union(rows)) === None)
    assert(bytes(rows).isDefined)
  }

  test("queries that deal their rows themselves") {
    def dealt(df: DataFrame) = ExpectedSize.hasOwnPartitions(df.queryExecution.optimizedPlan)
    assert(dealt(rows.orderBy("b", "a")))
    assert(dealt(rows.orderBy("b").where("a < 5").select("b", "v")))
    assert(dealt(rows.repartition(3)))
    assert(dealt(rows.repartition(col("a")).sortWithinPartitions("b")))
    assert(!dealt(rows.sortWithinPartitions("b")))
    assert(dealt(rows.coalesce(1)))
    assert(dealt(rows.hint("rebalance")))
    assert(!dealt(rows))
  }
}
