// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.security.MessageDigest

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.expressions.{ExpressionEvalHelper, Literal}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

/**
 * Test vectors that every implementation of the functions must pass. An independent program made
 * them. `SHA256SUMS` in their directory has their checksums. After replacing the vectors, run
 * `sha256sum *.json > SHA256SUMS` there.
 */
class FunctionVectorsSuite extends SparkFunSuite with ExpressionEvalHelper {

  private def resource(name: String): Array[Byte] = {
    val found = getClass.getResource(s"/vectors/$name")
    assert(found != null, s"$name is not among the test resources")
    Files.readAllBytes(Paths.get(found.toURI))
  }

  private def vectors(name: String): Seq[JsonNode] = {
    val all = new ObjectMapper().readTree(resource(s"$name.json")).elements().asScala.toSeq
    assert(all.nonEmpty, name)
    all
  }

  test("the vectors have the checksums that are stated beside them") {
    val stated = new String(resource("SHA256SUMS"), UTF_8).split("\n").map { line =>
      val Array(checksum, file) = line.split(" +")
      file -> checksum
    }
    assert(stated.map(_._1).toSet === Set("interleave_bits.json", "ordered_bits.json"))
    for ((file, checksum) <- stated) {
      val digest = MessageDigest.getInstance("SHA-256").digest(resource(file))
      assert(digest.map(b => f"$b%02x").mkString === checksum, file)
    }
  }

  private def literal(ddl: String, value: JsonNode): Literal = {
    val dataType = DataType.fromDDL(ddl)
    val parsed: Any =
      if (value.isNull) null
      else
        dataType match {
          case ByteType => value.asInt.toByte
          case ShortType => value.asInt.toShort
          case IntegerType => value.asInt
          case LongType => value.asLong
          case FloatType => number(value.asText).toFloat
          case DoubleType => number(value.asText)
          case BooleanType => value.asBoolean
          case d: DecimalType => Decimal(BigDecimal(value.asText), d.precision, d.scale)
          case StringType => UTF8String.fromString(value.asText)
          case BinaryType => bytes(value.asText)
        }
    Literal(parsed, dataType)
  }

  private def number(text: String): Double = text match {
    case "inf" => Double.PositiveInfinity
    case "-inf" => Double.NegativeInfinity
    case "nan" => Double.NaN
    case other => other.toDouble
  }

  private def bytes(hex: String): Array[Byte] =
    hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray

  test("interleave_bits") {
    for (v <- vectors("interleave_bits")) withClue(v) {
      val types = v.get("types").elements().asScala.map(_.asText).toSeq
      val values = v.get("values").elements().asScala.toSeq
      val columns = types.zip(values).map { case (t, value) => literal(t, value) }
      checkEvaluation(InterleaveBits(columns), bytes(v.get("expected").asText))
    }
  }

  for ((what, every, tags) <- Seq(("some", 8, Nil), ("each", 1, Seq(Slow)))) test(
    s"ordered_bits, and zorder_by_value of one column; generated code of $what of the vectors",
    tags: _*) {
    for ((v, i) <- vectors("ordered_bits").zipWithIndex) withClue(v) {
      val column = literal(v.get("type").asText, v.get("value"))
      val expected = bytes(v.get("expected").asText)
      if (i % every == 0) {
        checkEvaluation(new OrderedBits(column), expected)
        checkEvaluation(ZOrderByValue(Seq(column)), expected)
      }
      assert(ByteArray.compareBinary(OrderedBits.of(column.dataType, column.value), expected) === 0)
    }
  }
}
