// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{
  DynamicPruningExpression,
  DynamicPruningSubquery,
  Literal
}
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.execution.ReusedSubqueryExec

import io.sparkzorder.ValidatedPlans
import io.sparkzorder.skipping.scan.RuntimeFilters
import io.sparkzorder.tpc.PlanCounts

/** A query must not lose a reuse of an exchange or a subquery to a filter of ours. */
class ReuseSuite extends StarTestBase with ValidatedPlans {

  private def keepsReuse(query: String): DataFrame = {
    def numbers() = {
      val df = sql(query)
      val rows = bag(df)
      (rows, reused(df), count(df) { case r: ReusedSubqueryExec => r }, df)
    }
    val (expected, exchanges, subqueries, _) = withoutDynamic(numbers())
    val (rows, ours, ourSubqueries, df) = numbers()
    val plan = text(df)
    assert(rows === expected, s"rows of $query\n$plan")
    // a broadcast that gives keys is one more reuse
    assert(ours >= exchanges, s"exchanges of $query\n$plan")
    assert(ourSubqueries >= subqueries, s"subqueries of $query\n$plan")
    df
  }

  testParts("self-joins") {
    withStar { _ =>
      bothWays(withoutBroadcast(keepsReuse(
        "SELECT * FROM fact a JOIN fact b ON a.item = b.item " +
          "JOIN days d ON a.day = d.day WHERE d.month = 3")))
    }
  } {
    withStar { _ =>
      bothWays {
        withoutBroadcast(keepsReuse("SELECT * FROM fact a JOIN fact b ON a.day = b.day"))
        keepsReuse(
          "SELECT /*+ MERGE(a, b) */ count(*) FROM fact a JOIN fact b ON a.item = b.item " +
            "JOIN days d ON a.day = d.day WHERE d.month = 3")
        keepsReuse("SELECT * FROM (SELECT day, sum(amount) s FROM fact GROUP BY day) a " +
          "JOIN (SELECT day, sum(amount) s FROM fact GROUP BY day) b ON a.s = b.s " +
          "JOIN days d ON a.day = d.day WHERE d.month = 3")
      }
    }
  }

  private val ofMarch = "WITH x AS (SELECT item, sum(amount) s FROM fact JOIN days USING (day) " +
    "WHERE month = 3 GROUP BY item) "

  testParts("a common table expression that is used twice") {
    withStar { _ =>
      bothWays {
        val df = keepsReuse(ofMarch + "SELECT * FROM x a JOIN x b ON a.item = b.item")
        assert(filesRead(df, "fact").forall(_ == 1))
      }
    }
  } {
    withStar { _ =>
      bothWays {
        keepsReuse(ofMarch + "SELECT * FROM x WHERE s > (SELECT avg(s) FROM x)")
        keepsReuse(ofMarch + "SELECT * FROM x UNION ALL SELECT * FROM x")
      }
    }
  }

  test("scalar subqueries that are used twice") {
    withStar { _ =>
      bothWays {
        val s = "(SELECT max(f.day) FROM fact f JOIN days USING (day) WHERE month = 3)"
        keepsReuse(s"SELECT $s a, $s b FROM range(3)")
        keepsReuse(s"SELECT * FROM fact WHERE day > $s AND day < $s + 100")
      }
    }
  }

  private val x = "WITH x AS (SELECT item, day, sum(amount) s FROM fact GROUP BY item, day) "

  private def ofMonth(condition: String, name: String) =
    s"(SELECT x.item, x.day, x.s FROM x JOIN days d ON x.day = d.day WHERE $condition) $name"

  /** Each scan of fact that runs reads so many files, and the exchange above it is reused. */
  private def readsOnce(query: String, files: Long): Unit = {
    val df = keepsReuse(query)
    assert(filesRead(df, "fact").distinct === Seq(files), s"$query\n${text(df)}")
  }

