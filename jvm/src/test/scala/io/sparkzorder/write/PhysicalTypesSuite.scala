// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.math.BigInteger
import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable.ArrayBuffer

import org.apache.parquet.io.api.{Binary, RecordConsumer}
import org.apache.parquet.schema.{MessageType, MessageTypeParser}
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.util.DateTimeUtils

import io.sparkzorder.RandomInputs

class PhysicalTypesSuite extends AnyFunSuite with RandomInputs {

  private final class Recorder extends RecordConsumer {
    val values: ArrayBuffer[Any] = ArrayBuffer.empty
    override def startMessage(): Unit = values += "startMessage"
    override def endMessage(): Unit = values += "endMessage"
    override def startField(field: String, index: Int): Unit = values += s"start $field"
    override def endField(field: String, index: Int): Unit = values += s"end $field"
    override def startGroup(): Unit = values += "startGroup"
    override def endGroup(): Unit = values += "endGroup"
    override def addInteger(value: Int): Unit = values += value
    override def addLong(value: Long): Unit = values += value
    override def addBoolean(value: Boolean): Unit = values += value
    override def addBinary(value: Binary): Unit = values += value.getBytes.toSeq
    override def addFloat(value: Float): Unit = values += value
    override def addDouble(value: Double): Unit = values += value
  }

  private def schema(fields: String): MessageType =
    MessageTypeParser.parseMessageType(s"message m { $fields }")

  /** What arrives in the file for a value that Spark's writer gives to the one column. */
  private def written(target: String, spark: String)(write: RecordConsumer => Unit): Any = {
    val (t, s) = (schema(target), schema(spark))
    assert(PhysicalTypes.needed(t, s))
    val out = new Recorder
    val c = new PhysicalTypes(out, t, s)
    c.startMessage()
    c.startField("c", 0)
    write(c)
    c.endField("c", 0)
    c.endMessage()
    out.values.filterNot(_.isInstanceOf[String]).head
  }

  private def unscaled(v: Any) = new BigInteger(v.asInstanceOf[Seq[Byte]].toArray)

  private val longs: Seq[Long] = Seq(0L, 1, -1, 127, 128, -128, -129, 255, 256, 999999999999999999L,
    -999999999999999999L)

  test("decimals in byte arrays and wider integers come back as they were") {
    withRandom { random =>
      val values = longs ++ Seq.fill(200)(random.nextLong() % 1000000000000000000L)
      for (v <- values) {
        val flba = written(
          "optional fixed_len_byte_array(9) c (DECIMAL(18,2));",
          "optional int64 c (DECIMAL(18,2));")(_.addLong(v))
        assert(unscaled(flba) === BigInteger.valueOf(v) && flba.asInstanceOf[Seq[_]].size === 9)
        val binary = written(
          "optional binary c (DECIMAL(18,2));",
          "optional int64 c (DECIMAL(18,2));")(_.addLong(v))
        assert(unscaled(binary) === BigInteger.valueOf(v))
        val i = (v % 1000000000L).toInt
        assert(written("optional int64 c (DECIMAL(9,2));", "optional int32 c (DECIMAL(9,2));")(
          _.addInteger(i)) === i.toLong)
        assert(written("optional int32 c (DECIMAL(9,2));", "optional int64 c (DECIMAL(18,2));")(
          _.addLong(i.toLong)) === i)
        assert(unscaled(written(
          "optional fixed_len_byte_array(4) c (DECIMAL(9,2));",
          "optional int32 c (DECIMAL(9,2));")(_.addInteger(i))) === BigInteger.valueOf(i.toLong))
        val wide = BigInteger.valueOf(v).multiply(BigInteger.valueOf(v))
        val sixteen = PhysicalTypes.resized(wide.toByteArray, 16)
        for (target <- Seq(
            "optional fixed_len_byte_array(17) c (DECIMAL(38,2));",
            "optional binary c (DECIMAL(38,2));")) {
          assert(unscaled(written(
            target,
            "optional fixed_len_byte_array(16) c (DECIMAL(38,2));")(_.addBinary(sixteen))) === wide)
        }
      }
    }
  }

  test("a number that does not fit is an error, never a wrong number") {
    intercept[IllegalArgumentException](written(
      "optional fixed_len_byte_array(2) c (DECIMAL(4,0));",
      "optional int32 c (DECIMAL(9,0));")(_.addInteger(40000)))
    intercept[ArithmeticException](written(
      "optional int32 c (DECIMAL(9,0));",
      "optional int64 c (DECIMAL(18,0));")(_.addLong(1L << 40)))
  }

