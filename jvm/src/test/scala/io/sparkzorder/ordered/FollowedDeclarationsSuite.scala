// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.scalatest.exceptions.TestFailedException
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Sort}

/** Which declarations a write follows: another engine's, none, and none that no longer fits. */
class FollowedDeclarationsSuite extends DeclaredTables {

  test("a table that Impala declared") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT, v BIGINT, s STRING) USING parquet " +
        "TBLPROPERTIES ('sort.columns' = 'a,b', 'sort.order' = 'ZORDER')")
      rows.write.insertInto("t")
      assertZOrdered(directory("t"))
    }
  }

  test("none, in the session and in the table") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT, v BIGINT, s STRING) USING parquet SORT BY ZORDER (a, b)")
      inConf("spark.zorder.write" -> "none")(assert(sorts(insert("t")).isEmpty))
      inConf("spark.zorder.enabled" -> "false")(assert(sorts(insert("t")).isEmpty))
      assert(sorts(insert("t")).size === 1)
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.write' = 'none')")
      assert(sorts(insert("t")).isEmpty)
      rows.write.insertInto("t")
      val e = intercept[TestFailedException](assertZOrdered(directory("t")))
      assert(e.getMessage.contains("is not in order"))
    }
  }

  test("a write never fails because of a declaration that no longer fits")(checkWrong(every = 3))

  test("a write never fails because of any declaration that no longer fits", Slow)(
    checkWrong(every = 1))

  private def checkWrong(every: Int): Unit = {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT, v BIGINT, s STRING) USING parquet SORT BY ZORDER (a, b)")
      val all = Seq(
        "'zorder.columns' = 'a, gone'",
        "'zorder.columns' = 'a.x, b'",
        "'zorder.columns' = 'a b c'",
        "'zorder.order' = 'sideways'",
        "'zorder.write' = 'sometimes'",
        "'zorder.nonsense' = '1'")
      for (wrong <- all.indices.by(every).map(all)) {
        sql(s"ALTER TABLE t SET TBLPROPERTIES ($wrong)")
        rows.write.mode("overwrite").insertInto("t")
        assert(bag(spark.table("t")) === bag(rows), wrong)
        rows.write.mode("append").saveAsTable("t")
        assert(bag(spark.table("t")) === bag(rows.union(rows)), wrong)
      }
    }
  }

  private def insert(table: String): LogicalPlan = {
    rows.createOrReplaceTempView("src")
    val plan = sql(s"EXPLAIN EXTENDED INSERT INTO $table SELECT * FROM src")
    assert(plan.head().getString(0).contains("Optimized"))
    spark.sessionState.sqlParser.parsePlan(s"INSERT INTO $table SELECT * FROM src") match {
      case p =>
        val analyzed = spark.sessionState.analyzer.execute(p)
        spark.sessionState.optimizer.execute(analyzed)
    }
  }

  private def sorts(plan: LogicalPlan): Seq[Sort] = plan.collect { case s: Sort => s }
}
