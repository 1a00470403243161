// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.accelerators

import org.scalatest.tags.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.SparkPlan

import io.sparkzorder.skipping.dynamic.{BothAdaptive, NotAdaptive, RandomStarSuite}
import io.sparkzorder.skipping.scan.Neighbour

/** Apache DataFusion Comet, by names alone: not every Spark line has a release. */
trait Comet extends Neighbour {
  override protected def neighbour: String = "org.apache.comet.CometSparkSessionExtensions"
  override protected def isFirst: Boolean = true

  override protected def sparkConf: SparkConf = super.sparkConf
    .set("spark.plugins", "org.apache.spark.CometPlugin")
    .set(
      "spark.shuffle.manager",
      "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager")
    .set("spark.memory.offHeap.enabled", "true")
    .set("spark.memory.offHeap.size", "1g")
    .set("spark.comet.enabled", "true")
    .set("spark.comet.exec.enabled", "true")

}

abstract class CometTests extends AcceleratorTests with Comet {
  override protected def isNative(node: SparkPlan): Boolean =
    node.getClass.getSimpleName == "CometNativeScanExec"

  override protected def bySparkAlone[T](body: => T): T =
    inConf("spark.comet.enabled" -> "false", "spark.zorder.enabled" -> "false")(body)
}

class CometFirstSuite extends CometTests {
  override protected def ways: Seq[(Boolean, Boolean)] = AcceleratorTests.Each.take(1)

  // Comet does not convert days of the old calendar, and refuses text that is no UTF-8
  test("OPTIMIZE reads what Spark alone reads: days of the old calendar, bytes that are no text") {
    withTempDir { dir =>
      val path = s"$dir/table"
      bySparkAlone {
        inConf("spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY") {
          spark.range(0, 300, 1, 2).selectExpr(
            "id",
            "DATE'0001-01-01' d",
            "TIMESTAMP'0100-01-01 00:00:00' t",
            "array(DATE'0001-01-01') ds",
            "cast(X'FF41' AS STRING) s").write.parquet(path)
        }
      }
      def rows =
        bySparkAlone(spark.read.parquet(path).selectExpr("*").collect().map(_.toString).sorted)
      val before = rows
      sql(s"OPTIMIZE '$path' ZORDER BY (id) OPTIONS ('verify' 'full')").collect()
      assert(rows === before)
    }
  }
}
@Slow
class CometFirstNotAdaptiveSuite extends CometTests with NotAdaptive {
  override protected def ways: Seq[(Boolean, Boolean)] = AcceleratorTests.Each.drop(1)
}
@Slow
class CometLastSuite extends CometTests with BothAdaptive {
  override protected def ways: Seq[(Boolean, Boolean)] = AcceleratorTests.All
  override protected def isFirst: Boolean = false
}

/** A suite of one extension alone, which holds for two. */
@Slow
class CometRandomStarSuite extends RandomStarSuite with Comet
