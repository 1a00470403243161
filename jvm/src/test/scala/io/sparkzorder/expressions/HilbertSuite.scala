// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, ExpressionEvalHelper, Literal}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types.LongType

import io.sparkzorder.{functions => F}
import io.sparkzorder.{JobCounter, RandomInputs, ZOrderSessionSuite}
import io.sparkzorder.bits.{HilbertCurve, ZValues}

/** `hilbert` in queries, and the expression that replaces it. */
class HilbertSuite extends ZOrderSessionSuite with ExpressionEvalHelper with RandomInputs {

  override def beforeAll(): Unit = {
    super.beforeAll()
    // the grid of 4 by 4
    spark.range(16).selectExpr("id", "int(id div 4) a", "id % 4 b", "string(id % 2) s")
      .repartition(2)
      .createOrReplaceTempView("grid")
  }

  /** The four values of a column have range ids in the middle of each quarter. */
  private def h(a: Long, b: Long): Long = {
    val ids = Seq(a, b).map(v => ((2 * v + 1) * (1 << 16) / 8).toInt)
    HilbertCurve.of(2).index(ZValues.interleave(ids.toArray))
  }

  private val grid = for (a <- 0 to 3; b <- 0 to 3) yield (a, b.toLong)

  private val walk = grid.sortBy { case (a, b) => h(a, b) }

  test("SELECT, also beside zorder of the same columns") {
    checkAnswer(
      sql("SELECT a, b, hilbert(a, b) FROM grid"),
      grid.map { case (a, b) => Row(a, b, h(a, b)) })
    val both = sql("SELECT zorder(a, b), hilbert(a, b) FROM grid").collect().toSeq
    both.foreach(r => assert(HilbertCurve.of(2).index(r.getLong(0)) === r.getLong(1)))
  }

  test("ORDER BY walks the grid by single steps") {
    val rows = sql("SELECT a, b FROM grid ORDER BY hilbert(a, b)").collect().toSeq
    assert(rows === walk.map { case (a, b) => Row(a, b) })
    for (Seq(p, q) <- walk.sliding(2)) {
      assert(math.abs(p._1 - q._1) + math.abs(p._2 - q._2) === 1)
    }
    val api = spark.table("grid").sort(F.hilbert(col("a"), col("b"))).select("a", "b")
    assert(api.collect().toSeq === rows)
  }

  test("WHERE, GROUP BY, windows, joins and repartitionByRange", Slow) {
    checkAnswer(
      sql("SELECT a, b FROM grid WHERE hilbert(a, b) < 1073741824"),
      grid.filter { case (a, b) => a < 2 && b < 2 }.map { case (a, b) => Row(a, b) })
    checkAnswer(
      sql("SELECT shiftright(hilbert(a, b), 30) q, count(*) FROM grid GROUP BY q"),
      (0 to 3).map(Row(_, 4)))
    checkAnswer(
      sql("SELECT a, b, row_number() OVER (ORDER BY hilbert(a, b)) FROM grid"),
      walk.zipWithIndex.map { case ((a, b), i) => Row(a, b, i + 1) })
    checkAnswer(
      sql("SELECT count(*) FROM grid x JOIN grid y ON hilbert(x.a, x.b) = hilbert(y.a, y.b)"),
      Row(16))
    val ranged = spark.table("grid").repartitionByRange(4, F.hilbert(col("a"), col("b")))
    val quadrants =
      ranged.selectExpr("spark_partition_id() p", "a div 2 qa", "b div 2 qb").distinct()
    assert(quadrants.count() === 4)
  }

  test("one column is zorder, and NULL") {
    checkAnswer(sql("SELECT count(*) FROM grid WHERE hilbert(s) = zorder(s)"), Row(16))
    checkAnswer(
      sql("SELECT hilbert(x, y) = 0 FROM VALUES (1, 2), (NULL, NULL), (3, 4) AS t(x, y)"),
      Seq(Row(true), Row(false), Row(false)))
  }

  test("NULL, empty and constant input", Slow) {
    checkAnswer(
      sql("SELECT hilbert(x, y) FROM VALUES (int(NULL), string(NULL)), (NULL, NULL) AS t(x, y)"),
      Seq(Row(0), Row(0)))
    checkAnswer(sql("SELECT hilbert(a, b) FROM grid WHERE a < 0"), Nil)
    checkAnswer(sql("SELECT DISTINCT hilbert(a, 7) = hilbert(a, 8) FROM grid"), Row(true))
  }

  test("zorder, hilbert and range_partition_id over one input share a sample; EXPLAIN draws none") {
    withTempPath { path =>
      spark.table("grid").write.parquet(path.toString)
      spark.read.parquet(path.toString).createOrReplaceTempView("files")
      val query =
        "SELECT zorder(a, b), hilbert(a, b), hilbert(b, a, s), range_partition_id(id) FROM files"
      assert(JobCounter.count(spark)(sql("EXPLAIN " + query).collect()).jobs === 0)
      val ran = JobCounter.count(spark)(sql(query).collect())
      assert(ran.rowsRead === 32, "16 rows for the sample, 16 for the query")
    }
  }

  for (n <- 1 to HilbertCurve.MaxColumns) {
    test(s"$n columns: interpreted, generated and the kernel give the same") {
      withRandom { random =>
        val z = BoundReference(0, LongType, nullable = false)
        val last = (1L << (n * ZValues.bitsPerColumn(n))) - 1
        for (v <- Seq(0L, last) ++ Seq.fill(5)(random.nextLong() & last)) {
          checkEvaluation(HilbertIndex(z, n), HilbertCurve.of(n).index(v), InternalRow(v))
          checkEvaluation(HilbertIndex(Literal(v), n), HilbertCurve.of(n).index(v))
        }
      }
      val columns = Seq("a", "b", "s", "id", "double(id)", "date(id)", "a", "s", "b").take(n)
      val text = columns.map(_.replace("date(id)", "date_add(DATE'2020-01-01', a)")).mkString(", ")
      val query = s"SELECT zorder($text), hilbert($text) FROM grid"
      for {
        wholeStage <- Seq("true", "false")
        factory <- Seq("CODEGEN_ONLY", "NO_CODEGEN")
      } withSQLConf(
        "spark.sql.codegen.wholeStage" -> wholeStage,
        "spark.sql.codegen.factoryMode" -> factory) {
        for (row <- sql(query).collect()) {
          assert(HilbertCurve.of(n).index(row.getLong(0)) === row.getLong(1))
        }
      }
    }
  }

  test("the expression's properties") {
    val index = HilbertIndex(BoundReference(0, LongType, nullable = false), 2)
    assert(!index.nullable && !index.foldable && index.deterministic && index.resolved)
    assert(index.semanticEquals(index.copy()) && !index.semanticEquals(index.copy(columns = 3)))
    assert(index.sql.startsWith("hilbert_index("))
  }
}
