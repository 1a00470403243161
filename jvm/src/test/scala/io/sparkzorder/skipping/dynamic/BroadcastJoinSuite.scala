// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.{JobCounter, ValidatedPlans}
import io.sparkzorder.skipping.scan.RuntimePruningScan._

/** Keys that a scan takes from the broadcast of a join. */
class BroadcastJoinSuite extends StarTestBase with ValidatedPlans {

  test("an inner join reads the files of the dimension's keys") {
    withStar { _ =>
      bothWays {
        val df = reads(
          "SELECT sum(amount), count(*) FROM fact JOIN days USING (day) WHERE month = 3",
          1)
        assert(broadcasts(df) + reused(df) >= 1)
      }
    }
  }

  testParts("either side, semi-joins, IN and EXISTS") {
    withStar { _ =>
      bothWays {
        reads("SELECT * FROM days d JOIN fact f ON f.day = d.day WHERE d.month IN (3, 7)", 2)
        reads(
          "SELECT * FROM fact f WHERE EXISTS " +
            "(SELECT 1 FROM days d WHERE d.day = f.day AND d.month BETWEEN 4 AND 6)",
          3)
      }
    }
  } {
    withStar { _ =>
      bothWays {
        reads("SELECT * FROM fact LEFT SEMI JOIN days d ON fact.day = d.day AND d.month = 2", 1)
        reads("SELECT * FROM fact WHERE day IN (SELECT day FROM days WHERE month > 13)", 2)
        reads("SELECT * FROM fact JOIN days USING (code) WHERE month = 3", 1)
      }
    }
  }

  testParts("the side whose rows stay without a partner is read whole") {
    withStar { _ =>
      bothWays {
        val days = "(SELECT * FROM days WHERE month = 3) d"
        reads(s"SELECT * FROM fact f LEFT JOIN $days ON f.day = d.day", Files)
        reads(s"SELECT * FROM fact f LEFT ANTI JOIN $days ON f.day = d.day", Files)
      }
    }
  } {
    withStar { _ =>
      bothWays {
        val days = "(SELECT * FROM days WHERE month = 3) d"
        reads(s"SELECT * FROM $days RIGHT JOIN fact f ON f.day = d.day", Files)
        reads(s"SELECT * FROM fact f FULL JOIN $days ON f.day = d.day", Files)
        reads("SELECT * FROM fact WHERE day NOT IN (SELECT day FROM days WHERE month = 3)", Files)
        val ofMonth = "day IN (SELECT day FROM days WHERE month = 3)"
        reads(s"SELECT * FROM fact WHERE hash(amount) % 7 = 1 OR $ofMonth", Files)
        // what stands beside the keys lets files go, too
        reads(s"SELECT * FROM fact WHERE amount < 0 OR $ofMonth", 1)
      }
    }
  }

  testParts("a row of the dimension that takes every row for a partner, as in tables of rights")(
    checkRights(all = false))(checkRights(all = true))

  private def checkRights(all: Boolean): Unit = {
    withStar { fact =>
      // a row without a key, which such a row of the dimension takes as well
      sql("SELECT 1600L id, cast(null as int) day, 1 item, 1L amount, '' code").coalesce(1)
        .write.mode("append").parquet(fact.getPath)
      spark.read.parquet(fact.getPath).createOrReplaceTempView("fact")
      sql(s"REFRESH ZORDER INDEX ON '$fact'").collect()
      withTempView("rights") {
        sql("SELECT * FROM VALUES ('ann', 310, 'c000310'), ('ann', 420, 'c000420'), ('bob', NULL, NULL), ('bob', 5, 'c'), " +
          "('eve', -1, 'c000777') AS t(who, day, code)").createOrReplaceTempView("rights")
        bothWays {
          def of(who: String) = s"(SELECT * FROM rights WHERE who = '$who') r"
          reads(s"SELECT * FROM fact f JOIN ${of("ann")} ON r.day IS NULL OR f.day = r.day", 2)
          reads(s"SELECT * FROM fact f JOIN ${of("bob")} ON r.day IS NULL OR f.day = r.day", 17)
          if (all) {
            reads(
              s"SELECT * FROM fact f LEFT SEMI JOIN ${of("ann")} ON f.day = r.day OR r.day = -1",
              2)
            reads(s"SELECT * FROM fact f JOIN ${of("eve")} ON f.day = r.day OR r.day = -1", 17)
            reads(
              "SELECT * FROM fact f WHERE EXISTS (SELECT 1 FROM rights r WHERE r.who = 'ann' AND " +
                "(r.day = f.day OR r.day = -1))",
              2)
            reads(
              s"SELECT * FROM fact f JOIN ${of("ann")} ON r.code IS NULL OR f.code = r.code",
              2)
            // no row of the dimension: no row has a partner
            reads(
              s"SELECT * FROM fact f JOIN ${of("nobody")} ON r.day IS NULL OR f.day = r.day",
              0)
          }
          // the condition of the other side may fail, so it is not computed on other rows
          reads(s"SELECT * FROM fact f JOIN ${of("ann")} ON 1 / r.day > 5 OR f.day = r.day", 17)
        }
      }
    }
  }

  test("no key, or only NULL as a key: no file is read") {
    withStar { _ =>
      bothWays {
        reads("SELECT * FROM fact JOIN days USING (day) WHERE month = 99", 0)
        reads(
          "SELECT * FROM fact f JOIN (SELECT IF(dom < 0, day, NULL) day FROM days " +
            "WHERE month = 3) d ON f.day = d.day",
          0)
        reads(
          "SELECT * FROM fact f JOIN (SELECT IF(dom < 2, day, NULL) day FROM days " +
            "WHERE month = 3) d ON f.day = d.day",
          1)
      }
    }
  }

