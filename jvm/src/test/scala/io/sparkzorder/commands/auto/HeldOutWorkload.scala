// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import scala.util.Random

/**
 * A scan of a made-up table.
 *
 * @param sides for each column that its filters restrict the intervals of values that match, both
 *   ends included
 * @param bytes that it reads without skipping, as a share of the table
 */
final case class MadeScan(sides: Map[String, Seq[(Long, Long)]], bytes: Double = 1.0)

/**
 * A table and its scans. The scans that AUTO learns from and those that judge its layout are drawn in
 * the same way, but never the same ones.
 *
 * @param columns names of the columns
 * @param row draws the values of one row
 * @param days for each day of the record, the last one first, the scans of the day
 * @param later scans after the record
 */
final case class HeldOutWorkload(
    name: String,
    columns: IndexedSeq[String],
    row: Random => Array[Long],
    days: Random => Seq[Seq[MadeScan]],
    later: Random => Seq[MadeScan])

/** Nine workloads. Each column of a table has 100,000 values, unless a workload says otherwise. */
object HeldOutWorkload {
  private val Values = 100000
  private val Later = 3000

  private type Scan = Random => MadeScan

  /** A scan for one value. */
  private def point(columns: String*): Scan = r =>
    MadeScan(columns.map { c =>
      val v = r.nextInt(Values).toLong
      c -> Seq((v, v))
    }.toMap)

  /** A scan for a part of the values. */
  private def range(share: Double, columns: String*): Scan = r =>
    MadeScan(columns.map { c =>
      val width = (share * Values).toInt
      val from = r.nextInt(Values - width).toLong
      c -> Seq((from, from + width))
    }.toMap)

  private def and(scans: Scan*): Scan = r => MadeScan(scans.map(_(r).sides).reduce(_ ++ _))

  private def uniform(columns: String): (IndexedSeq[String], Random => Array[Long]) =
    (columns.map(_.toString), r => Array.fill(columns.length)(r.nextInt(Values).toLong))

  /** The same kinds of scans on all days: so many of each. */
  private def steady(name: String, table: (IndexedSeq[String], Random => Array[Long]))(
      kinds: (Int, Scan)*): HeldOutWorkload = {
    val all = kinds.map(_._1).sum
    HeldOutWorkload(
      name,
      table._1,
      table._2,
      r => {
        val scans = r.shuffle(kinds.flatMap { case (n, scan) => Seq.fill(n)(scan(r)) })
        scans.grouped(math.max(1, all / 10)).toSeq
      },
      r =>
        Seq.fill(math.max(1, Later / all))(kinds).flatten
          .flatMap { case (n, scan) => Seq.fill(n)(scan(r)) })
  }

  /** R6 of the faults that testers found: one range on a column outweighed 46 on another. */
  val oneOfMany: HeldOutWorkload = steady("one scan of 150 on a column", uniform("abcd"))(
    88 -> point("a"),
    46 -> range(0.05, "c"),
    15 -> and(point("a"), range(0.05, "c")),
    1 -> range(0.05, "d"))

  val rare: HeldOutWorkload = {
    val all = "abcdefgh"
    val some: Scan = r => {
      val Seq(x, y) = r.shuffle(all.drop(1).toSeq).take(2).map(_.toString)
      and(point(x), range(0.1, y))(r)
    }
    steady("one heavy form and many rare ones", uniform(all))(140 -> point("a"), 60 -> some)
  }

  val single: HeldOutWorkload = steady("one form only", uniform("abc"))(
    150 -> and(point("a"), range(0.1, "b")))

  val equal: HeldOutWorkload = steady("two equal forms on different columns", uniform("abc"))(
    75 -> point("a"),
    75 -> point("b"))

  val drift: HeldOutWorkload = {
    val (columns, row) = uniform("abc")
    val (before, after) = (and(point("a"), range(0.2, "c")), and(point("b"), range(0.2, "c")))
    HeldOutWorkload(
      "a drift half-way",
      columns,
      row,
      r => (0 until 14).map(day => Seq.fill(20)(if (day < 7) after(r) else before(r))),
      r => Seq.fill(Later)(after(r)))
  }

