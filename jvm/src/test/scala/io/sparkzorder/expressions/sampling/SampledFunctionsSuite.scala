// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.{col, expr}

import io.sparkzorder.{functions => F}
import io.sparkzorder.{JobCounter, ValidatedPlans, ZOrderSessionSuite}
import io.sparkzorder.bits.ZValues

/** `range_partition_id` and `zorder` wherever a query may call them. */
class SampledFunctionsSuite extends ZOrderSessionSuite with ValidatedPlans {
  override def beforeAll(): Unit = {
    super.beforeAll()
    // 16 rows: a grid of 4 by 4, and a key that repeats
    spark.range(16).selectExpr("id", "int(id div 4) a", "id % 4 b", "string(id % 2) s")
      .repartition(2)
      .createOrReplaceTempView("grid")
    spark.range(0, 8).selectExpr("id k", "int(id) v").createOrReplaceTempView("small")
  }

  /**
   * The Z-value of a grid point. The four values of a column have ids in the middle of each
   * quarter.
   */
  private def z(a: Long, b: Long): Long = {
    val ids = Seq(a, b).map(v => ((2 * v + 1) * (1 << 16) / 8).toInt)
    ZValues.interleave(ids.toArray)
  }

  private val grid = for (a <- 0 to 3; b <- 0 to 3) yield (a, b.toLong)

  private def ranks(column: String, df: DataFrame): Seq[Int] =
    df.select(column).collect().map(_.getInt(0)).toSeq

  test("SELECT") {
    checkAnswer(
      sql("SELECT a, b, zorder(a, b), range_partition_id(a, 4), range_partition_id(b) FROM grid"),
      grid.map { case (a, b) => Row(a, b, z(a, b), a, (256 * b + 128).toInt) })
  }

  test("SELECT without FROM, of one column, and inside other expressions") {
    checkAnswer(sql("SELECT zorder(1, 'x'), range_partition_id(5, 10)"), Row(z1(0.5, 0.5), 5))
    checkAnswer(
      sql("SELECT DISTINCT if(a > 1, range_partition_id(a, 4) + 10, -1) FROM grid"),
      Seq(Row(-1), Row(12), Row(13)))
  }

  private def z1(ranks: Double*): Long =
    ZValues.interleave(ranks.map(r => ((1 << 16) * r).toInt).toArray)

  test("ORDER BY, also when the column is not selected") {
    val sorted = grid.sortBy { case (a, b) => z(a, b) }.map { case (a, b) => 4 * a + b }
    val rows = sql("SELECT id FROM grid ORDER BY zorder(a, b)").collect().map(_.getLong(0)).toSeq
    assert(rows === sorted)
    val limited = sql("SELECT id FROM grid ORDER BY zorder(a, b) DESC LIMIT 3")
    assert(limited.collect().map(_.getLong(0)).toSeq === sorted.reverse.take(3))
    val api = spark.table("grid").sort(F.zorder(col("a"), col("b"))).select("id")
    assert(api.collect().map(_.getLong(0)).toSeq === sorted)
  }

  test("DISTRIBUTE BY, CLUSTER BY, repartition and repartitionByRange") {
    val q = "SELECT spark_partition_id() p, t.* FROM (SELECT * FROM grid %s BY zorder(a, b)) t"
    for (by <- Seq("DISTRIBUTE", "CLUSTER")) assert(sql(q.format(by)).count() === 16)
    val ranged = spark.table("grid").repartitionByRange(4, F.zorder(col("a"), col("b")))
    val quadrants =
      ranged.selectExpr("spark_partition_id() p", "a div 2 qa", "b div 2 qb").distinct()
    assert(ranged.rdd.getNumPartitions === 4)
    assert(quadrants.count() === 4)
    assert(spark.table("grid").repartition(4, F.zorder(col("a"))).count() === 16)
    assert(spark.table("grid").sortWithinPartitions(F.zorder(col("a"))).count() === 16)
  }

  test("WHERE") {
    checkAnswer(
      sql("SELECT a, b FROM grid WHERE zorder(a, b) < 1073741824"),
      grid.filter { case (a, b) => a < 2 && b < 2 }.map { case (a, b) => Row(a, b) })
    checkAnswer(sql("SELECT count(*) FROM grid WHERE range_partition_id(id, 4) = 1"), Row(4))
  }

