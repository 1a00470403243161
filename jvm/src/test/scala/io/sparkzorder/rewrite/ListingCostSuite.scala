// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.JavaConverters._

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.functions.lit

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables

/** How often OPTIMIZE lists the folders of a table. */
class ListingCostSuite extends FaultyTables {
  private val partitions = 6

  /** A partitioned table of the catalog on the file system that counts. */
  private def withPartitions(body: (File, String) => Unit): Unit = withTableDir { dir =>
    for (p <- 0 until partitions) {
      shuffled(40, 2).withColumn("p", lit(p))
        .write.mode("append").partitionBy("p").parquet(dir.getPath)
    }
    sql(s"CREATE TABLE listed USING parquet LOCATION 'faulty://${dir.getAbsolutePath}'")
    try {
      sql("MSCK REPAIR TABLE listed")
      body(dir, "listed")
    } finally sql("DROP TABLE listed")
  }

  /** Listings of each partition directory before anything is published. */
  private def listings(dir: File)(statement: => Any): Map[String, Int] = {
    val seen = new ConcurrentHashMap[String, AtomicInteger]
    FaultyFileSystem.withHook { (operation, path) =>
      if (operation == "list" && path.getParent.toUri.getPath == dir.getAbsolutePath &&
        path.getName.startsWith("p=")) {
        val _ = seen.computeIfAbsent(path.getName, _ => new AtomicInteger).incrementAndGet()
      }
    } {
      val _ = statement
    }
    seen.asScala.map { case (k, n) => k -> n.get }.toMap
  }

  test("WHERE on one partition lists this one folder only") {
    withPartitions { (dir, table) =>
      val seen = listings(dir)(
        sql(
          s"OPTIMIZE $table WHERE p = 3 ZORDER BY (a, b) OPTIONS ('targetFileSize' '1000')").collect())
      assert(seen.keySet === Set("p=3"))
      val dry = listings(dir)(
        sql(s"OPTIMIZE $table WHERE p = 4 ZORDER BY (a, b) DRY RUN").collect())
      assert(dry === Map("p=4" -> 1))
    }
  }

  test("each batch lists its own folders again, not the others", Slow) {
    withPartitions { (dir, table) =>
      def perFolder(batchSize: String) = listings(dir)(sql(
        s"OPTIMIZE $table FULL ZORDER BY (a, b) " +
          s"OPTIONS ('targetFileSize' '1000', 'batchSize' '$batchSize')").collect())
      // the first run of a table looks in each folder for runs whose records are gone
      val first = perFolder("1g")
      val one = perFolder("1g")
      val many = perFolder("1k")
      assert(first.keySet === one.keySet && first.forall { case (f, n) => n <= one(f) + 1 })
      assert(one.keySet.size === partitions && many === one)
    }
  }
}
