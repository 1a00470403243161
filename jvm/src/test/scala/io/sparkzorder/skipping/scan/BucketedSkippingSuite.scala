// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File
import java.nio.file.Files

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.{FileSourceScanExec, SortExec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec

/** Bucketed tables: skipping leaves buckets, their joins and their order what they are. */
class BucketedSkippingSuite extends ScanTestBase {

  /** `k` is the bucket, `v` follows the order of the inserts, each of which makes a file a bucket. */
  private def withBuckets(table: String, buckets: Int, inserts: Int, sorted: Boolean = false)(
      body: => Unit): Unit = withTable(table) {
    val order = if (sorted) "SORTED BY (k)" else ""
    sql(s"CREATE TABLE $table (k BIGINT, v BIGINT) USING parquet CLUSTERED BY (k) $order " +
      s"INTO $buckets BUCKETS")
    for (i <- 0 until inserts) {
      sql(s"INSERT INTO $table SELECT /*+ REPARTITION(1) */ id % 50, id + ${i * 1000} " +
        "FROM range(200)")
    }
    sql(s"CREATE ZORDER INDEX ON $table").collect()
    body
  }

  private def shuffles(df: DataFrame): Int =
    collect(df.queryExecution.executedPlan) { case s: ShuffleExchangeExec => s }.size

  private def ours(df: DataFrame): Seq[FileSourceScanExec] = {
    val scans = scansOf(df)
    scans.foreach(s => assert(s.isInstanceOf[RuntimePruningScan], s))
    scans
  }

  private def inBoth(body: => Unit): Unit = for (aqe <- Seq("true", "false")) inConf(
    "spark.sql.adaptive.enabled" -> aqe,
    "spark.sql.autoBroadcastJoinThreshold" -> "-1")(body)

  test("a join without an exchange, also where buckets lose all their files", Slow) {
    withBuckets("x", 4, 3)(withBuckets("y", 4, 2) {
      inBoth {
        for (where <- Seq("x.v >= 1000 AND x.v < 1100", "x.v = 2001", "x.v = 77777")) {
          val df = checkRows(sql(s"SELECT x.k, x.v, y.v FROM x JOIN y ON x.k = y.k WHERE $where"))
          assert(shuffles(df) === 0)
          val left = ours(df).find(s => s.tableIdentifier.exists(_.table == "x"))
          left.foreach { s =>
            assert(counts(s).head === 12 && counts(s)(1) <= 4)
            assert(s.bucketedScan)
          }
        }
      }
    })
  }

  test("bucket pruning together with skipping, and scans whose buckets Spark gives up") {
    withBuckets("x", 4, 3) {
      inBoth {
        for (bucketed <- Seq("true", "false")) inConf(
          "spark.sql.sources.bucketing.enabled" -> bucketed) {
          val df = checkRows(sql("SELECT * FROM x WHERE k = 7 AND v BETWEEN 1000 AND 1999"))
          val Seq(scan) = ours(df)
          assert(counts(scan).head === 12 && counts(scan)(1) <= 4)
        }
        // nothing asks for buckets: Spark copies the scan without them
        val plain = checkRows(sql("SELECT v FROM x WHERE v < 150"))
        assert(ours(plain).map(counts(_).take(2)) === Seq(Seq(12, 4)))
        assert(text(plain).contains("ZOrderFiles: 4 of 12 (pruned by v: 8)"))
        checkRows(sql("SELECT k, sum(v) FROM x WHERE v >= 2000 GROUP BY k"))
      }
    }
  }

  test("buckets that are joined with half as many") {
    withBuckets("x", 4, 2)(withBuckets("y", 2, 2) {
      inBoth(inConf("spark.sql.bucketing.coalesceBucketsInJoin.enabled" -> "true") {
        val df = checkRows(sql("SELECT x.v, y.v FROM x JOIN y ON x.k = y.k WHERE x.v < 60"))
        assert(shuffles(df) === 0)
        val coalesced = ours(df).filter(_.optionalNumCoalescedBuckets.isDefined)
        assert(coalesced.map(_.optionalNumCoalescedBuckets.get) === Seq(2))
        assert(counts(coalesced.head).take(2) === Seq(8, 4))
      })
    })
  }

  test("sorted buckets: one file that is left of a bucket is sorted, several are not") {
    withBuckets("x", 2, 2, sorted = true)(withBuckets("y", 2, 1, sorted = true) {
      def query(where: String) = sql(s"SELECT x.k, x.v FROM x JOIN y ON x.k = y.k WHERE $where")
      def sorts(df: DataFrame) =
        collect(df.queryExecution.executedPlan) { case s: SortExec => s }.size
      inBoth(inConf("spark.sql.legacy.bucketedTableScan.outputOrdering" -> "true") {
        val one = checkRows(query("x.v >= 1000"))
        assert(sorts(one) === 0)
        assert(sorts(checkRows(query("x.v >= 0"))) === 1)
        // the index goes between planning and reading: what was planned as sorted still is
        val planned = query("x.v >= 1000")
        planned.queryExecution.executedPlan
        val expected = withoutSkipping(bag(query("x.v >= 1000")))
        sql("DROP ZORDER INDEX ON x").collect()
        assert(bag(planned) === expected)
        sql("CREATE ZORDER INDEX ON x").collect()
      })
    })
  }

  test("files that OPTIMIZE exchanges by the path of a bucketed table") {
    withBuckets("x", 2, 2) {
      val dir = locationOf("x")
      val rows = bag(spark.table("x"))
      // with one file that names no bucket the path does not look bucketed any more
      val some = dataFiles(dir).head
      Files.move(new File(dir, some.name).toPath, new File(dir, "plain.parquet").toPath)
      sql("REFRESH TABLE x")
      val old = spark.table("x")
      old.queryExecution.analyzed
      // as in a session whose catalog does not know the table: this one would refuse its path
      val catalog = spark.sessionState.catalog
      catalog.alterTable(catalog.getTableMetadata(TableIdentifier("x")).copy(bucketSpec = None))
      sql(s"OPTIMIZE '$dir' ZORDER BY (v)").collect()
      // a listing of before the exchange would take names for buckets that are none
      fails("ZORDER_BUCKETS_UNKNOWN", "UNDO LAYOUT")(old.select("k").where("v >= 0").collect())
      inConf("spark.sql.sources.bucketing.enabled" -> "false") {
        assert(bag(old.select("*")) === rows)
      }
    }
  }
}
