// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.ValidatedPlans

/** Joins whose keys must not reach every place that they could reach. */
class KeysLeftOutSuite extends StarTestBase with ValidatedPlans {
  import testImplicits._

  /** The days of `fact` with a partner each, and an index: as many files. */
  private def withPartners(fact: File)(body: => Unit): Unit = withTempView("partners") {
    val partners = new File(s"${fact}Partners")
    sql("SELECT int(id) day, int(id * 3) price FROM range(0, 1600, 1, 16)").write
      .parquet(partners.getPath)
    createIndex(partners)
    spark.read.parquet(partners.getPath).createOrReplaceTempView("partners")
    withoutBroadcast(body)
  }

  testParts("keys cross an outer join, but not where a row that they drop could fail above it")(
    checkOuter(all = false))(checkOuter(all = true))

  private def checkOuter(all: Boolean): Unit = {
    withStar { fact =>
      withPartners(fact) {
        bothWays {
          val joined = "SELECT f.id, f.day, %s p FROM fact f LEFT JOIN partners p ON f.day = p.day"
          // Spark copies a filter on the key itself to the fact table, whose rows then give the keys of their partners
          val days = "(SELECT day FROM days WHERE month = 2) d"
          def query(column: String): String =
            s"SELECT /*+ BROADCAST(d) */ * FROM (${joined.format(column)}) j JOIN $days ON j.day = d.day"
          def partnersRead(query: String): Seq[Long] =
            filesRead(checkRows(sql(query)), "factPartners")
          assert(partnersRead(query("p.price + 1")) === Seq(1))
          if (all) {
            assert(partnersRead(query("p.price")) === Seq(1))
            assert(
              partnersRead(query("coalesce(p.price, raise_error('no partner'))")) === Seq(Files))
          }
          assert(partnersRead(query("1 / coalesce(p.price, 0)")) === Seq(Files))
        }
      }
    }
  }

  test(
    "keys cross no outer join below a condition that lets more rows through to what can fail",
    Slow) {
    withStar { fact =>
      withTempView("partners", "some") {
        val partners = new File(s"${fact}Items")
        sql("SELECT int(id) item FROM range(0, 50, 1, 16)").write.parquet(partners.getPath)
        createIndex(partners)
        spark.read.parquet(partners.getPath).createOrReplaceTempView("partners")
        // Spark copies a filter on the key itself to both sides of a join
        sql("SELECT item FROM items WHERE category = 1").createOrReplaceTempView("some")
        def query(condition: String, q: String = "1 div (f.item - 2)"): String =
          s"""SELECT * FROM (SELECT f.id, f.item, $q q FROM fact f
            |  LEFT JOIN partners p ON f.item = p.item $condition) j
            |JOIN some d ON j.item = d.item""".stripMargin
        inConf("spark.sql.ansi.enabled" -> "true", "spark.sql.codegen.wholeStage" -> "false") {
          withoutBroadcast(bothWays {
            def partnersRead(query: String): Seq[Long] =
              filesRead(checkRows(sql(query)), "factItems")
            // the keys reach the partners, but not through IS NULL
            assert(partnersRead(query("", "p.item + 1")) === Seq(3))
            assert(partnersRead(query("WHERE p.item IS NULL", "p.item + 1")) === Seq(Files))
            checkRows(sql(query("WHERE p.item IS NULL")))
            checkRows(sql(query("WHERE coalesce(p.item, -1) = -1")))
            checkRows(sql(query("WHERE p.item <=> NULL")))
            checkRows(sql(query("WHERE NOT (p.item IS NOT NULL)")))
            checkRows(
              sql(query("LEFT ANTI JOIN partners a ON p.item = a.item")))
            checkRows(sql(query("WHERE p.item < 0 AND 1 div (f.item - 2) > 0")))
          })
        }
      }
    }
  }

  testParts("a zero of the other sign, from a subquery: rows of the reader")(
    checkZeros("a" -> "=", "f" -> ">=", "s.a" -> "<=>"))(checkZeros(
    (for (column <- Seq("a", "f", "s.a"); operator <- Seq("=", ">=", "<=", "<=>"))
      yield column -> operator): _*))

  private def checkZeros(queries: (String, String)*): Unit = {
    withStar { fact =>
      val zeros = new File(s"${fact}Zeros")
      sql("SELECT id, -0.0D a, float(-0.0) f, named_struct('a', -0.0D) s FROM range(1000)")
        .coalesce(1).write.parquet(zeros.getPath)
      spark.read.parquet(zeros.getPath).createOrReplaceTempView("zeros")
      withTempView("zeros") {
        for ((column, operator) <- queries) bothWays {
          // the reader of Spark 4 loses these rows where Spark alone hands it the value
          val query =
            s"SELECT * FROM zeros WHERE $column $operator (SELECT max(0.0D * day) FROM days)"
          assert(sql(query).count() === 1000, query)
        }
      }
    }
  }

  test("a function of the user is not run a second time for its keys") {
    withStar { fact =>
      withoutBroadcast {
        val mapped = spark.table("days").filter("month = 3").select("day").as[Int]
          .groupByKey(identity).mapGroups((day, _) => day).toDF("day")
        withTempView("mapped") {
          mapped.createOrReplaceTempView("mapped")
          bothWays {
            reads("SELECT * FROM fact f JOIN mapped m ON f.day = m.day", Files)
          }
        }
      }
    }
  }

  test("queries in queries are planned in a time that does not double with each of them") {
    withStar { _ =>
      withoutBroadcast {
        val nested = (1 to 30).foldLeft("SELECT day FROM days WHERE month = 3") { (inner, _) =>
          s"SELECT day FROM days WHERE day IN ($inner)"
        }
        // a rewrite of both sides at each join would make 2^30 rewrites, and not end
        val plan = sql(s"SELECT * FROM fact WHERE day IN ($nested)").queryExecution.optimizedPlan
        assert(plan.collectLeaves().size === 32)
      }
    }
  }
}
