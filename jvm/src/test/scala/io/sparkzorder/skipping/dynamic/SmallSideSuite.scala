// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.columnar.InMemoryRelation

import io.sparkzorder.JobCounter

/** Joins without a broadcast: a small side gives its keys by a run of its own. */
class SmallSideSuite extends StarTestBase {

  // the fact table must be larger than the dimension
  private def withWideStar(body: File => Unit): Unit =
    withCopies(wideStar)(dir => withoutBroadcast(body(new File(dir, "fact"))))

  private val wideStar = new SavedTables({ dir =>
    val fact = new File(dir, "fact")
    sql("SELECT id, int(id) day, int(id % 50) item, id * 2 amount, sha2(string(id), 512) code, " +
      "sha2(string(-id), 512) more FROM range(0, 16000, 10, 16)").write.parquet(fact.getPath)
    createIndex(fact)
    sql("SELECT int(id * 10) day, int(id / 100) month, int(id % 100) dom FROM range(1600)")
      .coalesce(1).write.parquet(s"$dir/days10")
    Seq("fact", "days10")
  })

  private val days = "(SELECT * FROM days10 WHERE month = 3) d"

  testParts("sort-merge joins of every kind") {
    withWideStar { _ =>
      bothWays {
        reads(s"SELECT * FROM fact f JOIN $days ON f.day = d.day", 1)
        reads(s"SELECT * FROM $days LEFT ANTI JOIN fact f ON f.day = d.day", 1)
        reads(s"SELECT * FROM fact f FULL JOIN $days ON f.day = d.day", Files)
        val jobs = JobCounter.count(spark) {
          sql(s"EXPLAIN SELECT * FROM fact f JOIN $days ON f.day = d.day").collect()
        }
        assert(jobs.jobs === 0)
      }
    }
  } {
    withWideStar { _ =>
      bothWays {
        reads(s"SELECT * FROM fact f LEFT SEMI JOIN $days ON f.day = d.day", 1)
        reads(s"SELECT * FROM $days LEFT JOIN fact f ON f.day = d.day", 1)
        reads(s"SELECT * FROM fact f RIGHT JOIN $days ON f.day = d.day", 1)
        reads(s"SELECT * FROM $days LEFT SEMI JOIN fact f ON f.day = d.day", 1)
        reads(s"SELECT * FROM fact f LEFT JOIN $days ON f.day = d.day", Files)
        reads("SELECT * FROM fact WHERE day IN (SELECT day FROM days10 WHERE month > 13)", 2)
        reads(s"SELECT /*+ SHUFFLE_HASH(d) */ * FROM fact f JOIN $days ON f.day = d.day", 1)
      }
    }
  }

  testParts("the larger side gets the keys where a join can broadcast only this side") {
    withWideStar { _ =>
      inConf("spark.sql.autoBroadcastJoinThreshold" -> "100MB")(bothWays {
        reads(s"SELECT * FROM $days LEFT JOIN fact f ON f.day = d.day", 1)
        reads(s"SELECT * FROM fact f LEFT JOIN $days ON f.day = d.day", Files)
      })
    }
  } {
    withWideStar { _ =>
      inConf("spark.sql.autoBroadcastJoinThreshold" -> "100MB")(bothWays {
        reads(s"SELECT * FROM fact f RIGHT JOIN $days ON f.day = d.day", 1)
        reads(s"SELECT * FROM $days LEFT SEMI JOIN fact f ON f.day = d.day", 1)
        reads(s"SELECT * FROM $days LEFT ANTI JOIN fact f ON f.day = d.day", 1)
        reads(s"SELECT d.day FROM $days LEFT JOIN fact f ON f.day = d.day WHERE f.id IS NULL", 1)
        reads("SELECT day FROM days10 WHERE month = 3 INTERSECT SELECT day FROM fact", 1)
      })
    }
  }

  testParts(
    "a side that Spark may run in part gives its keys by a second run only if it cannot fail")(
    checkInPart(all = false))(checkInPart(all = true))

