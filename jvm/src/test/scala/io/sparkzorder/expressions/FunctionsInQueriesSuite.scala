// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.{array, col, lit}

import io.sparkzorder.{functions => F}
import io.sparkzorder.ZOrderSessionSuite

/**
 * Whole-stage code, generated code and interpretation give the same results for rows of every type.
 */
class FunctionsInQueriesSuite extends ZOrderSessionSuite {

  private val columns = Seq(
    "bool" -> "id % 3 = 0",
    "byte" -> "cast(id - 6 as tinyint)",
    "short" -> "cast(id - 6 as smallint)",
    "int" -> "cast(id - 6 as int)",
    "long" -> "(id - 6) * 1000000007",
    "float" -> "cast((id - 6) / 3 as float)",
    "double" -> "cast((id - 6) / 3 as double)",
    "small" -> "cast((id - 6) / 3 as decimal(5, 2))",
    "wide" -> "cast((id - 6) / 3 as decimal(38, 18))",
    "day" -> "date_add(DATE'1582-10-10', int(id))",
    "ts" -> "timestamp_micros(id - 6)",
    "ntz" -> "cast(timestamp_micros(id - 6) as timestamp_ntz)",
    "dt" -> "make_dt_interval(0, 0, 0, id - 6)",
    "ym" -> "make_ym_interval(0, int(id - 6))",
    "str" -> "repeat('ab', int(id))",
    "bin" -> "unhex(hex(id))")

  override def beforeAll(): Unit = {
    super.beforeAll()
    // a row of nulls, and rows with a null in one column each
    val exprs = columns.zipWithIndex.map { case ((name, e), i) =>
      s"CASE WHEN id NOT IN (12, $i) THEN $e END AS `$name`"
    }
    spark.range(0, 17, 1, 2).selectExpr("id" +: exprs: _*).createOrReplaceTempView("types")
  }

  private val modes = for {
    wholeStage <- Seq("true", "false")
    factory <- Seq("CODEGEN_ONLY", "NO_CODEGEN")
  } yield Seq(
    "spark.sql.codegen.wholeStage" -> wholeStage,
    "spark.sql.codegen.factoryMode" -> factory)

  private def inAllModes(query: => DataFrame): Unit = inModes(modes)(query)

  private def inModes(some: Seq[Seq[(String, String)]])(query: => DataFrame): Unit = {
    val results = some.map(m => inConf(m: _*)(query.collect().map(_.toString).sorted.toSeq))
    results.tail.foreach(r => assert(r === results.head))
    assert(results.head.nonEmpty)
  }

  private def functionsOf(c: String): Seq[String] = Seq(
    s"hex(ordered_bits(`$c`))",
    s"hex(zorder_by_value(`$c`))",
    s"range_partition_id(`$c`, 100)",
    s"zorder(`$c`)")

  test("every type in two modes") {
    // each type with two functions
    val each = columns.map(_._1).zipWithIndex.flatMap { case (c, i) =>
      functionsOf(c).zipWithIndex.collect { case (f, n) if n % 2 == i % 2 => f }
    }
    inModes(Seq(modes.head, modes.last))(sql(s"SELECT id, ${each.mkString(", ")} FROM types"))
  }

  test("every type in every mode", Slow) {
    val each = columns.map(_._1).flatMap(functionsOf)
    inAllModes(sql(s"SELECT id, ${each.mkString(", ")} FROM types"))
  }

  test("many columns in every mode", Slow) {
    def some(n: Int, of: Seq[String]) =
      Seq.tabulate(n)(i => s"`${of(i % of.length)}`").mkString(", ")
    val integral = Seq("byte", "short", "int", "long", "bin")
    for (n <- Seq(2, 9, 31, 63)) {
      inAllModes(sql(s"SELECT zorder(${some(n, columns.map(_._1))}) FROM types"))
    }
    inAllModes(sql(s"SELECT hex(interleave_bits(${some(200, integral)})) FROM types"))
    inAllModes(sql(s"SELECT hex(zorder_by_value(${some(63, columns.map(_._1))})) FROM types"))
  }

