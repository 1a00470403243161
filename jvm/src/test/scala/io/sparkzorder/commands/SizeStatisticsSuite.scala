// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import org.apache.spark.sql.catalyst.TableIdentifier

/** The catalog's statistics after OPTIMIZE: another size, and the rows that they had. */
class SizeStatisticsSuite extends OptimizeTestBase {

  private def catalog = spark.sessionState.catalog
  private def statistics(table: String) = catalog.getTableMetadata(TableIdentifier(table)).stats

  test("of a table: the size is new, the rest stays") {
    withTable("st") {
      shuffled(2000, 6).write.format("parquet").saveAsTable("st")
      sql("ANALYZE TABLE st COMPUTE STATISTICS FOR COLUMNS a, b")
      val before = statistics("st").get
      sql("OPTIMIZE st ZORDER BY (a, b)").collect()
      val after = statistics("st").get
      assert(after === before.copy(sizeInBytes = after.sizeInBytes))
      assert(after.sizeInBytes === BigInt(dataFiles(locationOf("st")).map(_.length).sum))
      assert(after.sizeInBytes !== before.sizeInBytes)
      assert(after.colStats.keySet === Set("a", "b"))
      sql("UNDO LAYOUT st").collect()
      assert(statistics("st").get === before)
    }
  }

  test("of partitions; and none where there were none") {
    withTable("pt", "bare") {
      shuffled(2000, 4).selectExpr("*", "id % 2 p").write.format("parquet").partitionBy("p")
        .saveAsTable("pt")
      sql("ANALYZE TABLE pt PARTITION (p = 0) COMPUTE STATISTICS")
      sql("OPTIMIZE pt ZORDER BY (a, b)").collect()
      val parts = catalog.listPartitions(TableIdentifier("pt"))
        .map(p => p.spec("p") -> p.stats.map(s => s.sizeInBytes -> s.rowCount)).toMap
      val bytes = dataFiles(locationOf("pt")).filter(_.folder == "p=0").map(_.length).sum
      assert(parts("0") === Some((BigInt(bytes), Some(BigInt(1000)))))
      assert(parts("1") === None)
      shuffled(100, 3).write.format("parquet").saveAsTable("bare")
      val none = statistics("bare")
      sql("OPTIMIZE bare ZORDER BY a").collect()
      assert(statistics("bare").isDefined === none.isDefined)
    }
  }
}
