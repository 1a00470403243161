// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import org.scalatest.tags.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.delta.DeltaLog
import org.apache.spark.sql.delta.actions.AddFile

import io.sparkzorder.skipping.dynamic.{BothAdaptive, BroadcastJoinSuite}
import io.sparkzorder.skipping.scan.{Neighbour, NeighbourTests, OverlayReadSuite}

trait DeltaFirst extends Neighbour {
  override protected def neighbour: String = "io.delta.sql.DeltaSparkSessionExtension"
  override protected def isFirst: Boolean = true

  override protected def sparkConf: SparkConf = super.sparkConf
    .set("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .set("spark.databricks.delta.snapshotPartitions", "1")
}

trait DeltaLast extends DeltaFirst {
  override protected def isFirst: Boolean = false
}

/** Plain tables beside Delta, and Delta's tables beside them. */
abstract class PlainTablesBesideDelta extends NeighbourTests with DeltaFirst with BothAdaptive {

  test("Delta plans its own tables: deletion vectors, a join with a plain table, both AQE") {
    withTable("lake") {
      withStar { _ =>
        sql(
          "CREATE TABLE lake USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') " +
            "AS SELECT int(id) day, id % 7 n FROM range(0, 1600, 1, 4)")
        sql("DELETE FROM lake WHERE n = 3 OR day < 10")
        val files: Seq[AddFile] =
          DeltaLog.forTable(spark, TableIdentifier("lake")).update().allFiles.collect().toSeq
        assert(files.exists(_.deletionVector != null))
        bothWays {
          def rows(where: String) =
            sql(s"SELECT day FROM lake WHERE $where").collect().map(_.getInt(0))
          val left = (0 until 1600).filter(d => d % 7 != 3 && d >= 10)
          assert(rows("true").sorted === left)
          assert(rows("day < 50").sorted === left.filter(_ < 50))
          reads("SELECT * FROM fact JOIN lake USING (day) WHERE lake.day BETWEEN 300 AND 399", 1)
          // our index is of plain tables alone
          assert(sql("SELECT * FROM lake JOIN days USING (day) WHERE month = 3").count() ===
            left.count(d => d / 100 == 3))
        }
      }
    }
  }
}

@Slow
class DeltaFirstSuite extends PlainTablesBesideDelta
@Slow
class DeltaLastSuite extends PlainTablesBesideDelta with DeltaLast

/** Suites of one extension alone, which hold for two. */
@Slow
class DeltaFirstOverlaySuite extends OverlayReadSuite with DeltaFirst
@Slow
class DeltaFirstJoinSuite extends BroadcastJoinSuite with DeltaFirst with BothAdaptive
