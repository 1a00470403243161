// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Random
import scala.util.matching.Regex

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Random calls of Spark's functions on a column `c`, with arguments that code may not expect: NUL in a text,
 * bytes that are not UTF-8, lengths that overflow, patterns with quotes, the least and the greatest numbers. Some
 * of the calls are refused by Spark.
 *
 * The calls are made from the lists of `skipping/hostile-functions.txt`. In an entry, `#name` stands for an entry of
 * another list, and `{a|b}` for a choice.
 */
private[predicate] final class HostileFunctions(random: Random) {
  import HostileFunctions._

  private def one[T](some: Seq[T]): T = some(random.nextInt(some.size))

  /** @param t the type of the column */
  def next(t: DataType): String = {
    val kind = kindOf(t)
    of(one(results(kind)), kind, 1 + random.nextInt(2))
  }

  private def of(name: String, kind: String, depth: Int): String = name match {
    case "literal" if random.nextInt(12) == 0 =>
      s"cast(X'${one(Seq("80", "61FF", "C3", "E26162", "00"))}' as string)"
    case "literal" | "pattern" | "regex" | "like" => "\"" + text(name) + "\""
    case _ =>
      val innermost = Seq(s"$name 0 $kind", s"$name 0").find(lists.contains)
      val list = if (depth > 0 && lists.contains(name)) name else innermost.getOrElse(name)
      filled(one(lists(list)), kind, depth - 1)
  }

  private def filled(entry: String, kind: String, depth: Int): String =
    Open.replaceAllIn(
      entry,
      found =>
        Regex.quoteReplacement(
          if (found.group(1) != null) of(found.group(1), kind, depth)
          else filled(one(found.group(2).split("\\|", -1).toSeq), kind, depth)))

  /** A text as it stands between double quotes: one of a list, or a few parts together. */
  private def text(name: String): String =
    if (lists.contains(name) && random.nextInt(3) == 0) one(lists(name))
    else {
      val from = if (name == "regex" && random.nextBoolean()) "^" else ""
      from + Seq.fill(random.nextInt(5))(one(lists(s"$name parts"))).mkString
    }
}

