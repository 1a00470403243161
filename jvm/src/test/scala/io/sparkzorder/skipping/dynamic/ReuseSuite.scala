package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.execution.ReusedSubqueryExec

/** A query must not lose a reuse of an exchange or a subquery to a filter of ours. */
class ReuseSuite extends StarTestBase {

  private def keepsReuse(query: String): Unit = {
    def numbers() = {
      val df = sql(query)
      df.collect()
      (reused(df), count(df) { case r: ReusedSubqueryExec => r }, text(df))
    }
    val (exchanges, subqueries, _) = withoutDynamic(numbers())
    val (ours, ourSubqueries, plan) = numbers()
    val _ = checkRows(sql(query))
    // a broadcast that gives keys is one more reuse
    assert(ours >= exchanges, s"exchanges of $query\n$plan")
    assert(ourSubqueries >= subqueries, s"subqueries of $query\n$plan")
  }

  test("self-joins") {
    withStar { _ =>
      bothWays {
        withoutBroadcast {
          keepsReuse("SELECT * FROM fact a JOIN fact b ON a.day = b.day")
          keepsReuse("SELECT * FROM fact a JOIN fact b ON a.item = b.item " +
            "JOIN days d ON a.day = d.day WHERE d.month = 3")
        }
        keepsReuse(
          "SELECT /*+ MERGE(a, b) */ count(*) FROM fact a JOIN fact b ON a.item = b.item " +
            "JOIN days d ON a.day = d.day WHERE d.month = 3")
        keepsReuse("SELECT * FROM (SELECT day, sum(amount) s FROM fact GROUP BY day) a " +
          "JOIN (SELECT day, sum(amount) s FROM fact GROUP BY day) b ON a.s = b.s " +
          "JOIN days d ON a.day = d.day WHERE d.month = 3")
      }
    }
  }

  test("a common table expression that is used twice") {
    withStar { _ =>
      bothWays {
        val cte = "WITH x AS (SELECT item, sum(amount) s FROM fact JOIN days USING (day) " +
          "WHERE month = 3 GROUP BY item) "
        keepsReuse(cte + "SELECT * FROM x a JOIN x b ON a.item = b.item")
        keepsReuse(cte + "SELECT * FROM x WHERE s > (SELECT avg(s) FROM x)")
        keepsReuse(cte + "SELECT * FROM x UNION ALL SELECT * FROM x")
        val df = sql(cte + "SELECT * FROM x a JOIN x b ON a.item = b.item")
        df.collect()
        assert(filesRead(df, "fact").forall(_ == 1))
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
}
