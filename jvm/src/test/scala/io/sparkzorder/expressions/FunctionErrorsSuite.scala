// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.functions.{array, col, lit}

import io.sparkzorder.{functions => F}
import io.sparkzorder.{TestConditions, ZOrderSessionSuite}

/** Wrong calls of the functions fail during analysis; the tests compare error conditions. */
class FunctionErrorsSuite extends ZOrderSessionSuite {

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.range(4).selectExpr(
      "id",
      "array(id) arr",
      "struct(id) st",
      "map(id, id) m",
      "string(id) s")
      .createOrReplaceTempView("t")
  }

  private def check(query: String, condition: String, parts: String*): Unit = {
    val e = intercept[AnalysisException](sql(query))
    assert(TestConditions.of(e) === condition, s"for $query: ${e.getMessage}")
    parts.foreach(p => assert(e.getMessage.contains(p), query))
  }

  test("the number of arguments") {
    val count = "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"
    for (f <-
        Seq(
          "interleave_bits",
          "zorder",
          "hilbert",
          "zorder_by_value",
          "ordered_bits",
          "range_partition_id")) {
      check(s"SELECT $f()", count, s"`$f`")
    }
    check("SELECT ordered_bits(1, 2, 3)", count)
    check("SELECT range_partition_id(1, 2, 3)", count)
    check(s"SELECT zorder(${Seq.fill(64)("id").mkString(",")}) FROM t", count, "1 to 63", "64")
    check(s"SELECT hilbert(${Seq.fill(10)("id").mkString(",")}) FROM t", count, "1 to 9", "10")
  }

  test("types") {
    check(
      "SELECT interleave_bits(id, s) FROM t",
      "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
      "\"STRING\"")
    check("SELECT interleave_bits(1.5) FROM t", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE")
    check("SELECT interleave_bits(NULL) FROM t", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE")
    for (f <- Seq("ordered_bits", "range_partition_id", "zorder", "hilbert", "zorder_by_value")) {
      check(s"SELECT $f(arr) FROM t", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "ARRAY<BIGINT>")
      check(s"SELECT $f(st) FROM t", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE")
      check(s"SELECT $f(m) FROM t", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", s"`$f`")
      check(s"SELECT $f(make_interval(1)) FROM t", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE")
    }
  }

  test("the literal arguments") {
    check("SELECT ordered_bits(s, 0) FROM t", "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "[1, 64]")
    check("SELECT ordered_bits(s, 65) FROM t", "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE")
    check(
      "SELECT ordered_bits(s, int(id)) FROM t",
      "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
      "`bytes`")
    check("SELECT ordered_bits(s, int(NULL)) FROM t", "DATATYPE_MISMATCH.UNEXPECTED_NULL")
    check("SELECT range_partition_id(id, 0) FROM t", "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE")
    check(
      "SELECT range_partition_id(id, int(id)) FROM t",
      "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
      "`n`")
  }

  test("bounds") {
    def bounds(array: String, problem: String): Unit = {
      check(s"SELECT range_partition_id(id, $array) FROM t", "ZORDER_BOUNDS_INVALID", problem)
    }
    bounds("arr", "not a literal")
    bounds("array(id)", "not a literal")
    bounds("cast(NULL as array<int>)", "NULL")
    bounds("cast(array() as array<int>)", "empty")
    bounds("array(1, NULL, 3)", "element 2 is NULL")
    bounds("array(1, 3, 2)", "element 3")
    check(
      "SELECT range_partition_id(id, array('a')) FROM t",
      "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE")
  }

  private val notSupported = "ZORDER_SAMPLING_NOT_SUPPORTED"
  private val waysOut = Seq("range_partition_id(column, bounds)", "zorder_by_value")

  test("where nothing can be sampled") {
    for (f <- Seq("zorder", "hilbert", "range_partition_id")) {
      def no(query: String, where: String): Unit =
        check(query, notSupported, Seq(s"$f needs a sample", where) ++ waysOut: _*)
      no(s"SELECT transform(arr, x -> $f(x)) FROM t", "lambda")
      no(s"SELECT transform(arr, x -> x + $f(id)) FROM t", "lambda")
      no(s"SELECT * FROM t x JOIN t y ON $f(x.id + y.id) = 1", "both sides")
      no(s"SELECT (SELECT max($f(y.id + x.id)) FROM t y) FROM t x", "outer")
      no(s"SELECT (SELECT max($f(y.id)) FROM t y WHERE y.id = x.id) FROM t x", "outer")
      no(s"SELECT * FROM t x, LATERAL (SELECT $f(x.id) z)", "outer")
    }
  }

  test("a stream; what needs no sample works there") {
    val stream = spark.readStream.format("rate").load()
    val e = intercept[AnalysisException](stream.select(F.zorder(col("value"))))
    assert(TestConditions.of(e) === notSupported)
    assert(e.getMessage.contains("on a stream"))
    val ids = stream.select(
      F.range_partition_id(col("value"), array(lit(1), lit(2))),
      F.zorder_by_value(col("value")),
      F.ordered_bits(col("value")))
    assert(ids.isStreaming && ids.columns.length === 3)
  }

  test("bounds and values in a lambda, over outer columns and in a join condition") {
    assert(
      sql("SELECT transform(arr, x -> range_partition_id(x, array(1, 2))) FROM t").count() === 4)
    assert(sql("SELECT * FROM t x, LATERAL (SELECT zorder_by_value(x.id) z)").count() === 4)
    assert(sql(
      "SELECT * FROM t x JOIN t y ON range_partition_id(x.id + y.id, array(2)) = 1").count() === 10)
  }

  test("spark.zorder.enabled off: what needs no sample works, the rest says why it does not") {
    withSQLConf("spark.zorder.enabled" -> "false") {
      assert(sql(
        "SELECT hex(zorder_by_value(id)), range_partition_id(id, array(2)) FROM t").count() === 4)
      val e = intercept[AnalysisException](sql("SELECT zorder(id) FROM t").collect())
      assert(TestConditions.of(e) === notSupported && e.getMessage.contains("spark.zorder.enabled"))
    }
  }
}