  test("GROUP BY, HAVING and over groups") {
    checkAnswer(
      sql(
        "SELECT range_partition_id(id, 4) r, sum(b) FROM grid GROUP BY r HAVING r > 1 ORDER BY r"),
      Seq(Row(2, 6), Row(3, 6)))
    checkAnswer(
      sql("SELECT a FROM grid GROUP BY a HAVING range_partition_id(sum(id), 4) >= 2"),
      Seq(Row(2), Row(3)))
  }

  test("GROUP BY a call, ROLLUP, and expressions over groups", Slow) {
    checkAnswer(
      sql(
        "SELECT range_partition_id(id, 4) r, count(*) FROM grid GROUP BY range_partition_id(id, 4)"),
      (0 to 3).map(Row(_, 4)))
    checkAnswer(
      sql("SELECT a, range_partition_id(sum(id), 4) FROM grid GROUP BY a"),
      (0 to 3).map(a => Row(a, a)))
    checkAnswer(
      sql("SELECT a + 1, sum(b) + range_partition_id(max(id), 4) + a FROM grid GROUP BY a"),
      (0 to 3).map(a => Row(a + 1, 6 + 2 * a)))
    checkAnswer(sql("SELECT max(range_partition_id(id, 4)) FROM grid"), Row(3))
    checkAnswer(
      sql("SELECT range_partition_id(a, 4), count(*) FROM grid GROUP BY ROLLUP(range_partition_id(a, 4))"),
      Row(null, 16) +: (0 to 3).map(Row(_, 4)))
  }

  test("windows", Slow) {
    checkAnswer(
      sql("SELECT id, row_number() OVER (ORDER BY zorder(a, b)) FROM grid"),
      grid.sortBy { case (a, b) => z(a, b) }.zipWithIndex.map { case ((a, b), i) =>
        Row(4 * a + b, i + 1)
      })
    checkAnswer(
      sql("SELECT a, range_partition_id(row_number() OVER (ORDER BY id), 4) FROM grid"),
      grid.map { case (a, _) => Row(a, a) })
    checkAnswer(
      sql("SELECT DISTINCT count(*) OVER (PARTITION BY range_partition_id(id, 2)) FROM grid"),
      Row(8))
  }

  test("UNION, CTE, subqueries in FROM, and calls in calls", Slow) {
    checkAnswer(
      sql(
        "SELECT range_partition_id(a, 4) FROM grid UNION SELECT range_partition_id(k, 8) FROM small"),
      (0 to 7).map(Row(_)))
    checkAnswer(
      sql("""WITH c AS (SELECT a, b, rand(3) r FROM grid), d AS (SELECT a, zorder(a, b) z FROM c)
        |SELECT count(*), min(z) FROM d WHERE z = (SELECT min(zorder(a, b)) FROM c)""".stripMargin),
      Row(1, z(0, 0)))
    checkAnswer(
      sql(
        "SELECT range_partition_id(range_partition_id(a, 4), 4) FROM (SELECT DISTINCT a FROM grid)"),
      (0 to 3).map(Row(_)))
    checkAnswer(
      sql("SELECT count(*) FROM grid WHERE range_partition_id(a, 4) IN (SELECT v FROM small)"),
      Row(16))
    checkAnswer(
      sql("SELECT count(*) FROM grid WHERE a IN (SELECT range_partition_id(k, 2) FROM small)"),
      Row(8))
    checkAnswer(
      sql("SELECT (SELECT max(range_partition_id(k, 8)) FROM small) FROM grid LIMIT 1"),
      Row(7))
  }

  test("explode, lateral view and pivot") {
    checkAnswer(
      sql(
        "SELECT DISTINCT e FROM grid LATERAL VIEW explode(array(range_partition_id(a, 4))) t AS e"),
      (0 to 3).map(Row(_)))
    checkAnswer(
      sql("SELECT DISTINCT range_partition_id(e, 2) FROM grid LATERAL VIEW explode(array(1, 2)) t AS e"),
      (0 to 1).map(Row(_)))
  }

  test("temporary and permanent views") {
    withTempView("tv") {
      sql("CREATE TEMPORARY VIEW tv AS SELECT a, range_partition_id(a, 4) r FROM grid")
      checkAnswer(sql("SELECT DISTINCT a - r FROM tv"), Row(0))
    }
    withTable("stored") {
      withView("pv") {
        spark.table("grid").write.saveAsTable("stored")
        sql("CREATE VIEW pv AS SELECT a, b, zorder(a, b) z, range_partition_id(a, 4) r FROM stored")
        checkAnswer(
          sql("SELECT a, b, z FROM pv WHERE r = 2"),
          (0 to 3).map(b => Row(2, b, z(2, b))))
        checkAnswer(sql("SELECT count(*) FROM pv x JOIN pv y ON x.z = y.z"), Row(16))
      }
    }
  }