private[predicate] object HostileFunctions {
  private val Open = "#([a-z]+)|\\{([^{}]*)\\}".r

  private val lists: Map[String, Seq[String]] = {
    val source =
      scala.io.Source.fromInputStream(
        getClass.getResourceAsStream("/skipping/hostile-functions.txt"),
        UTF_8.name)
    val lines =
      try source.getLines().filterNot(l => l.isEmpty || l.startsWith("# ")).toList
      finally source.close()
    lines.foldLeft(List.empty[(String, List[String])]) {
      case (found, line) if line.matches("\\[[a-z0 ]+\\]") =>
        (line.drop(1).dropRight(1), Nil) :: found
      case ((name, entries) :: rest, line) => (name, line :: entries) :: rest
      case (Nil, line) => throw new IllegalArgumentException(line)
    }.toMap
  }

  private def kindOf(t: DataType): String = t match {
    case StringType => "text"
    case BinaryType => "binary"
    case BooleanType => "boolean"
    case DateType => "date"
    case TimestampType | TimestampNTZType => "time"
    case FloatType | DoubleType => "real"
    case _: DecimalType => "exact"
    case _ => "whole"
  }

  /** The lists from which a call is made, by the kind of the column. */
  private val results: Map[String, Seq[String]] = Map(
    "text" -> "text text text number condition date time",
    "binary" -> "text text number condition",
    "boolean" -> "condition number text exact",
    "date" -> "formed formed formed date date time number text",
    "time" -> "formed formed formed date time time number text",
    "real" -> "formed formed formed real real number exact text",
    "exact" -> "formed formed formed exact exact real number text",
    "whole" -> "formed formed formed number number real exact text date time").map {
    case (kind, names) => kind -> names.split(" ").toSeq
  }

  /** The types of the column. */
  val types: Seq[DataType] = Seq(
    StringType,
    StringType,
    StringType,
    StringType,
    BinaryType,
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DoubleType,
    DateType,
    DateType,
    TimestampType,
    TimestampType,
    TimestampNTZType,
    DecimalType(5, 2),
    DecimalType(18, 6),
    DecimalType(20, 2),
    DecimalType(38, 2),
    DecimalType(38, 18),
    DecimalType(38, 0))

  /** Functions by which files with a match were lost once. */
  val once: Seq[(DataType, Seq[String])] = Seq(
    // NUL marks a place of any digit
    TimestampType -> Seq("date_format(c, \"'\\0'mm\")", "concat(date_format(c, \"'\\0'HH\"), 'x')"),
    // the least and the greatest remainder had no digits after the point
    DecimalType(5, 2) -> Seq(
      "lpad(cast(c % 1 as string), 6, '0')",
      "concat(cast(c % 1.5 as string), 'x')",
      "pmod(c, 1000000)"),
    // the year 0 is a year
    IntegerType -> Seq("cast(lpad(cast(c as string), 4, '0') as date)"))

  private val moreTexts: Seq[String] = Seq(
    "\u0000",
    "a\u0000",
    "\u0000a",
    "a\u0000b",
    "\u007f",
    "a\u007f",
    "\u00001",
    "2024\u0000",
    "a ",
    "a  ",
    "0000-06-01",
    "0000",
    "\uFFFD",
    "a\uFFFD",
    "\uD83D\uDE00",
    "a\uD83D\uDE00b",
    "\uE000",
    "\u0130",
    "i\u0307",
    "\u00df",
    "SS",
    "\u03a3\u03c3\u03c2",
    "NaN",
    "-0.0",
    "Infinity",
    "1e3",
    "true",
    "%",
    "_",
    "a%b",
    "\\",
    "a\\",
    "0",
    "00",
    "-12",
    "2147483648",
    "\n",
    "a\n",
    "\r",
    "a\u2028",
    "a.b",
    "aab",
    "aa",
    "ba",
    "-a-b-",
    "--",
    "xax",
    "b-",
    "9999",
    "10000-01-01",
    "-0001-01-01",
    "20240101",
    "2024-01-01 24:00:00",
    "12:30",
    "é-é")

  /** More values of a type than [[ColumnFunctionCases]] has. */
  def values(t: DataType): Seq[Any] = t match {
    case StringType => moreTexts.map(UTF8String.fromString) ++ bytes.map(UTF8String.fromBytes)
    case BinaryType => moreTexts.map(_.getBytes("UTF-8")) ++ bytes
    case LongType => Seq(0L, 1L, -1L, 9L, 10L, 999L, 1000L, -62135596800L, -62167219200L,
        253402300800L, 100000000000L)
    case IntegerType => Seq(0, 1, 9, 10, 99, 100, 999, 2024, 9999, 10000, -719528, -719162, 2932896,
        2932897, 12, 13, 31, 32)
    case ShortType => Seq(0, 1, 9, 10, 99, 100, 2024, 9999, 10000).map(_.toShort)
    case DoubleType =>
      Seq(0.001, 0.0009999, 1e7, 9999999.999, 0.5, 1.5, 2.5, -0.5, -2.5, 1e15, 4.5e15,
        9.007199254740993e15, 9.3e18, 2147483647.5, 1e-5, 12345.678)
    case FloatType =>
      Seq(0.001f, 0.000999f, 1e7f, 9999999f, 0.5f, 2.5f, -2.5f, 1.6777217e7f, 12345.678f)
    case DateType => Seq(-719528, -719529, -719163, -719162, -719161, 2932896, 2932897, -141428,
        -141427, 0, 59, 19782, 19783)
    case d: DecimalType =>
      Seq(
        "0.01",
        "0.5",
        "0.99",
        "1.5",
        "1.49",
        "2.5",
        "7.99",
        "12.34",
        "99.99",
        "100",
        "0",
        "-0.5",
        "-1.5",
        "999.99",
        "1000.01").map(BigDecimal(_))
        .map(v => v.setScale(d.scale, BigDecimal.RoundingMode.DOWN)).filter(
          _.precision <= d.precision)
        .filter(v => v.precision - v.scale <= d.precision - d.scale)
        .map(Decimal(_, d.precision, d.scale))
    case _ => Nil
  }

  private val bytes: Seq[Array[Byte]] = Seq(
    Array(0xc3),
    Array(0x61, 0xc3),
    Array(0xc3, 0x61),
    Array(0xe2, 0x61, 0x62, 0x63),
    Array(0xff),
    Array(0x61, 0xf0, 0x9f),
    Array(0xed, 0xa0, 0x80),
    Array(0xc0, 0x80),
    Array(0x2d, 0x80, 0x2d),
    Array(0x00),
    Array(0x61, 0x00, 0xff)).map(_.map(_.toByte))
}