  testParts("copies with filters of their own read the files of all, once") {
    withStar { _ =>
      bothWays {
        val three = ofMonth("d.month = 3", "a")
        val five = ofMonth("d.month = 5", "b")
        readsOnce(s"$x SELECT * FROM $three JOIN $five ON a.item = b.item", 2)
      }
    }
  } {
    withStar { _ =>
      bothWays {
        val three = ofMonth("d.month = 3", "a")
        val five = ofMonth("d.month = 5", "b")
        readsOnce(
          s"$x SELECT * FROM $three JOIN $five USING (item) JOIN " +
            s"${ofMonth("d.month IN (7, 8)", "c")} USING (item)",
          4)
        readsOnce(
          s"$x SELECT * FROM ${ofMonth("d.month = 3", "a")} UNION ALL " +
            s"SELECT * FROM ${ofMonth("d.month < 0", "b")}",
          1)
      }
    }
  }

  test("copies without a filter, in subqueries, or among their own keys stay as they are", Slow) {
    withStar { _ =>
      bothWays {
        val three = ofMonth("d.month = 3", "a")
        keepsReuse(s"$x SELECT * FROM $three JOIN x b ON a.item = b.item")
        keepsReuse(s"$x SELECT * FROM $three WHERE s > " +
          s"(SELECT avg(s) FROM ${ofMonth("d.month = 5", "b")})")
        // the keys of one copy come from another copy
        val ofCopy = "d.month = 5 AND d.dom IN " +
          s"(SELECT e.item FROM ${ofMonth("d.month = 7", "e")})"
        keepsReuse(s"$x SELECT * FROM $three JOIN ${ofMonth(ofCopy, "b")} ON a.item = b.item")
        keepsReuse(s"$x SELECT * FROM $three JOIN ${ofMonth("d.month = 5", "b")} " +
          s"ON a.item = b.item WHERE a.day IN (SELECT day FROM x WHERE s > 100)")
      }
    }
  }

  test("a copy whose side of a join is rewritten twice, beside one without a filter") {
    withStar { _ =>
      bothWays {
        withoutBroadcast {
          keepsReuse(s"$x SELECT * FROM ${ofMonth("d.month = 3", "a")} JOIN " +
            "(SELECT item, sum(s) FROM x GROUP BY item) b ON a.item = b.item")
        }
      }
    }
  }

  testParts("copies that different columns filter, and two filters of one copy") {
    withStar { _ =>
      bothWays {
        val items = "(SELECT x.item, x.s FROM x JOIN items i ON x.item = i.item " +
          "WHERE i.category = 2) b"
        keepsReuse(
          s"$x SELECT * FROM ${ofMonth("d.month = 3", "a")} JOIN $items ON a.item = b.item")
      }
    }
  } {
    withStar { _ =>
      bothWays {
        keepsReuse(s"$x SELECT * FROM (SELECT x.* FROM x JOIN days d ON x.day = d.day " +
          "JOIN items i ON x.item = i.item WHERE d.month = 3 AND i.category = 2) a JOIN " +
          s"${ofMonth("d.month = 5", "b")} ON a.item = b.item")
      }
    }
  }

  /** The shape of q65 of TPC-DS. A filter of rows would run the side that gives the keys once more. */
  test("groups with sums of DECIMALs need no filter of rows", Slow) {
    withStar { fact =>
      withTempView("sales") {
        val sales = new File(fact.getParentFile, "sales")
        sql("SELECT /*+ REPARTITION_BY_RANGE(16, day) */ day, day k, item, " +
          "cast(amount % 900 / 7 AS DECIMAL(7, 2)) price FROM fact").write.parquet(sales.getPath)
        createIndex(sales)
        spark.read.parquet(sales.getPath).createOrReplaceTempView("sales")
        val revenues = "(SELECT item, k, sum(price) revenue FROM sales JOIN days USING (day) " +
          "WHERE month < 9 GROUP BY item, k)"
        val query = "SELECT /*+ BROADCAST(d) */ c.* FROM " +
          s"(SELECT item, avg(revenue) ave FROM $revenues GROUP BY item) b " +
          s"JOIN $revenues c ON b.item = c.item JOIN days d ON c.k = d.day " +
          "WHERE d.month = 3 AND c.revenue <= 0.9 * b.ave"
        val window = "SELECT /*+ BROADCAST(d) */ c.k, c.r FROM (SELECT k, " +
          "sum(price) OVER (PARTITION BY k) r FROM sales) c JOIN days d ON c.k = d.day " +
          "WHERE d.month = 3"
        def exchanges(of: String) =
          PlanCounts.of(sql(of).queryExecution.executedPlan, Nil).exchanges
        bothWays {
          Seq(query -> Seq(1L, 9L), window -> Seq(1L)).foreach { case (q, files) =>
            withClue(s"$q\n")(assert(filesRead(checkRows(sql(q)), "sales") === files))
          }
        }
        inConf("spark.sql.adaptive.enabled" -> "false") {
          Seq(query, window).foreach(q =>
            withClue(s"$q\n")(assert(exchanges(q) === withoutDynamic(exchanges(q)))))
        }
      }
    }
  }

