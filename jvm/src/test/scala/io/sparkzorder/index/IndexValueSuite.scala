// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.math.BigInteger
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{LogicalTypeAnnotation, Types}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs
import io.sparkzorder.bits.OrderedLongs

/** Bounds of footers become bounds of the index that hold every value between them. */
class IndexValueSuite extends AnyFunSuite with RandomInputs {
  private val n = IndexValue.MaxBytes

  private def text(s: String): Binary = Binary.fromString(s)

  private def strings(min: String, max: String): Option[(String, String)] =
    IndexValue.bounds(text(min), text(max), StringLeaf).map { case (a, b) =>
      (
        new String(a.asInstanceOf[Array[Byte]], UTF_8),
        new String(b.asInstanceOf[Array[Byte]], UTF_8))
    }

  private def compare(a: String, b: String): Int = {
    val bytes = a.getBytes(UTF_8)
    ByteValues.compare(bytes, 0, bytes.length, b.getBytes(UTF_8))
  }

  test("decimals that Spark cannot hold are not indexed") {
    def leaf(digits: Int): LeafType = LeafType.of(
      Types.required(FIXED_LEN_BYTE_ARRAY).length(32)
        .as(LogicalTypeAnnotation.decimalType(2, digits)).named("d"))
    assert(leaf(38) === DecimalLeaf(38, 2))
    assert(leaf(39) === OtherLeaf)
    assert(leaf(76) === OtherLeaf)
  }

  test("short strings stay as they are") {
    assert(strings("", "z") === Some("" -> "z"))
    assert(strings("a" * n, "b" * n) === Some("a" * n -> "b" * n))
  }

  test("long minima are cut, long maxima rounded up") {
    assert(strings("a" * (n + 1), "b" * (n + 1)) === Some("a" * n -> ("b" * (n - 1) + "c")))
    // cut between characters of several bytes
    assert(strings("a" * (n - 1) + "é", "b" * (n - 1) + "é").get ===
      ("a" * (n - 1) -> ("b" * (n - 2) + "c")))
  }

  test("a maximum that cannot be rounded up is unknown") {
    val last = new String(Character.toChars(0x10ffff))
    assert(strings("a", last * (n / 4 + 1)) === None)
    // the last character that can be raised is
    val Some((_, max)) = strings("a", "b" + last * (n / 4 + 1))
    assert(compare(max, "b" + last * (n / 4 + 1)) > 0 && max.startsWith("c"))
  }

  test("rounding passes over surrogates, which are no characters of UTF-8") {
    val Some((_, max)) = strings("a", "x" * (n - 3) + "\uD7FF" + "yyyy")
    assert(compare(max, "x" * (n - 3) + "\uD7FF" + "yyyy") > 0)
  }

  test("bounds of random strings hold every string between them") {
    withRandom { random =>
      val letters = Seq("a", "b", "~", "é", "漢", "\uD7FF", "\uFFFF", "\uD83D\uDE00", "\uDBFF\uDFFF")
      for (_ <- 1 to 500) {
        def draw() = Seq.fill(random.nextInt(1200))(letters(random.nextInt(letters.size))).mkString
        val common = draw()
        val two = Seq(common + draw(), common + draw()).sortWith(compare(_, _) < 0)
        strings(two.head, two.last).foreach { case (min, max) =>
          assert(compare(min, two.head) <= 0 && compare(max, two.last) >= 0)
          assert(min.getBytes(UTF_8).length <= n && max.getBytes(UTF_8).length <= n)
        }
      }
    }
  }

  test("binaries are cut by bytes") {
    def bytes(b: Int, n: Int) = Binary.fromConstantByteArray(Array.fill(n)(b.toByte))
    val Some((min, max)) = IndexValue.bounds(bytes(1, n + 6), bytes(2, n + 6), BinaryLeaf)
    assert(min.asInstanceOf[Array[Byte]].toSeq === Seq.fill(n)(1.toByte))
    assert(max.asInstanceOf[Array[Byte]].toSeq === Seq.fill(n - 1)(2.toByte) :+ 3.toByte)
    assert(IndexValue.bounds(bytes(1, 3), bytes(0xff, n + 6), BinaryLeaf) === None)
  }