  val nightly: HeldOutWorkload = {
    val (columns, row) = uniform("abcd")
    def day(n: Int, r: Random) =
      MadeScan(Map.empty) +: r.shuffle(Seq.fill(n)(point("a")(r)) ++ Seq.fill(n / 2)(point("b")(r)))
        .map(_.copy(bytes = 0.2))
    HeldOutWorkload(
      "a nightly full scan beside point queries",
      columns,
      row,
      r => (0 until 14).map(_ => day(12, r)),
      r => (0 until 30).flatMap(_ => day(12, r)))
  }

  /** Filters with functions are ranges of days, and joins bring some keys of a dimension. */
  val functionsAndJoins: HeldOutWorkload = {
    val (days, keys) = (1461, 2000)
    def row(r: Random) = {
      val day = r.nextInt(days)
      // few keys have most rows
      val key = (keys * math.pow(r.nextDouble(), 3)).toLong
      Array(day.toLong, key, r.nextInt(50).toLong, day + 1L + r.nextInt(20))
    }
    val year: Scan = r => {
      val y = r.nextInt(4) * 365L
      MadeScan(Map("day" -> Seq((y, y + 364))))
    }
    val month: Scan = r => {
      val m = r.nextInt(48) * 30L
      MadeScan(Map("day" -> Seq((m, m + 29))))
    }
    val joined: Scan = r =>
      MadeScan(Map("key" -> Seq.fill(1 + r.nextInt(12))(r.nextInt(keys).toLong).distinct.sorted
        .map(k => (k, k))))
    val brand: Scan = r => {
      val from = r.nextInt(keys - 40).toLong
      MadeScan(Map("key" -> Seq((from, from + 39))))
    }
    val shipped: Scan = r => {
      val from = r.nextInt(days - 10).toLong
      MadeScan(Map("shipped" -> Seq((from, from + 9))))
    }
    steady(
      "filters with functions and joins",
      (IndexedSeq("day", "key", "amount", "shipped"), row))(
      30 -> year,
      40 -> month,
      40 -> joined,
      30 -> and(month, brand),
      20 -> and(year, joined),
      15 -> shipped,
      10 -> (r => {
        val a = r.nextInt(40).toLong
        MadeScan(Map("amount" -> Seq((a, a + 9))))
      }))
  }

  /**
   * `lineitem` of TPC-H and the scans of its queries: three dates that follow each other, and the
   * parameters of the specification.
   */
  val tpch: HeldOutWorkload = {
    val days = 2526
    def row(r: Random) = {
      val ordered = r.nextInt(days - 121)
      val shipped = ordered + 1L + r.nextInt(121)
      val received = shipped + 1 + r.nextInt(30)
      Array(
        shipped,
        received,
        ordered + 30L + r.nextInt(61),
        r.nextInt(20000).toLong,
        r.nextInt(1000).toLong,
        1L + r.nextInt(50),
        r.nextInt(11).toLong,
        r.nextInt(7).toLong,
        r.nextInt(4).toLong,
        if (received <= 1260) r.nextInt(2).toLong else 2L)
    }
    def shipped(length: Int): Scan = r => {
      val from = r.nextInt(60) * 30L + 1
      MadeScan(Map("shipped" -> Seq((from, from + length))))
    }
    def within(column: String, from: Int, width: Int): Scan = _ =>
      MadeScan(Map(column -> Seq((from.toLong, from + width.toLong))))
    val year: Scan = r => {
      val y = 1 + r.nextInt(5)
      MadeScan(Map("received" -> Seq((y * 365L, y * 365L + 364))))
    }
    val modes: Scan = r =>
      MadeScan(Map("mode" -> r.shuffle((0L until 7).toList).take(2).sorted
        .map(m => (m, m))))
    val parts: Scan = r =>
      MadeScan(Map("part" -> Seq.fill(20)(r.nextInt(20000).toLong).distinct
        .sorted.map(p => (p, p))))
    steady(
      "TPC-H: lineitem, parameters not seen",
      (
        IndexedSeq(
          "shipped",
          "received",
          "committed",
          "part",
          "supplier",
          "quantity",
          "discount",
          "mode",
          "instruct",
          "flag"),
        row))(
      // q1, q3, q6, q7, q10, q12, q14, q15, q17, q19, q20, and those without a filter on lineitem
      10 -> (_ => MadeScan(Map("shipped" -> Seq((0L, 2466L))))),
      10 -> (r => {
        val d = 1100L + r.nextInt(31)
        MadeScan(Map("shipped" -> Seq((d, 3000L))))
      }),
      10 -> (r =>
        and(
          shipped(364),
          within("discount", 2 + r.nextInt(6), 2),
          within("quantity", 1, 23))(r)),
      10 -> shipped(729),
      10 -> within("flag", 1, 0),
      10 -> and(year, modes),
      10 -> shipped(29),
      10 -> shipped(89),
      10 -> parts,
      10 -> (r =>
        and(within("instruct", 1, 0), within("mode", 0, 1), within("quantity", 1, 29))(r)),
      10 -> shipped(364),
      40 -> (_ => MadeScan(Map.empty)))
  }

