// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.ui.SparkPlanGraphNode
import org.apache.spark.sql.sparkzorder.TestAccess

import io.sparkzorder.SkippingCounters

/** Metrics of the scan after queries of many kinds, whose rows are those without skipping. */
class ScanMetricsSuite extends ScanTestBase {
  import RuntimePruningScan._

  private def inBoth(body: => Unit): Unit =
    for (aqe <- Seq("true", "false")) inWay(aqe)(body)

  private def inWay(aqe: String)(body: => Unit): Unit =
    inConf("spark.sql.adaptive.enabled" -> aqe)(body)

  private val noBroadcast = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  testParts("files before, kept, pruned and by which columns; columnar and row by row")(
    checkCounts(("true", "true", "true"), ("false", "false", "true")))(checkCounts(
    (for {
      aqe <- Seq("true", "false")
      vectorized <- Seq("true", "false")
      wholeStage <- Seq("true", "false")
    } yield (aqe, vectorized, wholeStage)): _*))

  private def checkCounts(ways: (String, String, String)*): Unit = {
    withGrid { dir =>
      for ((aqe, vectorized, wholeStage) <- ways) inWay(aqe) {
        inConf(
          "spark.sql.parquet.enableVectorizedReader" -> vectorized,
          "spark.sql.codegen.wholeStage" -> wholeStage) {
          val df = checkRows(read(dir).where(oneFile).groupBy("a").count())
          val Seq(scan) = scansOf(df)
          assert(scan.supportsColumnar === (vectorized == "true" && wholeStage == "true"))
          assert(counts(scan) === Seq(16, 1, 15, 0))
          assert(
            scan.metrics(prunedBy("a")).value === 12 && scan.metrics(prunedBy("b")).value === 3)
          assert(scan.metrics("numFiles").value === 1)
        }
      }
    }
  }

  /** Nodes of scans in the UI for the last query, each with the values that it shows. */
  private def shown(): Seq[(SparkPlanGraphNode, Map[String, String])] = {
    TestAccess.drainListeners(spark.sparkContext)
    val store = spark.sharedState.statusStore
    val id = store.executionsList().map(_.executionId).max
    val values = store.executionMetrics(id)
    store.planGraph(id).allNodes.filter(_.name.startsWith("Scan parquet")).map { n =>
      n -> n.metrics.flatMap(m => values.get(m.accumulatorId).map(m.name -> _)).toMap
    }.toSeq
  }

  test("the node of the UI, with and without adaptive execution", Slow) {
    withGrid { dir =>
      inBoth {
        read(dir).where(oneFile).groupBy("a").count().collect()
        val Seq((node, values)) = shown()
        assert(node.desc.contains(oneFileText))
        assert(values("number of files before skipping") === "16")
        assert(values("number of files kept by the index") === "1")
        assert(values("number of files pruned by the index") === "15")
        assert(values("number of files pruned by a") === "12")
        assert(values("number of files read") === "1")
        // what no index was asked for is not shown
        read(dir).groupBy("a").count().collect()
        assert(shown().forall(!_._2.keys.exists(_.contains("index"))))
      }
    }
  }

  private def joined(left: String, right: String): DataFrame = {
    def one(p: String) = s"(SELECT b, count(*) c FROM grid WHERE $p GROUP BY b)"
    sql(s"SELECT x.b, y.b, x.c FROM ${one(left)} x JOIN ${one(right)} y ON x.c = y.c")
  }

  test("equal scans are read once, others are not", Slow) {
    withGrid { dir =>
      read(dir).createOrReplaceTempView("grid")
      inBoth(inConf(noBroadcast) {
        def reused(df: DataFrame) =
          collect(df.queryExecution.executedPlan) { case r: ReusedExchangeExec => r }.size
        val same = checkRows(joined("a = 15", "a = 15"))
        assert(reused(same) >= 1, same.queryExecution.executedPlan)
        val other = checkRows(joined("a = 15", "a = 25"))
        val ofScans = collect(other.queryExecution.executedPlan) {
          case r @ ReusedExchangeExec(_, e: Exchange)
              if e.exists(_.isInstanceOf[RuntimePruningScan]) =>
            r
        }
        assert(ofScans.isEmpty)
        assert(scansOf(other).map(counts(_).take(2)) === Seq(Seq(16, 4), Seq(16, 4)))
      })
    }
  }

