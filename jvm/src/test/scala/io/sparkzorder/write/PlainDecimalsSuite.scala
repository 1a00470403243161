package io.sparkzorder.write

import org.apache.parquet.schema.MessageTypeParser

import org.apache.spark.sql.types._

import io.sparkzorder.commands.OptimizeTestBase

/** Decimals that are written as the integers they are stored as. */
class PlainDecimalsSuite extends OptimizeTestBase {

  test("only decimals of at most 18 digits that the file stores in integers are taken so") {
    val schema = StructType.fromDDL("a DECIMAL(9,2), b DECIMAL(18,6), c DECIMAL(18,6), " +
      "d DECIMAL(38,2), e STRUCT<f: DECIMAL(9,2)>, g INT, h DECIMAL(9,2)")
    val file = MessageTypeParser.parseMessageType("""message m {
      optional int32 a (DECIMAL(9,2)); optional int64 b (DECIMAL(18,6));
      optional fixed_len_byte_array(8) c (DECIMAL(18,6));
      optional fixed_len_byte_array(16) d (DECIMAL(38,2));
      optional group e { optional int32 f (DECIMAL(9,2)); }
      optional int32 g; optional int64 h (DECIMAL(9,2)); }""")
    assert(PlainDecimals.in(schema, file).map(_.dataType) === Seq(
      IntegerType,
      LongType,
      schema("c").dataType,
      schema("d").dataType,
      schema("e").dataType,
      IntegerType,
      LongType))
    assert(PlainDecimals.in(schema, file).fieldNames === schema.fieldNames)
  }

  test("every decimal comes back: extremes, negative ones, NULL, and Spark's own schema") {
    withTableDir { dir =>
      val ends = Seq(1 -> 0, 5 -> 2, 9 -> 0, 9 -> 9, 10 -> 2, 18 -> 0, 18 -> 18, 19 -> 2, 38 -> 18)
      val columns = ends.map { case (p, s) =>
        val most = "9" * (p - s) + (if (s == 0) "" else "." + "9" * s)
        s"""CAST(CASE pmod(id, 7) WHEN 0 THEN '$most' WHEN 1 THEN '-$most' WHEN 2 THEN NULL
          |WHEN 3 THEN '0' WHEN 4 THEN '-${"0." + "0" * math.max(0, s - 1) + "1"}'
          |ELSE concat('-0.', pmod(hash(id, $p), 10)) END AS DECIMAL($p, $s)) d${p}_$s"""
          .stripMargin
      }
      write(spark.range(0, 500, 1, 4).selectExpr("id" +: columns: _*), dir)
      val before = read(dir)
      val schema = before.schema
      val rows = before.collect().map(_.toString).sorted.toSeq
      assert(rows.size === 500)
      // checks itself that the rows are the same multiset
      optimize(s"OPTIMIZE '$dir' ZORDER BY (id, d9_0, d18_18)", dir)(read(dir))
      assert(read(dir).schema === schema)
      assert(read(dir).collect().map(_.toString).sorted.toSeq === rows)
    }
  }
}
