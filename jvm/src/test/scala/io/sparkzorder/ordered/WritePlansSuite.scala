// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RepartitionByExpression, Sort}

import io.sparkzorder.{JobCounter, ValidatedPlans}

/** The plans of writes: one sort, at most one shuffle, and nothing that starts a job. */
class WritePlansSuite extends DeclaredTables with ValidatedPlans {

  private def create(clause: String): Unit =
    sql("CREATE TABLE t (a INT, b INT, v BIGINT, s STRING) USING parquet " +
      s"$clause TBLPROPERTIES ('zorder.targetFileSize' = '1k')")

  private def plan(query: String = "SELECT * FROM src"): LogicalPlan = {
    rows.createOrReplaceTempView("src")
    val parsed = spark.sessionState.sqlParser.parsePlan(s"INSERT INTO t $query")
    spark.sessionState.optimizer.execute(spark.sessionState.analyzer.execute(parsed))
  }

  private def nodes(plan: LogicalPlan): Seq[String] =
    plan.collect { case n => n.nodeName }

  private def order(plan: LogicalPlan): Seq[String] =
    plan.collectFirst { case s: Sort => s.order.map(_.sql.replaceAll("`|src\\.", "")) }.get

  private val write = Seq("InsertIntoHadoopFsRelationCommand", "WriteFiles")

  test("sort by values: the key is a column of its own") {
    withTable("t") {
      create("SORT BY ZORDER (a, b)")
      val p = plan()
      assert(nodes(p) === write ++ Seq("Project", "Sort", "Project", "Project", "Range"))
      assert(order(p) === Seq("_zorder_key_0 ASC NULLS FIRST"))
    }
  }

  test("lexical: the columns themselves, behind the partition") {
    withTable("t") {
      create("PARTITIONED BY (s) SORT BY LEXICAL (b, a)")
      val p = plan("SELECT a, b, v, 'c' || v FROM src")
      assert(nodes(p).count(_ == "Sort") === 1)
      assert(order(p).tail ===
        Seq("declared_order(b) ASC NULLS FIRST", "declared_order(a) ASC NULLS FIRST"))
    }
  }

  test("a user's ORDER BY keeps its ranges, and a user's SORT BY gives way") {
    withTable("t") {
      create("SORT BY LEXICAL (a)")
      val ordered = plan("SELECT * FROM src ORDER BY b")
      assert(ordered.collect { case s: Sort if !s.global => s }.size === 1)
      // Spark 4 keeps only the ranges of a sort of all rows that is below a local sort
      assert(ordered.exists {
        case s: Sort => s.global
        case r: RepartitionByExpression => r.partitionExpressions.exists(_.isInstanceOf[SortOrder])
        case _ => false
      })
      assert(
        plan("SELECT * FROM src SORT BY b").collect { case s: Sort => s.global } === Seq(false))
    }
  }

  test("files of an INSERT with ORDER BY have its ranges") {
    withTable("t") {
      create("SORT BY ZORDER (a, v)")
      rows.createOrReplaceTempView("src")
      inConf(
        "spark.sql.shuffle.partitions" -> "3",
        "spark.sql.adaptive.coalescePartitions.enabled" -> "false") {
        sql("INSERT INTO t SELECT * FROM src ORDER BY b")
      }
      val ranges = byFile(directory("t")).values.map(_.map(_.getAs[Int]("b"))).toSeq
        .map(b => b.min -> b.max).sorted
      assert(ranges.size === 3)
      assert(ranges.zip(ranges.tail).forall { case ((_, end), (start, _)) => end < start })
    }
  }

  test("cells: one shuffle, one sort; EXPLAIN starts no job") {
    withTable("t") {
      create("SORT BY ZORDER (a, b)")
      rows.write.insertInto("t")
      sql("OPTIMIZE t")
      val p = plan()
      assert(nodes(p) ===
        write ++ Seq("Project", "Sort", "RebalancePartitions", "Project", "Project", "Range"))
      rows.createOrReplaceTempView("src")
      val count = JobCounter.count(spark) {
        val _ = sql("EXPLAIN INSERT INTO t SELECT * FROM src").collect()
      }
      assert(count.jobs === 0)
    }
  }

  test("cells: so few partitions of the shuffle that Spark knows the size of each") {
    def cells(p: LogicalPlan) =
      p.flatMap(_.expressions).flatMap(_.collect { case c: CellOfPlace => c.cells }).head
    for (clause <- Seq("", "PARTITIONED BY (s)")) withTable("t") {
      create(s"$clause SORT BY ZORDER (a, b)")
      rows.write.insertInto("t")
      sql("OPTIMIZE t")
      // ten million rows fill more files than a shuffle may have partitions
      spark.range(10000000L).selectExpr("int(id) a", "int(id) b", "id v", "'x' s")
        .createOrReplaceTempView("many")
      assert(cells(plan("SELECT * FROM many")).partitions === 1024)
      if (clause.nonEmpty) {
        // all rows are of one folder
        val static = spark.sessionState.sqlParser.parsePlan(
          "INSERT INTO t PARTITION (s = 'x') SELECT a, b, v FROM many")
        val p = spark.sessionState.optimizer.execute(spark.sessionState.analyzer.execute(static))
        assert(cells(p).partitions === 1024)
      }
    }
  }

  test("an option that saveAsTable has stored gives way to what is declared later") {
    withTable("t") {
      rows.write.option("zorder.columns", "a").saveAsTable("t")
      assert(order(plan()) === Seq("declared_order(a) ASC NULLS FIRST"))
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'b')")
      assert(order(plan()) === Seq("declared_order(b) ASC NULLS FIRST"))
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.write' = 'none')")
      assert(!plan().exists(_.isInstanceOf[Sort]))
    }
  }

  test("a session follows what another session has declared") {
    withTable("t") {
      create("SORT BY LEXICAL (a)")
      rows.write.insertInto("t")
      assert(order(plan()) === Seq("declared_order(a) ASC NULLS FIRST"))
      spark.newSession().sql("ALTER TABLE t SORT BY LEXICAL (b)")
      assert(order(plan()) === Seq("declared_order(b) ASC NULLS FIRST"))
    }
  }
}
