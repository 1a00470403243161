// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import scala.util.{Random, Try}

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs
import io.sparkzorder.skipping.SkippingTestBase
import io.sparkzorder.skipping.predicate.ColumnFunctionCases
import io.sparkzorder.skipping.values.Extent.{Anything, Between, OnlyNull}

/**
 * The extent of a function against Spark itself: the function is evaluated at values strictly between
 * the least and the greatest value of a file, where a result may be out of order.
 * [[ColumnFunctionCases]] has the functions.
 */
class ExtentsSuite extends SkippingTestBase with RandomInputs {
  private val day = 86400000000L
  // with the last days of months, a leap year, and changes of clocks
  private val starts = Seq(1293840000000000L, 1325376000000000L, 1704067200000000L)
  private var (results, known) = (0L, 0L)

  private def number(t: DataType, value: Long): Any = t match {
    case ByteType => value.toByte
    case ShortType => value.toShort
    case IntegerType | DateType => value.toInt
    case _ => value
  }

  /** Values in an order, from the least to the greatest value of a file. */
  private def file(t: DataType, values: IndexedSeq[Any], random: Random): Seq[Any] = {
    def between(low: Long, length: Long) = (low +:
      Seq.fill(8)(low + (random.nextDouble() * length).toLong) :+ (low + length))
      .sorted.map(number(t, _))
    def length(unit: Long) =
      (random.nextDouble() * Seq(unit, 3 * unit, 45 * unit)(random.nextInt(3))).toLong + 2
    t match {
      case TimestampType | TimestampNTZType if random.nextInt(3) > 0 =>
        between(
          starts(random.nextInt(3)) + (random.nextDouble() * 366 * day).toLong,
          length(day))
      case DateType if random.nextInt(3) > 0 =>
        between(starts(random.nextInt(3)) / day + random.nextInt(366), length(1))
      case IntegerType | LongType if random.nextBoolean() =>
        between(random.nextInt(200) - 100L, length(10))
      case _ =>
        val first = random.nextInt(values.size)
        values.slice(first, first + 2 + random.nextInt(8))
    }
  }

  private def check(
      t: DataType,
      function: String,
      zone: String,
      random: Random,
      files: Int): Unit = {
    val (call, columns) = optimized(function, new StructType().add("c", t))
    val bound = BindReferences.bindReference(call, columns)
    val tree = ExtentTree.of(call, columns: _*)
    val order = ValueOrder.of(t).get
    val values = ColumnFunctionCases.values(t, zone, random).filter(Piece.isUsual)
      .sorted(order).toIndexedSeq
    for (_ <- 1 to files; rows = file(t, values, random) if rows.size > 1) {
      val extent = tree((rows.head, rows.last) match {
        case (low: UTF8String, high: UTF8String) =>
          Extent.ofBytes(t, low.getBytes, high.getBytes, mayBeNull = false)
        case (low, high) => Between(low, high, order.equiv(low, high))
      })
      // an error is no result
      for (row <- rows; result <- Try(bound.eval(InternalRow(row)))) {
        results += 1
        if (extent != Anything) known += 1
        if (!isIn(extent, result, ValueOrder.of(call.dataType))) {
          fail(s"$call with $t in $zone: $result of $row is not in $extent of " +
            rows.mkString(", "))
        }
      }
    }
  }

  private def isIn(extent: Extent, result: Any, order: Option[Ordering[Any]]): Boolean =
    extent match {
      case Anything => true
      case OnlyNull => result == null
      case b: Between if result == null => b.mayBeNull
      case b: Between => order.exists(o => o.lteq(b.low, result) && o.lteq(result, b.high))
    }

  /** @param share one function of so many */
  private def checkAll(zone: String, share: Int, files: Int, ansis: Boolean*): Unit =
    withRandom { random =>
      for {
        ansi <- ansis
        (t, some) <- ColumnFunctionCases.functions ++ ColumnFunctionCases.aroundNull
        f <- some if random.nextInt(share) == 0 && ValueOrder.of(t).isDefined
      } inConf("spark.sql.session.timeZone" -> zone, "spark.sql.ansi.enabled" -> ansi.toString)(
        check(t, f, zone, random, files))
      info(s"$results results, $known of them in a known extent")
      assert(known > results / 10)
    }

  test("a timestamp plus months, before and after a later time of a day")(withRandom { random =>
    val sums = Seq(
      "c + interval 1 month",
      "c - interval '1-1' year to month",
      "c + make_interval(0, 1, 0, 0, 5)",
      "timestampadd(MONTH, 1, c)",
      "timestampadd(QUARTER, -1, c)",
      "timestampadd(YEAR, 1, c)",
      "add_months(c, 1)")
    for (zone <- Seq("UTC", "America/Havana"); t <- Seq(TimestampType, TimestampNTZType); f <- sums)
      inConf("spark.sql.session.timeZone" -> zone)(check(t, f, zone, random, 100))
  })

  test("one function of 30")(checkAll("America/Havana", 30, 20, true))

  for (zone <- ColumnFunctionCases.zones)
    test(s"every function, in $zone", Slow)(checkAll(zone, 1, 40, true, false))
}