  test("several dimensions, casts, and a filter of the fact's own") {
    withStar { _ =>
      bothWays {
        reads(
          "SELECT sum(amount) FROM fact JOIN days USING (day) JOIN items USING (item) " +
            "WHERE month = 3 AND category = 2",
          1)
        reads(
          "SELECT * FROM fact f JOIN (SELECT bigint(day) day FROM days WHERE month = 3) d " +
            "ON f.day = d.day",
          1)
        val df = reads(
          "SELECT * FROM fact JOIN days USING (day) WHERE fact.id < 500 AND month IN (3, 9)",
          1)
        val scan = scansOf(df).filter(isOf("fact")).head
        assert(counts(scan) === Seq(16, 1, 15, 0))
        assert(scan.metrics(PrunedAtRunTime).value === 4)
        assert(scan.metrics(prunedBy("id")).value === 11)
        assert(scan.metrics(prunedBy("day")).value === 4)
      }
    }
  }

  private val month = "days d ON d.day = x.day WHERE d.month = 3"

  testParts("through aggregates, unions, projections and windows") {
    withStar { _ =>
      bothWays {
        reads(
          "SELECT * FROM (SELECT day FROM fact UNION ALL SELECT day % 2000 day FROM fact WHERE " +
            s"amount > 5) x JOIN $month",
          1,
          1)
        reads(s"SELECT * FROM (SELECT * FROM fact LIMIT 5000) x JOIN $month", Files)
      }
    }
  } {
    withStar { _ =>
      bothWays {
        reads(
          s"SELECT * FROM (SELECT day, sum(amount) FROM fact GROUP BY day) x JOIN $month",
          1)
        reads(
          "SELECT * FROM (SELECT day, amount FROM fact WHERE item = 3 UNION ALL " +
            s"SELECT day, id FROM fact) x JOIN $month",
          1,
          1)
        reads(
          "SELECT * FROM (SELECT day, rank() OVER (PARTITION BY day ORDER BY amount) r " +
            s"FROM fact) x JOIN $month",
          1)
        reads(
          "SELECT * FROM (SELECT day, rank() OVER (PARTITION BY item ORDER BY amount) r " +
            s"FROM fact) x JOIN $month",
          Files)
      }
    }
  }

  test("nothing is inserted where nothing can be gained") {
    withStar { _ =>
      bothWays {
        // every file has every item
        val ofItems =
          reads("SELECT * FROM fact JOIN items USING (item) WHERE category = 2", Files)
        assert(!text(ofItems).contains("dynamicpruning"))
        val large = sql("SELECT * FROM range(100000)").join(
          spark.table("fact"),
          "id")
        assert(!text(large).contains("dynamicpruning"))
        withoutDynamic {
          val df =
            reads("SELECT * FROM fact JOIN days USING (day) WHERE month = 3", Files)
          assert(!text(df).contains("dynamicpruning"))
        }
      }
    }
  }

  test("EXPLAIN shows the filter and runs no job; the scan keeps its place in the plan") {
    withStar { _ =>
      bothWays {
        val query = "SELECT * FROM fact JOIN days USING (day) WHERE month = 3"
        val jobs = JobCounter.count(spark) {
          val explained = sql(s"EXPLAIN $query").head().getString(0)
          assert(explained.contains(s"$AtRunTimeKey: by day"), explained)
          assert(!explained.contains("Filter (isnotnull(day#0) AND dynamicpruning"))
        }
        assert(jobs.jobs === 0)
      }
    }
  }

  test("keys far outside the fact's own do not widen the ranges that its pages are read by") {
    withTableDir { dir =>
      withTempView("fact", "calendar") {
        val fact = new File(dir, "fact")
        sql("SELECT int(id) day, id * 2 amount FROM range(0, 1600, 1, 2)").write
          .option("parquet.page.row.count.limit", 20)
          .option("parquet.page.size.row.check.min", 20).parquet(fact.getPath)
        createIndex(fact)
        spark.read.parquet(fact.getPath).createOrReplaceTempView("fact")
        // ten days of each of 3,200 months, 16 of which are in fact
        sql("SELECT int(id) day, int(pmod(id, 100)) dom FROM range(-160000, 160000)")
          .coalesce(1).write.parquet(new File(dir, "calendar").getPath)
        spark.read.parquet(new File(dir, "calendar").getPath).createOrReplaceTempView("calendar")
        bothWays {
          val df = reads(
            "SELECT /*+ BROADCAST(calendar) */ day, amount FROM fact JOIN calendar USING (day) " +
              "WHERE dom BETWEEN 5 AND 14",
            2)
          val rows = scansOf(df).filter(isOf("fact")).map(_.metrics("numOutputRows").value)
          assert(rows === Seq(16 * 20))
        }
      }
    }
  }

  test("the dimension is broadcast once") {
    withStar { _ =>
      bothWays {
        val query = "SELECT * FROM fact JOIN days USING (day) WHERE month = 3"
        sql(query).collect()
        val ours = JobCounter.count(spark)(sql(query).collect())
        val without = withoutDynamic(JobCounter.count(spark)(sql(query).collect()))
        assert(ours.jobs === without.jobs)
        assert(ours.rowsRead < without.rowsRead)
      }
    }
  }

  test("a recursive query is left as it is", Slow) {
    assume(spark.version >= "4.1")
    withStar { _ =>
      for (tables <-
          Seq("days d JOIN fact e ON e.day = d.day", "fact e JOIN days d ON e.day = d.day")) {
        val df = sql("WITH RECURSIVE r(n) AS (SELECT 390 UNION ALL " +
          s"SELECT int(e.day + 1) FROM $tables JOIN r ON e.day = r.n WHERE d.month = 3) " +
          "SELECT * FROM r")
        assert(df.count() === 11)
      }
    }
  }
}
