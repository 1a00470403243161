// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

/** Keys that a scan gets only for the record of the workload cost no query a file. */
class NotedKeysSuite extends StarTestBase {

  private def recorded(isRecorded: Boolean)(body: => Unit): Unit = bothWays(
    inConf("spark.zorder.workload.enabled" -> isRecorded.toString)(body))

  testParts("a broadcast side keeps the filters that let its own files go")(
    checkBroadcastSide(isRecorded = true))(checkBroadcastSide(isRecorded = false))

  private def checkBroadcastSide(isRecorded: Boolean): Unit = {
    withStar { fact =>
      val other = new File(fact.getParentFile, "other")
      spark.read.parquet(fact.getPath).write.parquet(other.getPath)
      createIndex(other)
      withTempView("other") {
        spark.read.parquet(other.getPath).createOrReplaceTempView("other")
        recorded(isRecorded) {
          reads(
            "SELECT /*+ BROADCAST(f) */ count(*) FROM other o JOIN fact f ON o.item = f.item " +
              "JOIN days d ON f.day = d.day WHERE d.month = 3 AND f.amount >= 0",
            1)
        }
      }
    }
  }

  testParts("a scan with many joins keeps the keys that let files go")(
    checkManyJoins(isRecorded = true))(checkManyJoins(isRecorded = false))

  private def checkManyJoins(isRecorded: Boolean): Unit = {
    withStar { _ =>
      recorded(isRecorded) {
        val (names, conditions) = (1 to 9).map { i =>
          (s"JOIN items i$i ON f.item = i$i.item", s"i$i.category <> ${20 + i}")
        }.unzip
        reads(
          "SELECT count(*) FROM fact f JOIN days d ON f.day = d.day " + names.mkString(" ") +
            " WHERE d.month = 3 AND " + conditions.mkString(" AND "),
          1)
      }
    }
  }
}