  private def checkInPart(all: Boolean): Unit = {
    withWideStar { _ =>
      inConf(
        "spark.sql.autoBroadcastJoinThreshold" -> "100MB",
        "spark.sql.ansi.enabled" -> "true") {
        bothWays {
          def joined(kind: String, filter: String, key: String = "d.day") =
            s"(SELECT * FROM days10 WHERE month = 3 AND $filter) d $kind JOIN fact f ON f.day = $key"
          val (total, partial) = ("day < 17000", "6 div (day - 17000) < 1")
          if (all) for (filter <- Seq(total, partial)) {
            val left = joined("LEFT", filter)
            reads(s"SELECT * FROM $left", 1)
            reads(s"SELECT f.id, count(*) n FROM $left GROUP BY f.id LIMIT 9999", 1)
            reads(s"SELECT * FROM $left ORDER BY f.id LIMIT 9999", 1)
          }
          // Spark puts a limit without a filter below it into the side, which then has other rows each time
          def limited(from: String) =
            s"SELECT * FROM $from WHERE f.id IS NULL OR f.id > -1 LIMIT 9999"
          reads(limited(joined("LEFT", total)), 1)
          reads(limited(joined("LEFT", partial)), Files)
          if (all) {
            reads(limited(joined("LEFT", total, "d.day + 1 - 1")), Files)
            reads(s"SELECT * FROM ${joined("LEFT", total)} LIMIT 9999", Files)
            reads(s"SELECT * FROM ${joined("LEFT SEMI", total)}", 1)
            reads(s"SELECT * FROM ${joined("LEFT SEMI", partial)}", Files)
          }
        }
      }
    }
  }

  testParts("sides whose partitions Spark prunes by another join are not the same")(
    checkPruned("false"))(checkPruned("true"))

  private def checkPruned(ofBroadcasts: String*): Unit = {
    withWideStar { fact =>
      withTempView("months", "numbered") {
        sql("SELECT day, month p FROM days10").write.partitionBy("p").parquet(s"${fact}Months")
        spark.read.parquet(s"${fact}Months").createOrReplaceTempView("months")
        sql("SELECT int(id) p, int(id) c FROM range(16)").coalesce(1).write
          .parquet(s"${fact}Numbered")
        spark.read.parquet(s"${fact}Numbered").createOrReplaceTempView("numbered")
        def month(c: Int): String =
          s"""SELECT f.id, m.p FROM fact f JOIN months m ON f.day = m.day
            |JOIN numbered n ON m.p = n.p WHERE n.c = $c""".stripMargin
        for (onlyBroadcast <- ofBroadcasts) inConf(
          "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly" -> onlyBroadcast) {
          bothWays(checkRows(sql(s"${month(3)} UNION ALL ${month(9)}")))
        }
      }
    }
  }

  test("a side whose files may be listed anew gives no keys by a second run") {
    withWideStar { fact =>
      withTempView("text") {
        sql("SELECT * FROM days10").coalesce(1).write.json(s"${fact}Text")
        spark.read.schema("day INT, month INT").json(s"${fact}Text").createOrReplaceTempView("text")
        reads("SELECT * FROM fact f JOIN text t ON f.day = t.day WHERE t.month = 3", Files)
      }
    }
  }

  test("a plan that is no execution's own gets no keys by a second run") {
    withWideStar { _ =>
      bothWays {
        def query = sql("SELECT f.id FROM fact f JOIN days10 d ON f.day = d.day WHERE d.month = 3")
        val df = query
        // no execution has begun, so that nothing holds the listing of days10
        assert(df.queryExecution.toRdd.count() === 100)
        assert(filesRead(df, "fact") === Seq(Files))
        inConf("spark.sql.autoBroadcastJoinThreshold" -> "10m") {
          val df = query
          assert(df.queryExecution.toRdd.count() === 100)
          assert(filesRead(df, "fact") === Seq(1))
        }
        assert(query.collect().length === 100)
      }
    }
  }

  test("a cached plan gets keys by a second run, as the execution that makes its rows holds the listings") {
    withWideStar { _ =>
      inConf("spark.sql.adaptive.enabled" -> "false") {
        val joined =
          sql("SELECT f.id FROM fact f JOIN days10 d ON f.day = d.day WHERE d.month = 3").cache()
        try {
          // the execution reads fact by itself, and days10 only for the cached rows
          assert(
            joined.union(spark.table("fact").select("id")).collect().length === 16000 / 10 + 100)
          val cached = joined.queryExecution.withCachedData.collectFirst {
            case r: InMemoryRelation => r.cacheBuilder.cachedPlan
          }
          val read = cached.get.collect {
            case s: FileSourceScanExec if isOf("fact")(s) => s.metrics("numFiles").value
          }
          assert(read === Seq(1))
        } finally joined.unpersist()
      }
    }
  }

  test("two data frames of one path, of which Spark may read one in place of the other") {
    withWideStar { fact =>
      withTempView("before", "after") {
        val days = new File(fact.getParentFile, "days10").getPath
        spark.read.parquet(days).createOrReplaceTempView("before")
        sql("SELECT 15000 day, 3 month, 1 dom").coalesce(1).write.mode("append").parquet(days)
        spark.read.parquet(days).createOrReplaceTempView("after")
        bothWays {
          def joined(days: String) =
            s"SELECT f.id FROM fact f JOIN $days d ON f.day = d.day WHERE d.month = 3"
          reads(joined("after"), 2)
          reads(s"${joined("before")} UNION ALL SELECT day FROM after WHERE month = 3", Files)
        }
      }
    }
  }
}