  test("one column sorts as the column does, whatever the type", Slow) {
    val all = columns.map(_._1)
    val keys = all.map(c => s"zorder(`$c`) `z_$c`, ordered_bits(`$c`, 64) `o_$c`").mkString(", ")
    // one row with a list for each column: its values, sorted by a key and then by the value
    def lists(key: String => String) = all.map(c =>
      s"transform(array_sort(collect_list(struct(${key(c)} k, `$c` v))), x -> string(x.v)) `$c`")
    def row(key: String => String) =
      sql(s"SELECT ${lists(key).mkString(", ")} FROM (SELECT *, $keys FROM types)").collect().toSeq
    val expected = row(c => s"`$c`").map(_.toString)
    assert(row(c => s"`z_$c`").map(_.toString) === expected)
    assert(row(c => s"`o_$c`").map(_.toString) === expected)
  }

  test("timestamps do not depend on the session's zone") {
    val query = "SELECT id, hex(ordered_bits(ts)), zorder(ts), range_partition_id(ts, 100), " +
      "hex(ordered_bits(ntz)), hex(ordered_bits(day)) FROM types"
    val zones = Seq("UTC", "America/Los_Angeles", "Asia/Kathmandu").map { zone =>
      inConf("spark.sql.session.timeZone" -> zone)(sql(query).collect().toSeq)
    }
    assert(zones.distinct.size === 1)
  }

  test("a null INT is not -1: Delta's PartitionerExpr under generated code") {
    withSQLConf(modes.head: _*) {
      checkAnswer(
        sql("SELECT x, range_partition_id(x, array(-5, -2, 0)), range_partition_id(x, 4) " +
          "FROM VALUES (-1), (int(NULL)), (-9), (-3) t(x)"),
        Seq(Row(-1, 2, 3), Row(null, 0, 0), Row(-9, 0, 1), Row(-3, 1, 2)))
    }
  }

  test("bounds: casts to a common type, equal bounds, literal arrays of any making") {
    checkAnswer(
      sql(
        "SELECT range_partition_id(2.5, array(1, 2, 3)), range_partition_id(2, array(1.5, 2.5)), " +
          "range_partition_id(5, array(3, 3, 3)), range_partition_id(3, array(3, 3)), " +
          "range_partition_id('b', split('a,b,c', ',')), range_partition_id(7, sequence(0, 9))"),
      Row(2, 1, 3, 0, 1, 7))
    checkAnswer(
      sql(
        "SELECT range_partition_id(DATE'2020-06-01', array(DATE'2020-01-01', DATE'2021-01-01')), " +
          "range_partition_id(double('NaN'), array(0d)), range_partition_id(NULL, array(1))"),
      Row(1, 1, 0))
    checkAnswer(
      sql("SELECT id, range_partition_id(id, array(3, 14)) FROM types WHERE range_partition_id(id, array(3, 14)) > 1"),
      Seq(Row(15, 2), Row(16, 2)))
  }

  test("the API has every function") {
    val df = spark.range(1).select(
      F.interleave_bits(lit(0), lit(99), lit(50)),
      F.ordered_bits(lit(-1)),
      F.ordered_bits(lit("ab"), 3),
      F.range_partition_id(lit(15), array(lit(10), lit(20))),
      F.zorder_by_value(lit(-1)),
      F.zorder(col("id")),
      F.hilbert(col("id")),
      F.range_partition_id(col("id")),
      F.range_partition_id(col("id"), 4))
    val row = df.collect().head
    val hex = (0 to 4).map(row.get).map {
      case b: Array[Byte] => b.map(x => f"$x%02x").mkString
      case other => other
    }
    assert(hex === Seq[Any]("00000000000000000009901a", "7fffffff", "616200", 1, "7fffffff"))
    assert(row.toSeq.drop(5) === Seq(32768L, 32768L, 512, 2))
  }

  test("char and varchar columns, and views of expressions with aliases") {
    withTable("cv") {
      sql("CREATE TABLE cv (c CHAR(3), v VARCHAR(5)) USING parquet")
      sql("INSERT INTO cv VALUES ('a', 'x'), ('b', 'yy')")
      checkAnswer(
        sql("SELECT hex(ordered_bits(c)), hex(ordered_bits(v)), range_partition_id(v, 2), zorder(c) FROM cv"),
        Seq(
          Row("6120200000000000", "7800000000000000", 0, 16384),
          Row("6220200000000000", "7979000000000000", 1, 49152)))
    }
  }
}