  test("timestamps in milliseconds and INT96") {
    withRandom { random =>
      val millis = Seq(0L, 1, -1, -62135596800000L, 253402300799999L) ++
        Seq.fill(200)(random.nextLong() % 100000000000000L)
      for (ms <- millis) {
        assert(written(
          "optional int64 c (TIMESTAMP(MILLIS,true));",
          "optional int64 c (TIMESTAMP(MICROS,true));")(_.addLong(ms * 1000)) === ms)
        val micros = ms * 1000 + 7
        val bytes = written("optional int96 c;", "optional int64 c (TIMESTAMP(MICROS,true));")(
          _.addLong(micros)).asInstanceOf[Seq[Byte]].toArray
        val b = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
        val nanos = b.getLong
        assert(bytes.length === 12 && nanos >= 0 && nanos < 86400000000000L)
        assert(DateTimeUtils.fromJulianDay(b.getInt, nanos) === micros)
      }
    }
  }

  test("a number that the file calls a timestamp is copied as it is") {
    val target = schema("optional int64 c (TIMESTAMP(MILLIS,true));")
    // as Spark writes BIGINT and intervals
    assert(!PhysicalTypes.needed(target, schema("optional int64 c;")))
    assert(!PhysicalTypes.needed(target, schema("optional int64 c (INTEGER(64,true));")))
    intercept[IllegalStateException](
      PhysicalTypes.needed(schema("optional int96 c;"), schema("optional int64 c;")))
  }

  test("structs, lists and maps: each leaf has its own conversion, all else goes through") {
    val shape = (dec: String, ts: String) =>
      s"""optional group s { optional binary t (UTF8); optional $dec d (DECIMAL(5,1));
        |  optional group l (LIST) { repeated group list { optional $ts element } } }
        |optional double x;""".stripMargin
    val target = schema(shape("binary", "int96").replace("element }", "element; }"))
    val spark = schema(
      shape("int32", "int64").replace("element }", "element (TIMESTAMP(MICROS,true)); }"))
    assert(PhysicalTypes.needed(target, spark))
    assert(!PhysicalTypes.needed(spark, spark))
    val out = new Recorder
    val c = new PhysicalTypes(out, target, spark)
    c.startMessage()
    c.startField("s", 0)
    c.startGroup()
    c.startField("t", 0)
    c.addBinary(Binary.fromString("x"))
    c.endField("t", 0)
    c.startField("l", 2)
    c.startGroup()
    c.startField("list", 0)
    c.startGroup()
    c.startField("element", 0)
    c.addLong(0L)
    c.endField("element", 0)
    c.endGroup()
    c.endField("list", 0)
    c.endGroup()
    c.endField("l", 2)
    c.startField("d", 1)
    c.addInteger(-5)
    c.endField("d", 1)
    c.endGroup()
    c.endField("s", 0)
    c.startField("x", 1)
    c.addDouble(1.5)
    c.endField("x", 1)
    c.endMessage()
    val leaves = out.values.filterNot(_.isInstanceOf[String])
    assert(leaves.head === "x".getBytes.toSeq)
    assert(leaves(1).asInstanceOf[Seq[_]].size === 12)
    assert(unscaled(leaves(2)) === BigInteger.valueOf(-5))
    assert(leaves(3) === 1.5)
    assert(out.values.count(_ == "startGroup") === out.values.count(_ == "endGroup"))
  }

  test("shapes and types that do not fit are errors") {
    intercept[IllegalStateException](
      PhysicalTypes.needed(schema("optional double c;"), schema("optional int32 c;")))
    intercept[IllegalStateException](PhysicalTypes.needed(
      schema("optional double c;"),
      schema("optional group c { optional int32 x; }")))
  }

  test("a schema travels as bytes, whatever the names") {
    val m = MessageTypeParser.parseMessageType(
      "message m { required int32 a = 7; optional binary b (UTF8) = 9; }")
    val types = m.getFields
    val odd = new MessageType("spark schema", types.get(0), types.get(1))
    assert(SerializedSchema(odd).toMessageType === odd)
    assert(SerializedSchema(odd).toMessageType.getType(0).getId.intValue === 7)
  }
}
