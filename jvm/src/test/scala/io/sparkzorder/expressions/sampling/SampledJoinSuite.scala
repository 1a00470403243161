// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row
import org.apache.spark.sql.functions.col

import io.sparkzorder.{functions => F}
import io.sparkzorder.{ValidatedPlans, ZOrderSessionSuite}
import io.sparkzorder.expressions.ProjectSampledJoinKeys

/** Calls in join conditions, under every join strategy and build side. */
class SampledJoinSuite extends ZOrderSessionSuite with ValidatedPlans {

  override def beforeAll(): Unit = {
    super.beforeAll()
    // with 4 ranges, the ids of l are a div 2 and those of r are b div 5
    spark.range(8).selectExpr("id a", "id % 3 x").createOrReplaceTempView("l")
    spark.range(20).selectExpr("id b", "id % 2 y").createOrReplaceTempView("r")
  }

  private val condition = "range_partition_id(l.a, 4) = range_partition_id(r.b, 4)"
  private val plain = "l.a div 2 = r.b div 5"

  private val strategies = Seq(
    "BROADCAST(l)" -> "BroadcastHashJoin.* BuildLeft",
    "BROADCAST(r)" -> "BroadcastHashJoin.* BuildRight",
    "MERGE(l)" -> "SortMergeJoin",
    "SHUFFLE_HASH(l)" -> "ShuffledHashJoin.* BuildLeft",
    "SHUFFLE_HASH(r)" -> "ShuffledHashJoin.* BuildRight",
    "SHUFFLE_REPLICATE_NL(l)" -> "CartesianProduct")

  private val joined = for (a <- 0L to 7; b <- 0L to 19 if a / 2 == b / 5) yield Row(a, b)

  for ((hint, operator) <- strategies; adaptive <- Seq(true, false)) {
    test(s"$hint, adaptive execution $adaptive") {
      withSQLConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
        val df = sql(s"SELECT /*+ $hint */ a, b FROM l JOIN r ON $condition")
        checkAnswer(df, joined)
        val plan = df.queryExecution.executedPlan.toString
        assert(operator.r.findFirstIn(plan).nonEmpty, plan)
      }
    }
  }

  test("why keys are computed below the join: Spark fails on a subquery in a broadcast key") {
    withSQLConf("spark.sql.optimizer.excludedRules" -> ProjectSampledJoinKeys.ruleName) {
      intercept[Exception] {
        sql(s"SELECT /*+ BROADCAST(l) */ a, b FROM l JOIN r ON $condition").collect()
      }
    }
  }

  for ((joins, tags) <- Seq(
      Seq("FULL JOIN", "LEFT ANTI JOIN") -> Nil,
      Seq("LEFT JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "CROSS JOIN") -> Seq(Slow)))
    test(joins.mkString(", "), tags: _*) {
      for (join <- joins) {
        def query(on: String) = sql(s"SELECT * FROM l $join r ON $on")
        checkAnswer(query(condition), query(plain).collect().toSeq)
        assert(query(condition).columns === query(plain).columns)
      }
    }

  test("a condition that is no equality, and a constant call") {
    checkAnswer(
      sql(
        "SELECT count(*) FROM l JOIN r ON range_partition_id(l.a, 4) < range_partition_id(r.b, 4)"),
      Row(2 * 5 * 6))
    checkAnswer(sql("SELECT count(*) FROM l JOIN r ON range_partition_id(1, 4) = 2"), Row(160))
  }

  test("a call in a call of a condition") {
    checkAnswer(
      sql("SELECT count(*) FROM l JOIN r ON zorder(range_partition_id(l.a, 4), l.a) = r.b"),
      Row(0))
  }

  test("a self join, USING over computed keys, and the API", Slow) {
    checkAnswer(
      sql("SELECT count(*) FROM l x JOIN l y ON zorder(x.a, x.x) = zorder(y.a, y.x)"),
      Row(8))
    val left = spark.table("l").withColumn("k", F.range_partition_id(col("a"), 4))
    val right = spark.table("r").withColumn("k", F.range_partition_id(col("b"), 4))
    for (hint <- Seq("broadcast", "merge", "shuffle_hash")) {
      assert(left.hint(hint).join(right, "k").count() === 40)
      assert(left.join(right.hint(hint), Seq("k"), "left").count() === 40)
    }
    val on = F.range_partition_id(left("a"), 4) === F.range_partition_id(right("b"), 4)
    assert(left.join(right.hint("broadcast"), on).count() === 40)
  }

  test("IN and EXISTS become joins") {
    checkAnswer(
      sql("SELECT count(*) FROM l WHERE range_partition_id(a, 4) IN (SELECT range_partition_id(b, 8) FROM r)"),
      Row(8))
    checkAnswer(
      sql("SELECT count(*) FROM l WHERE range_partition_id(a, 4) NOT IN (SELECT y FROM r)"),
      Row(4))
    checkAnswer(
      sql("SELECT count(*) FROM l WHERE EXISTS (SELECT 1 FROM (SELECT range_partition_id(b, 4) i FROM r) t WHERE t.i = l.a)"),
      Row(4))
  }
}
