package io.sparkzorder.expressions

import java.nio.file.{Files, Paths}

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.expressions.{ExpressionEvalHelper, Literal}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The vectors that every implementation of these functions has to pass: a copy of those that an
 * independent oracle made, which lie beside the repository where the project is developed.
 */
class FunctionVectorsSuite extends SparkFunSuite with ExpressionEvalHelper {

  private def vectors(name: String): Seq[JsonNode] = {
    val copy = getClass.getResource(s"/vectors/$name.json")
    assert(copy != null, s"the vectors $name are not among the test resources")
    // the form that takes an URL is deprecated in the Jackson of Spark 4.1
    val in = copy.openStream()
    val all =
      try new ObjectMapper().readTree(in).elements().asScala.toSeq
      finally in.close()
    assert(all.nonEmpty, name)
    all
  }

  test("the copies of the vectors are the oracle's") {
    for (name <- Seq("interleave_bits", "ordered_bits")) {
      val original = Paths.get("..", "shared", "vectors", s"$name.json").toAbsolutePath.normalize
      assume(Files.exists(original), s"$original lies only where the project is developed")
      val copy = Paths.get("jvm", "src", "test", "resources", "vectors", s"$name.json")
      assert(Files.readAllBytes(copy).sameElements(Files.readAllBytes(original)), name)
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

  /**
   * The file has for this value the bits of -1e20, which is its rounding to 28 digits and does not even
   * fit DECIMAL(38,18). The exact value is one unit higher; with the file's bits it would not be.
   */
  private val corrected =
    Map("-99999999999999999999.999999999999999999" -> "34c4b357a5793b85f675ddc000000001")

  test("interleave_bits") {
    for (v <- vectors("interleave_bits")) withClue(v) {
      val types = v.get("types").elements().asScala.map(_.asText).toSeq
      val values = v.get("values").elements().asScala.toSeq
      val columns = types.zip(values).map { case (t, value) => literal(t, value) }
      checkEvaluation(InterleaveBits(columns), bytes(v.get("expected").asText))
    }
  }

  test("ordered_bits, and zorder_by_value of one column") {
    for (v <- vectors("ordered_bits")) withClue(v) {
      val column = literal(v.get("type").asText, v.get("value"))
      val expected = bytes(corrected.getOrElse(v.get("value").asText, v.get("expected").asText))
      checkEvaluation(new OrderedBits(column), expected)
      checkEvaluation(ZOrderByValue(Seq(column)), expected)
      assert(OrderedBits.compare(OrderedBits.of(column.dataType, column.value), expected) === 0)
    }
  }
}
