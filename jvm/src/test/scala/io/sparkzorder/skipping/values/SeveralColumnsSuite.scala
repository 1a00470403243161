// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.time.{LocalDateTime, ZoneOffset}

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.skipping.SkippingTestBase
import io.sparkzorder.skipping.values.Extent.Between

/** What is known of an expression where each of its columns lies between two values, against Spark itself. */
class SeveralColumnsSuite extends SkippingTestBase {

  /** Expressions of several columns, with a range of values for each column in which little overflows. */
  private val ofSeveral: Seq[(String, Seq[(DataType, Seq[Any])])] = {
    val ints = (IntegerType, Seq[Any](Int.MinValue, -1000, -7, -1, 0, 1, 3, 8, 1000, Int.MaxValue))
    val longs = (LongType, Seq[Any](Long.MinValue, -100L, -1L, 0L, 2L, 5000L, Long.MaxValue))
    val doubles = (
      DoubleType,
      Seq[Any](Double.NegativeInfinity, -1e300, -2.5, -0.0, 0.0, 0.1, 7.0, 1e300))
    val decimals = (
      DecimalType(9, 2),
      Seq("-9999999.99", "-1", "0", "0.01", "12.5", "9999999.99")
        .map(n => Decimal(BigDecimal(n), 9, 2): Any))
    val days = (DateType, Seq[Any](-800000, 0, 19723, 19782, 19783, 20000, 40000))
    val times = (
      TimestampType,
      Seq("1969-12-31T23:00", "2024-03-10T07:30", "2024-11-03T05:30", "2024-12-31T00:00")
        .map(t => micros(t): Any))
    val texts = (
      StringType,
      Seq("A", "C-0", "C-001", "C-0019", "C-003x", "a", "ab-c", "ab-d", "b", " ab", "z-1-2")
        .map(t => UTF8String.fromString(t): Any))
    Seq("a + b", "a - b", "a * b", "a * 2 - b", "abs(a - b)", "a % 7 + b", "try_add(a, b)").flatMap(
      f =>
        Seq(f -> Seq(ints, ints), f -> Seq(ints, longs), f -> Seq(decimals, decimals))) ++
      Seq(
        "a / b" -> Seq(ints, ints),
        "a div b" -> Seq(longs, longs),
        "a > b" -> Seq(ints, ints),
        "a = b" -> Seq(longs, longs),
        "a < b + 1" -> Seq(longs, longs),
        "coalesce(a, b) + a" -> Seq(ints, ints),
        "greatest(a, b) - least(a, b)" -> Seq(ints, ints),
        "a + b" -> Seq(doubles, doubles),
        "a * b" -> Seq(doubles, doubles),
        "a - b" -> Seq(doubles, decimals),
        "power(a - b, 2)" -> Seq(ints, ints),
        "power(a, 3) + b" -> Seq(doubles, doubles),
        "a % 3.5BD - b" -> Seq(decimals, decimals),
        "datediff(a, b)" -> Seq(days, days),
        "date_add(a, b)" -> Seq(days, ints),
        "date_format(a, 'yyyy') || b" -> Seq(days, ints),
        "a - b" -> Seq(times, times),
        "timestampdiff(HOUR, a, b)" -> Seq(times, times),
        "timestampdiff(MONTH, a, b)" -> Seq(times, times),
        "unix_timestamp(a) - unix_timestamp(b)" -> Seq(times, times),
        "to_timestamp(cast(a as string) || ' ' || date_format(b, 'HH:mm:ss'))" -> Seq(days, times),
        "concat(a, b)" -> Seq(texts, texts),
        "concat(a, '|', b)" -> Seq(texts, ints),
        "concat(a, '-', b)" -> Seq(ints, texts),
        "concat_ws('|', a, b)" -> Seq(texts, texts),
        "concat(left(a, 2), upper(b))" -> Seq(texts, texts),
        "concat(split_part(a, '-', 1), b)" -> Seq(texts, texts),
        "coalesce(a, b)" -> Seq(texts, texts),
        "a > lower(b)" -> Seq(texts, texts),
        "if(a > b, a, b)" -> Seq(texts, texts),
        "replace(concat(a, b), '-', '')" -> Seq(texts, texts),
        "initcap(a) = b" -> Seq(texts, texts))
  }