  test("bytes that are no text are unknown as bounds of strings") {
    val broken = Binary.fromConstantByteArray(Array(0xc3.toByte, 0x28.toByte))
    assert(IndexValue.bounds(text("a"), broken, StringLeaf) === None)
  }

  test("NaN and bounds the wrong way round are unknown") {
    assert(IndexValue.bounds(Double.box(1), Double.box(Double.NaN), DoubleLeaf) === None)
    assert(IndexValue.bounds(Int.box(2), Int.box(1), IntegerLeaf(32)) === None)
    assert(IndexValue.bounds(Float.box(0.0f), Float.box(-0.0f), FloatLeaf) === Some(0L -> 0L))
  }

  test("decimals by their unscaled value, however files store them") {
    val d = DecimalLeaf(10, 2)
    val asInt = IndexValue.bounds(Int.box(-150), Int.box(150), d)
    val asBytes = IndexValue.bounds(
      Binary.fromConstantByteArray(BigInteger.valueOf(-150).toByteArray),
      Binary.fromConstantByteArray(Array.fill(8)(0.toByte) ++ BigInteger.valueOf(150).toByteArray),
      d)
    assert(asInt === Some(-150L -> 150L))
    assert(asBytes === asInt)
  }

  test("a decimal that needs more bits than the index has for its precision is unknown") {
    def bounds(max: Long, precision: Int) =
      IndexValue.bounds(Long.box(0), Long.box(max), DecimalLeaf(precision, 0))
    assert(bounds(Int.MaxValue.toLong, 9).isDefined)
    assert(bounds(Int.MaxValue + 1L, 9) === None)
    assert(bounds(Int.MaxValue + 1L, 10).isDefined)
    val bytes = Binary.fromConstantByteArray(BigInteger.ONE.shiftLeft(40).negate.toByteArray)
    assert(IndexValue.bounds(bytes, Int.box(0), DecimalLeaf(5, 2)) === None)
  }

  test("wide decimals are bytes in the order of the numbers") {
    withRandom { random =>
      val numbers = Seq.fill(300)(new BigInteger(random.nextInt(127), random.self))
        .flatMap(n => Seq(n, n.negate)).sorted
      val bytes = numbers.map(IndexValue.wide(_).get)
      bytes.zip(bytes.tail).zip(numbers.zip(numbers.tail)).foreach { case ((a, b), (m, n)) =>
        assert(math.signum(ByteValues.compare(a, 0, 16, b)) === m.compareTo(n))
      }
      assert(IndexValue.wide(BigInteger.ONE.shiftLeft(127)) === None)
    }
  }

  test("ordered longs of doubles come back") {
    val some =
      Seq(0.0, 1.5, -1.5, Double.MinValue, Double.MaxValue, Double.NegativeInfinity, 1e-300)
    some.foreach(d => assert(OrderedLongs.toDouble(OrderedLongs.ofDouble(d)) === d))
  }

  test("a file lacks a column only when no spelling of it is there") {
    val shape = LeafColumns(Seq(Seq("a"), Seq("S", "x"), Seq("l", "list", "element")))
    assert(shape.lacks(Seq("b")) && shape.lacks(Seq("s", "y")) && shape.lacks(Seq("t", "x")))
    assert(!shape.lacks(Seq("A")) && !shape.lacks(Seq("s", "X")) && !shape.lacks(Seq("s")))
    // another type is not a missing column
    assert(!shape.lacks(Seq("a", "b")))
    val twice = LeafColumns(Seq(Seq("a"), Seq("A"), Seq("s", "x"), Seq("S", "y"), Seq("z")))
    assert(twice.isAmbiguous(Seq("a")) && twice.isAmbiguous(Seq("s", "x")))
    assert(!twice.isAmbiguous(Seq("z")))
  }
}
