// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.sparkzorder.RandomInputs
import io.sparkzorder.ordering.ValuesOfTypes

/**
 * Calls with many columns, with a null in each position, and the properties that the planner uses.
 */
class WideFunctionsSuite extends SparkFunSuite with ExpressionEvalHelper with RandomInputs {

  private val integral = Seq(ByteType, ShortType, IntegerType, LongType, BinaryType)

  /** Bits of a value as '0' and '1', most significant first. */
  private def bits(dataType: DataType, value: Any): String = (dataType, value) match {
    case (BinaryType, null) => ""
    case (t, null) => "0" * (8 * t.defaultSize)
    case (_, v: Array[Byte]) => v.map(b => binary(b.toLong, 8)).mkString
    case (t, v) => binary(v.toString.toLong, 8 * t.defaultSize)
  }

  private def binary(v: Long, n: Int): String = (n - 1 to 0 by -1).map(k => (v >> k) & 1).mkString

  private def oracle(columns: Seq[String]): Array[Byte] = {
    val deepest = columns.map(_.length).max
    val all = (0 until deepest).flatMap(k => columns.filter(_.length > k).map(_.charAt(k))).mkString
    all.grouped(8).map(Integer.parseInt(_, 2).toByte).toArray
  }

  private def draw(dataType: DataType, random: scala.util.Random): Any = dataType match {
    case ByteType => random.nextInt().toByte
    case ShortType => random.nextInt().toShort
    case IntegerType => random.nextInt()
    case LongType => random.nextLong()
    case BinaryType => random.nextString(2).getBytes("UTF-8")
  }

  for (n <- Seq(1, 2, 3, 8, 9, 31, 63, 200)) {
    test(s"interleave_bits of $n columns agrees with the definition") {
      withRandom { random =>
        val types = Seq.tabulate(n)(_ => integral(random.nextInt(integral.length)))
        val expression = InterleaveBits(types.zipWithIndex.map { case (t, i) =>
          BoundReference(i, t, nullable = true)
        })
        for (_ <- 1 to 3) {
          val row = types.map(t => if (random.nextInt(5) == 0) null else draw(t, random))
          val expected = oracle(types.zip(row).map { case (t, v) => bits(t, v) })
          checkEvaluation(expression, expected, InternalRow.fromSeq(row))
        }
      }
    }

    test(s"zorder_by_value of $n columns is interleave_bits of ordered_bits") {
      withRandom { random =>
        val types = Seq.tabulate(n)(i => ValuesOfTypes.types(i % ValuesOfTypes.types.length))
        val refs = types.zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) }
        val row = InternalRow.fromSeq(types.map { t =>
          val values = ValuesOfTypes.values(t, random)
          if (random.nextInt(5) == 0) null else values(random.nextInt(values.length))
        })
        val expected = InterleaveBits(refs.map(new OrderedBits(_))).eval(row)
        checkEvaluation(ZOrderByValue(refs), expected, row)
      }
    }
  }

  test("a null in each place of interleave_bits") {
    for (t <- Seq(ByteType, ShortType, IntegerType, LongType); place <- 0 to 2) {
      val values = Seq.tabulate(3)(i => if (i == place) null else draw(t, new scala.util.Random(7)))
      val literals = values.map(Literal(_, t))
      checkEvaluation(InterleaveBits(literals), oracle(values.map(bits(t, _))))
    }
  }

  test("the text of interleave_bits, and equal expressions are equal") {
    val a = AttributeReference("a", IntegerType)()
    val all = Seq(
      InterleaveBits(Seq(a, a)),
      new OrderedBits(a),
      ZOrderByValue(Seq(a)),
      ZOrder(Seq(a)),
      Hilbert(Seq(a)),
      new RangePartitionId(a))
    assert(all.map(_.sql.replace("(a, a)", "(a)")) === Seq(
      "interleave_bits(a)",
      "ordered_bits(a, 8)",
      "zorder_by_value(a)",
      "zorder(a)",
      "hilbert(a)",
      "range_partition_id(a, 1024)"))
    for (e <- all) {
      assert(!e.nullable && e.resolved && e.deterministic && !e.foldable)
      val again = e.withNewChildren(e.children)
      assert(e.semanticEquals(again) && e.canonicalized.hashCode === again.canonicalized.hashCode)
      assert(e.references.toSeq === Seq(a))
    }
    assert(InterleaveBits(Seq(Literal(1))).foldable && ZOrderByValue(Seq(Literal(1))).foldable)
    assert(!ZOrder(Seq(Literal(1))).foldable && !Hilbert(Seq(Literal(1))).foldable)
  }
}