  test("dynamic partition pruning: the numbers are those of the partitions that are left", Slow) {
    withTable("fact", "dim") {
      sql(s"CREATE TABLE fact USING parquet PARTITIONED BY (p) AS SELECT *, id % 3 p FROM ($grid)")
      sql("CREATE ZORDER INDEX ON fact").collect()
      sql("CREATE TABLE dim USING parquet AS SELECT id p, id * 10 x FROM range(3)")
      inBoth {
        for (where <- Seq("f.a = 15", "f.p < 2 AND f.a = 15")) {
          val df = checkRows(
            sql(s"SELECT f.id FROM fact f JOIN dim d ON f.p = d.p WHERE d.x = 10 AND $where"))
          val scan = scansOf(df).find(_.partitionFilters.nonEmpty).get
          assert(scan.partitionFilters.exists(ZOrderFileIndex.holdsSubquery), scan)
          assert(counts(scan) === Seq(16, 4, 12, 0))
          assert(scan.metrics("numFiles").value === 4)
          // listed with what is known while it is planned
          val all = relationOf(scan).location.asInstanceOf[ZOrderFileIndex]
            .knownMetrics(scan.partitionFilters, scan.dataFilters).get
          assert(all.total === (if (where.contains("p <")) 32 else 48))
        }
        // of three partitions, in which the key prunes as many files, one is left
        val keyed = checkRows(
          sql(
            "SELECT f.id FROM fact f JOIN (SELECT *, 15 a FROM dim) d ON f.p = d.p AND f.a = d.a " +
              "WHERE d.x = 10"))
        val scan = scansOf(keyed).find(_.partitionFilters.nonEmpty).get
        assert(counts(scan) === Seq(16, 4, 12, 0))
        assert(scan.metrics(RuntimePruningScan.PrunedAtRunTime).value <= 12)
        val shown = sql(
          "SHOW SKIPPING FOR SELECT f.id FROM fact f JOIN dim d ON f.p = d.p " +
            "WHERE d.x = 10 AND f.a = 15").where("used").head()
        assert(shown.getLong(2) === 48 && shown.getLong(3) === 12)
      }
    }
  }

  testParts("a cached data frame, a view, subqueries and limits")(checkCached("true"))(
    checkCached("false"))

  private def checkCached(aqe: String): Unit = {
    withGrid { dir =>
      read(dir).createOrReplaceTempView("grid")
      inWay(aqe) {
        val cached = read(dir).where(oneFile).cache()
        try {
          for (_ <- 1 to 2)
            assert(cached.groupBy("a").count().collect().map(_.getLong(1)) === Seq(10))
          val plans = collect(cached.groupBy("a").count().queryExecution.executedPlan) {
            case m: InMemoryTableScanExec => m.relation.cachedPlan
          }
          assert(plans.flatMap(scansOf(_)).map(counts) === Seq(Seq(16, 1, 15, 0)))
          assert(text(cached.select("id")).contains(oneFileText))
        } finally cached.unpersist()
        checkRows(sql("SELECT id FROM grid WHERE a = (SELECT max(a) - 20 FROM grid WHERE b = 25)"))
        checkRows(sql("SELECT id FROM grid WHERE a = 15 AND b IN (SELECT b FROM grid WHERE a = 9)"))
        checkRows(sql(s"SELECT id FROM grid WHERE $oneFile ORDER BY id LIMIT 3"))
        assert(sql(s"SELECT id FROM grid WHERE $oneFile LIMIT 3").collect().length === 3)
        checkRows(read(dir).where(oneFile).select("_metadata.file_name", "id"))
      }
    }
  }

  private def scansOf(plan: org.apache.spark.sql.execution.SparkPlan) =
    collectWithSubqueries(plan) { case s: RuntimePruningScan => s }

  test("without an entry: a number of the scan, a counter, and one line of the log") {
    withGrid { dir =>
      sql(grid).where("id < 300").repartition(2).write.mode("append").parquet(dir.getPath)
      val before = SkippingCounters.filesWithoutEntry
      val log = new LogAppender("skipping")
      withLogAppender(log) {
        for (_ <- 1 to 2) {
          val df = read(dir).where("a = 25")
          df.collect()
          assert(counts(scansOf(df).head) === Seq(18, 6, 12, 2))
        }
      }
      assert(SkippingCounters.filesWithoutEntry === before + 4)
      val lines = log.loggingEvents.map(_.getMessage.getFormattedMessage)
        .filter(_.contains("knows 16 of 18 files"))
      assert(lines.size === 1 && lines.head.contains("REFRESH ZORDER INDEX"))
    }
  }
}