  /**
   * `store_sales` of TPC-DS and the kinds of scans that its queries make of it: dates by year, month
   * and some days of months, stores and items by joins, and buckets of quantities.
   */
  val tpcds: HeldOutWorkload = {
    val days = 1823
    def row(r: Random) = {
      // sales of a year are highest at its end
      val in = if (r.nextInt(3) == 0) 300 + r.nextInt(65) else r.nextInt(365)
      val day = r.nextInt(5) * 365L + in
      val quantity = 1L + r.nextInt(100)
      val price = 1L + r.nextInt(200)
      Array(
        math.min(day, days - 1L),
        r.nextInt(6).toLong,
        r.nextInt(18000).toLong,
        r.nextInt(7200).toLong,
        quantity,
        price,
        price * quantity,
        r.nextInt(12).toLong * 3600 + r.nextInt(3600))
    }
    val year: Scan = r => {
      val y = r.nextInt(5) * 365L
      MadeScan(Map("date" -> Seq((y, y + 364))))
    }
    val month: Scan = r => {
      val m = r.nextInt(5) * 365L + r.nextInt(12) * 30L
      MadeScan(Map("date" -> Seq((m, m + 29))))
    }
    val quarter: Scan = r => {
      val m = r.nextInt(5) * 365L + r.nextInt(4) * 91L
      MadeScan(Map("date" -> Seq((m, m + 90))))
    }
    val daysOfMonths: Scan = r => {
      val y = r.nextInt(3) * 365L
      MadeScan(Map("date" -> (0 until 36).map(m => (y + m * 30L, y + m * 30L + 2))))
    }
    val items: Scan = r =>
      MadeScan(Map("item" -> Seq.fill(15)(r.nextInt(18000).toLong).distinct
        .sorted.map(i => (i, i))))
    val stores: Scan = r => {
      val s = r.nextInt(5).toLong
      MadeScan(Map("store" -> Seq((s, s + 1))))
    }
    val quantities: Scan = r => {
      val q = 1L + 20 * r.nextInt(5)
      MadeScan(Map("quantity" -> Seq((q, q + 19))))
    }
    val hours: Scan = r => {
      val h = r.nextInt(12) * 3600L
      MadeScan(Map("time" -> Seq((h, h + 1799))))
    }
    val prices: Scan = r => {
      val p = 1L + r.nextInt(180)
      MadeScan(Map("price" -> Seq((p, p + 10))))
    }
    steady(
      "TPC-DS: store_sales, parameters not seen",
      (
        IndexedSeq("date", "store", "item", "customer", "quantity", "price", "amount", "time"),
        row))(
      60 -> year,
      40 -> month,
      30 -> quarter,
      20 -> and(daysOfMonths, stores),
      20 -> and(month, items),
      15 -> and(year, stores),
      10 -> items,
      20 -> quantities,
      15 -> and(quantities, prices),
      15 -> and(hours, stores),
      5 -> (_ => MadeScan(Map.empty)))
  }

  val all: Seq[HeldOutWorkload] = Seq(
    tpcds,
    tpch,
    rare,
    oneOfMany,
    single,
    equal,
    drift,
    nightly,
    functionsAndJoins)
}
