// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import io.sparkzorder.JobCounter
import io.sparkzorder.ValidatedPlans
import io.sparkzorder.skipping.scan.RuntimePruningScan.PrunedAtRunTime

/** Filters that compare a column with the value of a subquery. */
class ScalarSubquerySuite extends StarTestBase with ValidatedPlans {

  testParts("=, <, BETWEEN, IN and casts with scalar subqueries") {
    withStar { _ =>
      bothWays {
        reads(
          "SELECT * FROM fact WHERE day BETWEEN (SELECT min(day) FROM days WHERE month = 3) " +
            "AND (SELECT max(day) FROM days WHERE month = 5)",
          3)
        reads(
          "SELECT * FROM fact WHERE day = 5 OR day = (SELECT max(day) FROM days WHERE month = 3)",
          2)
      }
    }
  } {
    withStar { _ =>
      bothWays {
        reads("SELECT * FROM fact WHERE day = (SELECT max(day) FROM days WHERE month = 3)", 1)
        reads("SELECT * FROM fact WHERE day < (SELECT min(day) FROM days WHERE month = 3)", 3)
        reads("SELECT * FROM fact WHERE id = (SELECT max(day) FROM days WHERE month = 3) + 1", 1)
        reads("SELECT * FROM fact WHERE code >= (SELECT max(code) FROM days WHERE month = 14)", 2)
        reads(
          "SELECT * FROM fact WHERE day > 1200 AND day < (SELECT max(day) FROM days WHERE " +
            "month = 12)",
          1)
      }
    }
  }

  testParts("a subquery without a row gives NULL, which no row equals") {
    withStar { _ =>
      bothWays(
        reads("SELECT * FROM fact WHERE day <=> (SELECT max(day) FROM days WHERE month = 99)", 0))
    }
  } {
    withStar { _ =>
      bothWays {
        reads("SELECT * FROM fact WHERE day = (SELECT max(day) FROM days WHERE month = 99)", 0)
        reads("SELECT * FROM fact WHERE day < (SELECT max(day) FROM days WHERE month = 99)", 0)
      }
    }
  }

  test("a subquery of the fact table itself") {
    withStar { _ =>
      bothWays {
        val df = checkRows(sql("SELECT * FROM fact WHERE day = (SELECT max(day) FROM fact)"))
        assert(filesRead(df, "fact") === Seq(1, Files))
        assert(scansOf(df).filter(isOf("fact")).map(_.metrics(PrunedAtRunTime).value).max === 15)
      }
    }
  }

  test("the subquery runs once, EXPLAIN runs none, and the setting turns it off") {
    withStar { _ =>
      bothWays {
        val query = "SELECT * FROM fact WHERE day = (SELECT max(day) FROM days WHERE month = 3)"
        assert(JobCounter.count(spark)(sql(s"EXPLAIN $query").collect()).jobs === 0)
        sql(query).collect()
        val ours = JobCounter.count(spark)(sql(query).collect())
        val without = withoutDynamic(JobCounter.count(spark)(sql(query).collect()))
        assert(ours.jobs === without.jobs)
        withoutDynamic(reads(query, Files))
      }
    }
  }

  test("an error of the filter is reported as without us") {
    withStar { _ =>
      val query =
        "SELECT * FROM fact WHERE day = 1 / (SELECT max(day) - 399 FROM days WHERE month = 3)"
      inConf("spark.sql.ansi.enabled" -> "false")(reads(query, 0))
      inConf("spark.sql.ansi.enabled" -> "true") {
        val _ = intercept[Exception](sql(query).collect())
      }
    }
  }
}