  test("expressions with several columns: every result of a box lies in what is known of the box") {
    val seed = new Random().nextLong()
    val random = new Random(seed)
    withClue(s"seed $seed\n") {
      for (ansi <- Seq("true", "false"); (text, columns) <- ofSeveral) {
        inConf(
          "spark.sql.ansi.enabled" -> ansi,
          "spark.sql.session.timeZone" -> "America/New_York") {
          val (e, variables) =
            optimized(text, new StructType().add("a", columns(0)._1).add("b", columns(1)._1))
          val tree = ExtentTree.of(e, variables: _*)
          assert(tree.unknown.isEmpty, s"$text: ${tree.unknown}")
          for (_ <- 1 to 60) check(text, e, variables, columns.map(_._2), tree, random)
        }
      }
      info(s"$inBoxes results, $known of them in boxes of which something is known")
      assert(known > inBoxes / 4)
    }
  }

  private var (inBoxes, known) = (0, 0)

  private def check(
      text: String,
      e: Expression,
      variables: Seq[Attribute],
      values: Seq[Seq[Any]],
      tree: ExtentTree,
      random: Random): Unit = {
    val order = ValueOrder.of(e.dataType).get
    val some = values.zip(variables).map { case (all, v) =>
      val of = ValueOrder.of(v.dataType).get
      val from = random.nextInt(all.size)
      val inside = all.slice(from, from + random.nextInt(3) + 1)
      val isNullable = random.nextInt(4) == 0
      val extent: Extent =
        if (random.nextInt(12) == 0) Extent.OnlyNull
        else if (v.dataType == StringType) {
          def bytes(value: Any) = value.asInstanceOf[UTF8String].getBytes
          Extent.ofBytes(StringType, bytes(inside.min(of)), bytes(inside.max(of)), isNullable)
        } else {
          Between(inside.min(of), inside.max(of), inside.size == 1, isNullable)
        }
      // texts between two that are no UTF-8, too
      val between = v.dataType match {
        case IntegerType if inside.size > 1 =>
          val (l, h) = (inside.min(of).asInstanceOf[Int], inside.max(of).asInstanceOf[Int])
          Seq(l + ((h.toLong - l) * random.nextDouble()).toInt)
        case StringType if inside.size > 1 =>
          val low = inside.min(of).asInstanceOf[UTF8String].getBytes
          Seq(0xff, 0x80, 1, 'q'.toInt).map(b => UTF8String.fromBytes(low :+ b.toByte))
            .filter(t => of.lteq(t, inside.max(of)))
        case _ => Nil
      }
      val rows = if (extent == Extent.OnlyNull) Seq(null) else inside ++ between
      (extent, if (isNullable) rows :+ null else rows)
    }
    val found = tree(some.map(_._1): _*)
    val bound = BindReferences.bindReference(e, AttributeSeq(variables))
    for (a <- some(0)._2; b <- some(1)._2) {
      val result = scala.util.Try(bound.eval(InternalRow(a, b)))
      inBoxes += 1
      if (found != Extent.Anything) known += 1
      val fits = (found, result.toOption) match {
        case (Extent.Anything, _) | (_, None) => true
        case (Extent.OnlyNull, Some(value)) => value == null
        case (known: Between, Some(null)) => known.mayBeNull
        case (known: Between, Some(value)) =>
          order.lteq(known.low, value) && order.lteq(value, known.high)
      }
      assert(fits, s"$text of $a, $b in ${some.map(_._1)}: $result, not in $found")
    }
  }

  test("groups of regular expressions of which the place in the text is known") {
    def groups(pattern: String) = Seq(0, 1, 2).filter(MatchedTexts.group(pattern, _).isDefined)
    Seq(
      "^([^@]+)@" -> Seq(0, 1),
      "^(C-00[0-9]{2})" -> Seq(0, 1),
      "^C-00.." -> Seq(0),
      "^(a|b)c" -> Seq(0, 1),
      "^(a)|b(c)" -> Nil,
      "^a|b" -> Nil,
      "^(a)+b" -> Seq(0),
      "^(a)?b" -> Seq(0),
      "^*(a)" -> Nil,
      "(a)" -> Nil,
      "^(?i)(a)" -> Nil,
      "^(?:a)(b)" -> Seq(0, 1),
      "^(\\(a)b" -> Seq(0, 1),
      "^([()]+)x" -> Seq(0, 1),
      "^\\p{L}([^\\t]+)x" -> Seq(0, 1),
      "^(a(b)c)*" -> Seq(0),
      "^(a(b)c)d" -> Seq(0, 1),
      "^([ab]\\c))+" -> Nil,
      "^\\Q(\\E(a)" -> Nil).foreach { case (pattern, known) =>
      assert(groups(pattern) === known, pattern)
    }
  }

  private def micros(local: String): Long =
    LocalDateTime.parse(local).toEpochSecond(ZoneOffset.UTC) * 1000000L
}
