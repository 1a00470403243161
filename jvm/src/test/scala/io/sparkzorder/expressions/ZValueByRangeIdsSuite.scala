package io.sparkzorder.expressions

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.bits.ZValues

class ZValueByRangeIdsSuite extends SparkFunSuite with ExpressionEvalHelper {

  private def model(dataType: DataType, columns: Int, values: Any*): ColumnRangeIds =
    ColumnRangeIds.fromSample(
      dataType,
      values.toArray,
      null,
      0,
      ZValues.bitsPerColumn(columns),
      100)

  private def ref(i: Int, dataType: DataType, nullable: Boolean = true) =
    BoundReference(i, dataType, nullable)

  test("two columns, null in each place") {
    val ids = Array(
      model(IntegerType, 2, 1, 2, 3),
      model(StringType, 2, UTF8String.fromString("a"), UTF8String.fromString("b")))
    val z = ZValueByRangeIds(
      Seq(ref(0, IntegerType), ref(1, StringType)),
      Literal(0),
      Array(ids))
    assert(!z.nullable && z.deterministic && !z.foldable && z.dataType === LongType)
    for (n <- Seq[Any](null, 0, 1, 2, 9); s <- Seq(null, "", "a", "b", "c")) {
      val text = UTF8String.fromString(s)
      val expected = ZValues.interleave(Array(ids(0).idOf(n), ids(1).idOf(text)))
      checkEvaluation(z, expected, InternalRow(n, text))
    }
  }

  test("a folder chooses its own range ids; nested fields and non-null columns") {
    val struct = StructType.fromDDL("a INT, b DOUBLE")
    val z = ZValueByRangeIds(
      Seq(GetStructField(ref(0, struct), 1), ref(1, LongType, nullable = false)),
      ref(2, IntegerType, nullable = false),
      Array(
        Array(model(DoubleType, 2, 1.0, 2.0), model(LongType, 2, 5L)),
        Array(model(DoubleType, 2, -1.0), model(LongType, 2, 1L, 7L))))
    for (folder <- 0 to 1) {
      val row = InternalRow(InternalRow(3, 1.5d), 6L, folder)
      val ids = z.models(folder)
      checkEvaluation(z, ZValues.interleave(Array(ids(0).idOf(1.5d), ids(1).idOf(6L))), row)
    }
  }

  for (n <- Seq(1, 8, 9, 31, 63)) {
    test(s"$n columns of every kind") {
      val kinds = Seq[(DataType, Any)](
        (BooleanType, true),
        (ByteType, 1.toByte),
        (ShortType, 1.toShort),
        (DateType, 1),
        (FloatType, -1f),
        (DecimalType(10, 2), Decimal("12.50")),
        (DecimalType(38, 18), Decimal(BigDecimal("12.5"), 38, 18)),
        (BinaryType, Array[Byte](1, 2)),
        (TimestampNTZType, 1L))
      val (types, row) = Seq.tabulate(n)(i => kinds(i % kinds.length)).unzip
      val ids = types.zip(row).map { case (t, v) => model(t, n, v) }.toArray
      val z = ZValueByRangeIds(
        types.zipWithIndex.map { case (t, i) => ref(i, t) },
        Literal(0),
        Array(ids))
      val expected = ZValues.interleave(ids.zip(row).map { case (m, v) => m.idOf(v) })
      assert(expected > 0)
      checkEvaluation(z, expected, InternalRow.fromSeq(row))
      checkEvaluation(z, 0L, InternalRow.fromSeq(Seq.fill(n)(null)))
    }
  }

  test("equality, canonical form and text") {
    val ids = Array(Array(model(IntegerType, 1, 1)))
    val z = ZValueByRangeIds(Seq(ref(0, IntegerType)), Literal(0), ids)
    assert(z === z.copy() && z.semanticEquals(z.copy()))
    assert(z !== z.copy(models = Array(ids(0))))
    assert(z.toString === "z_value_by_range_ids(input[0, int, true])")
  }
}