  test("cached frames, INSERT and CREATE TABLE AS", Slow) {
    val df = spark.table("grid").select(col("id"), F.zorder(col("a"), col("b")).as("z")).cache()
    try {
      assert(df.count() === 16)
      assert(df.where(col("z") === z(3, 3)).collect() === Array(Row(15L, z(3, 3))))
      assert(df.sort(F.range_partition_id(col("z"), 16)).count() === 16)
    } finally df.unpersist(blocking = true)
    withTable("t1", "t2") {
      sql(
        "CREATE TABLE t1 USING parquet AS SELECT id, zorder(a, b) z FROM grid ORDER BY zorder(a, b)")
      sql("CREATE TABLE t2 (id BIGINT, r INT) USING parquet")
      sql("INSERT INTO t2 SELECT id, range_partition_id(a, 4) FROM grid")
      sql("INSERT OVERWRITE t2 SELECT id, range_partition_id(r, 4) FROM (SELECT * FROM grid JOIN t1 USING (id)) g " +
        "LATERAL VIEW explode(array(a)) e AS r")
      checkAnswer(sql("SELECT max(z) FROM t1"), Row(z(3, 3)))
      checkAnswer(sql("SELECT r, count(*) FROM t2 GROUP BY r"), (0 to 3).map(Row(_, 4)))
    }
  }

  test("empty input, nulls, and one constant column") {
    checkAnswer(sql("SELECT zorder(a, b), range_partition_id(a) FROM grid WHERE a < 0"), Nil)
    checkAnswer(
      sql("SELECT zorder(x), range_partition_id(x) FROM VALUES (int(NULL)), (NULL) AS t(x)"),
      Seq(Row(0, 0), Row(0, 0)))
    checkAnswer(
      sql("SELECT DISTINCT zorder(a, 7) = zorder(a, 8) FROM grid"),
      Row(true))
    checkAnswer(
      sql("SELECT range_partition_id(x, 4) FROM VALUES (1), (NULL), (NULL), (2) AS t(x)"),
      Seq(Row(0), Row(0), Row(2), Row(3)))
  }

  test("filters above a projection, limits, samples, distinct and a column named as a function") {
    val df = sql("SELECT a, zorder(a, b) zorder FROM grid").where("zorder > 0").limit(5).distinct()
    assert(df.count() <= 5)
    assert(sql("SELECT zorder(a) FROM grid TABLESAMPLE (10 ROWS)").count() === 10)
  }

  test("values that differ each time they are computed are refused, not sampled") {
    for (call <- Seq("range_partition_id(rand(), 4)", "zorder(a, uuid())")) {
      val e = intercept[Exception](spark.table("grid").withColumn("r", expr(call)).collect())
      assert(e.getMessage.contains("ZORDER_SAMPLING_NOT_SUPPORTED"), e)
      assert(e.getMessage.contains("differ each time"), e)
    }
  }

  test("the range ids of a thousand rows hold about as many rows each, in order") {
    val df =
      spark.range(0, 100000, 1, 7).select(F.range_partition_id(col("id"), 10).as("r"), col("id"))
    val counts = df.groupBy("r").count().collect().map(r => r.getInt(0) -> r.getLong(1)).toMap
    assert(counts.keySet === (0 to 9).toSet)
    counts.values.foreach(n => assert(n > 9000 && n < 11000, counts))
    val first = df.collect()
    assert(ranks("r", df.sort("id")) === ranks("r", df.sort("id")).sorted)
    assert(df.collect() === first, "a second run gives the same ids")
  }

  test("EXPLAIN starts no job, and a query samples its input once for all calls") {
    withTempPath { path =>
      spark.table("grid").write.parquet(path.toString)
      spark.read.parquet(path.toString).createOrReplaceTempView("files")
      val query = "SELECT zorder(a, b), zorder(b, a, s), range_partition_id(id), " +
        "range_partition_id(a, 3) FROM files"
      val planned = JobCounter.count(spark) {
        sql(query).queryExecution.executedPlan
        sql("EXPLAIN EXTENDED " + query).collect()
      }
      assert(planned.jobs === 0)
      val ran = JobCounter.count(spark)(sql(query).collect())
      assert(ran.rowsRead === 32, "16 rows for the sample, 16 for the query")
    }
  }
}