  testParts("adaptive execution: no keys from a side that is planned again while it runs")(
    checkPlannedAgain(all = false))(checkPlannedAgain(all = true))

  /**
   * Adaptive execution would choose the kind of the inner join anew: once for the join's side and once
   * for the copy of the side that gives the keys. Which of the two comes first is a matter of time.
   */
  private def checkPlannedAgain(all: Boolean): Unit = {
    withStar { _ =>
      inConf("spark.sql.adaptive.autoBroadcastJoinThreshold" -> "10MB") {
        val days = "(SELECT /*+ MERGE(b) */ a.day FROM days a LEFT SEMI JOIN " +
          "(SELECT day FROM fact WHERE item < 25) b ON a.day = b.day WHERE month = 3) d"
        val shuffled = s"SELECT /*+ BROADCAST(d) */ f.* FROM fact f JOIN $days ON f.day = d.day"
        val aboveShuffle = "SELECT /*+ BROADCAST(d) */ f.* FROM fact f JOIN (SELECT a.day FROM " +
          "days a JOIN (SELECT day FROM fact WHERE item < 25 GROUP BY day) b ON a.day = b.day " +
          "WHERE month = 3) d ON f.day = d.day"
        (if (all) Seq(shuffled, aboveShuffle) else Seq(shuffled)).foreach { query =>
          def keys(adaptive: Boolean): Int =
            inConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
              checkRows(sql(query)).queryExecution.optimizedPlan.collect {
                case p => p.expressions.flatMap(_.collect { case d: DynamicPruningSubquery => d })
                    .filter(_.buildQuery.exists(_.isInstanceOf[Join]))
              }.flatten.size
            }
          assert(keys(adaptive = false) > 0, query)
          assert(keys(adaptive = true) === 0, query)
        }
        // adaptive execution plans these once
        inConf("spark.sql.adaptive.enabled" -> "true") {
          reads(
            "SELECT /*+ BROADCAST(d) */ f.* FROM fact f JOIN " +
              "(SELECT day FROM days WHERE month = 3 GROUP BY day) d ON f.day = d.day",
            1)
          if (all) reads(
            "SELECT /*+ BROADCAST(d) */ f.* FROM fact f JOIN (SELECT a.day FROM days a " +
              "JOIN items i ON a.dom = i.item WHERE month = 3) d ON f.day = d.day",
            1)
        }
      }
    }
  }

  test("a scan is the same part of a plan, whatever adaptive execution made of its keys") {
    withStar { _ =>
      def scan(df: DataFrame) = scansOf(df).filter(isOf("fact")).head
      def ofMonth(month: Int) =
        sql(s"SELECT amount FROM fact JOIN days d ON fact.day = d.day WHERE d.month = $month")
      val three = ofMonth(3)
      val made = scan(three)
      three.collect()
      val ran = scan(three)
      val dropped = ran.copy(dataFilters = ran.dataFilters.map {
        case f if RuntimeFilters.isOfJoin(f) => DynamicPruningExpression(Literal.TrueLiteral)
        case f => f
      })
      assert(ran.dataFilters !== made.dataFilters)
      assert(ran.dataFilters !== dropped.dataFilters)
      assert(made.sameResult(ran))
      assert(made.sameResult(dropped))
      assert(made.sameResult(scan(ofMonth(3))))
      assert(!made.sameResult(scan(ofMonth(5))))
      assert(!made.sameResult(scan(sql("SELECT day, amount FROM fact"))))
    }
  }
}
