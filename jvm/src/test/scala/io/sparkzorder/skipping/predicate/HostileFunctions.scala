// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.Random

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Random calls of Spark's functions on a column `c`, with arguments that code may not expect: NUL in a text,
 * bytes that are not UTF-8, lengths that overflow, patterns with quotes, the least and the greatest numbers. Some
 * of the calls are refused by Spark.
 */
private[predicate] final class HostileFunctions(random: Random) {
  import HostileFunctions._

  private def one[T](some: T*): T = some(random.nextInt(some.size))
  private def oneOf(some: (() => String)*): String = one(some: _*)()

  /** @param t the type of the column */
  def next(t: DataType): String = {
    val of = new Of(t)
    val depth = 1 + random.nextInt(2)
    if (t != StringType && t != BinaryType && t != BooleanType && random.nextBoolean()) of.formed()
    else t match {
      case StringType | BinaryType => oneOf(
          () => of.text(depth),
          () => of.text(depth),
          () => of.text(depth),
          () => of.number(depth),
          () => of.condition(depth),
          () => of.date(depth),
          () => of.time(depth))
      case DateType | TimestampType | TimestampNTZType => oneOf(
          () => of.date(depth),
          () => of.time(depth),
          () => of.time(depth),
          () => of.number(depth),
          () => of.text(depth),
          () => of.text(depth))
      case FloatType | DoubleType => oneOf(
          () => of.double(depth),
          () => of.double(depth),
          () => of.number(depth),
          () => of.decimal(depth),
          () => of.text(depth))
      case _: DecimalType => oneOf(
          () => of.decimal(depth),
          () => of.decimal(depth),
          () => of.double(depth),
          () => of.number(depth),
          () => of.text(depth))
      case _ => oneOf(
          () => of.number(depth),
          () => of.number(depth),
          () => of.double(depth),
          () => of.decimal(depth),
          () => of.text(depth),
          () => of.text(depth),
          () => of.date(depth),
          () => of.time(depth))
    }
  }

  /** A short text as a literal. */
  def textLiteral(): String =
    if (random.nextInt(12) == 0) s"cast(X'${one("80", "61FF", "C3", "E26162", "00")}' as string)"
    else quoted(shortText())

  private def shortText(): String =
    if (random.nextInt(3) == 0) one(texts: _*)
    else Seq.fill(random.nextInt(4))(one(letters: _*)).mkString

  private def place(): String =
    if (random.nextInt(6) == 0) one("2147483647", "-2147483648", "1000", "-1000", "cast(null as int)")
    else (random.nextInt(10) - 4).toString

  private def int(): String =
    if (random.nextInt(4) == 0) one("2147483647", "-2147483648", "cast(null as int)", "65536")
    else one("0", "1", "-1", "2", "3", "-3", "7", "10", "100", "-100", "1000", "12", "31", "33", "63", "64")

  private def long(): String =
    one("9223372036854775807L", "-9223372036854775808L", "0L", "1L", "-1L", "3L", "86400L", "1000L", "1000000L")

  private def real(): String =
    one("0.0D", "-0.0D", "1D", "-1D", "0.5D", "-2.5D", "1e308D", "-1e308D", "4.9e-324D", "double('NaN')",
      "double('Infinity')", "double('-Infinity')", "cast(null as double)", "3D", "0.1D")

  private def exact(): String =
    one("0BD", "1BD", "-1BD", "0.5BD", "1.5BD", "0.01BD", "-0.003BD", "2.500BD", "99999BD", "1000BD", "1e10BD",
      "99999999999999999999999999999999999999BD", "0.00000000000000000000000000000000000001BD", "7BD",
      "12.3456789BD", "cast(1.5 as decimal(10,6))", "cast(3 as decimal(38,0))", "cast(null as decimal(5,2))")

  private def zone(): String = quoted(one("America/Los_Angeles", "UTC", "+05:30", "Asia/Kathmandu", "Africa/Monrovia",
    "Pacific/Apia", "-18:00", "Europe/Amsterdam", "GMT+1", "nowhere"))

  private def interval(): String = one(
    "interval 1 day",
    "interval 1 month",
    "interval -1 month",
    "interval 1 month 1 day",
    "interval 1 month -30 days 5 hours",
    "interval 26 hours",
    "interval -1 microsecond",
    "interval '1' year",
    "interval '1-1' year to month",
    "interval '-100 23:59:59.999999' day to second",
    "interval '25' hour",
    "interval '106751991' day",
    "make_interval(0, 1, 0, 0, 30)",
    "make_interval(0, 0, 1, 0, 30)",
    "make_interval(0, 0, 0, -2, 0)",
    "make_interval(178956970, 7)")

  private def pattern(): String =
    if (random.nextInt(3) == 0) one("yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "yyyyMM", "yyyy", "yyyy-MM-dd'T'HH:mm:ss",
      "dd/MM/yyyy", "yyyy-MM-dd HH:mm:ss.SSS", "EEE, d MMM yyyy", "y", "yy", "M", "H:m", "yyyyMMddHHmmssSSS", "D", "e", "GGG y",
      "yyyy[-MM]", "", "''", "hh:mm a", "yyyy-MM-dd z", "QQQ yyyy", "F", "k", "K")
    else Seq.fill(1 + random.nextInt(4))(one("yyyy", "MM", "dd", "HH", "mm", "ss", "SSS", "S", "SSSSSS", "-", "'T'", "'\u0000'",
      "'0'", "'5'", ":", " ", "'a'", "'\u007f'", "/", "'é'", "''", "yyyy", "MM", "E", "'Z'")).mkString

  private def regex(): String =
    if (random.nextInt(3) == 0) one("^a", "^[a-c]+", "b$", "^a?b", "^(a|b)c?", "^a{2}", "^a{0}b", "^.b", "^\\\\d+", "^\\\\w-", "^\\\\s*a", "^[^a]",
      "(?i)^A", "^a|b", "a*", "", "^", "$", "^$", "^\\\\.", "^a\\\\b", "^(?=a)", "^ab?+", "^(a)(b)?", "[0-9]{4}", "^\\\\Qa.b\\\\E", "^a(?!b)", "\\\\x61",
      "^\\\\p{L}", "^\\\\P{L}", "^[\\\\d-]+", "^(?:ab)+", "^a.*b", "(a)|(b)", "^\\u00e9", "^[\\u00e0-\\u00ff]", "^2024-[0-9]+", "^\\\\u0061", "^[a-z&&[^b]]", "^[[:alpha:]]", "^a\\n", "^\\\\t", "^[^\\u0000]")
    else (if (random.nextBoolean()) "^" else "") + Seq.fill(1 + random.nextInt(3))(
      one("a", "b", "ab", "-", ".", "[a-b]", "[^b]", "\\\\d", "x", "é", "2", " ", "(a)", "(b|c)", "\\\\W", "\\\\D", "\\u0000") +
        one("", "", "", "+", "*", "?", "{2}", "{0,1}", "*?", "++")).mkString

  private def like(): String =
    Seq.fill(1 + random.nextInt(4))(one("a", "b", "%", "_", "%", "é", "2", "-", "\\\\%", "\\\\_", "\\\\\\\\", "x", "A", "\\u0000", "_b")).mkString

  private def quotedRaw(escaped: String): String = s"'$escaped'"

  private final class Of(t: DataType) {
    /** A text of one form that is made of a number or a time, cut and joined, and perhaps read again. */
    def formed(): String = {
      def int = t match {
        case DateType | TimestampType | TimestampNTZType => one("year(c)", "month(c)", "day(c)", "dayofyear(c)", "weekofyear(c)", "year(c) * 100 + month(c)")
        case FloatType | DoubleType => one("cast(c as int)", "cast(abs(c) as bigint)", "floor(c)")
        case _: DecimalType => one("cast(c as int)", "cast(c as bigint) % 1000", "floor(c)")
        case _ => one("c", "abs(c)", "c % 100", "pmod(c, 1000)", "c div 10", "c - c % 10", "round(c, -1)", "least(abs(c), 999)", "c + 1")
      }
      def decimal = t match {
        case _: DecimalType => one("c", s"c % ${exact()}", s"pmod(c, ${exact()})", s"c * ${exact()}", "round(c, 1)", "abs(c)", "c / 3", "floor(c, 1)", "cast(c as decimal(9,3))",
            "greatest(c, 0)")
        case FloatType | DoubleType => one("cast(c as decimal(10,2))", "round(cast(c as decimal(12,4)), 1)")
        case _ => one(s"cast($int as decimal(12,2))", s"cast($int as decimal(9,3)) % ${exact()}", s"$int / 7")
      }
      def time = t match {
        case DateType | TimestampType | TimestampNTZType => one("c", "c", s"date_trunc('HOUR', c)", s"c + ${interval()}", "last_day(c)")
        case LongType => "timestamp_seconds(c)"
        case _ => s"date_from_unix_date($int)"
      }
      val start = oneOf(
        () => s"cast($int as string)",
        () => s"lpad(cast($int as string), ${one("2", "3", "4", "8")}, '0')",
        () => s"format_string(${quoted(one("%04d-%02d", "%02d%02d", "%06d/%03d"))}, $int, $int)",
        () => s"format_string('%05d', $int)",
        () => s"cast($decimal as string)",
        () => s"cast($decimal as string)",
        () => s"cast($time as string)",
        () => s"cast(cast($time as date) as string)",
        () => s"date_format($time, ${quoted(pattern())})",
        () => s"concat($int, ${one("'-'", "''", "'x'")}, $int)",
        () => s"cast(${t match { case DoubleType | FloatType => "c"; case _ => s"$decimal / 4D" }} as string)")
      val cut = (1 to random.nextInt(4)).foldLeft(start)((s, _) => oneOf(
        () => s"substring($s, ${place()}, ${place()})",
        () => s"left($s, ${one("1", "2", "4", "7")})",
        () => s"right($s, ${one("1", "2", "4", "5")})",
        () => s"lpad($s, ${one("1", "3", "6", "10")}, ${one("'0'", "'ab'", "' '", "'-'", "'é'")})",
        () => s"rpad($s, ${one("1", "3", "6", "10")}, ${one("'0'", "'ab'", "' '", "'-'")})",
        () => s"concat($s, ${textLiteral()})",
        () => s"concat(${textLiteral()}, $s)",
        () => s"concat_ws(${one("'-'", "''", "'é'")}, $s, cast($int as string))",
        () => s"replace($s, ${one("'-'", "'.'", "'0'", "' '", "':'")}, ${one("''", "'x'", "'/'", "'00'", "'-'", "'\\0'")})",
        () => s"replace(replace($s, '-', ''), ':', '.')",
        () => s"upper($s)",
        () => s"coalesce($s, '2024-01')",
        () => s"trim($s)",
        () => s"substring_index($s, ${one("'-'", "'.'", "'1'")}, 1)",
        () => s"split_part($s, ${one("'-'", "'.'", "'0'")}, ${one("1", "2")})"))
      oneOf(
        () => cut,
        () => cut,
        () => s"try_cast($cut as ${one("int", "bigint", "tinyint", "double", "decimal(10,2)", "decimal(4,0)")})",
        () => s"cast($cut as ${one("int", "bigint")}) * 2 + 1",
        () => s"try_cast($cut as date)",
        () => s"cast($cut as date)",
        () => s"try_cast($cut as timestamp)",
        () => s"try_cast($cut as timestamp_ntz)",
        () => s"to_date($cut, ${quoted(one("yyyyMMdd", "yyyy-MM", "yyyy", "yyyyMM", "yyyy-MM-dd"))})",
        () => s"unix_timestamp($cut, ${quoted(one("yyyyMMdd", "yyyy-MM", "yyyyMMddHH", "yyyy-MM-dd HH:mm:ss"))})",
        () => s"try_to_timestamp($cut, ${quoted(one("yyyyMMdd", "yyyy-MM-dd'T'HH:mm", "yyyyMMddHHmmss", "yyyy-MM-dd HH:mm:ss.SSS"))})")
    }

    def text(depth: Int): String = {
      def s = text(depth - 1)
      def n = number(depth - 1)
      if (depth <= 0) t match {
        case StringType => "c"
        case BinaryType => one("cast(c as string)", "hex(c)", "base64(c)", "decode(c, 'UTF-8')", "decode(c, 'ISO-8859-1')",
            "decode(c, 'UTF-16BE')", "cast(c as string)")
        case DateType | TimestampType | TimestampNTZType =>
          one("cast(c as string)", s"date_format(c, ${quoted(pattern())})", s"date_format(c, ${quoted(pattern())})")
        case LongType => one("cast(c as string)", s"from_unixtime(c, ${quoted(pattern())})", "cast(c as string)", "bin(c)", "hex(c)")
        case _ => "cast(c as string)"
      }
      else oneOf(
        () => s"substring($s, ${place()}, ${place()})",
        () => s"substring($s, ${place()})",
        () => s"left($s, ${place()})",
        () => s"right($s, ${place()})",
        () => s"concat($s, ${textLiteral()})",
        () => s"concat(${textLiteral()}, $s)",
        () => s"concat(${textLiteral()}, $s, ${textLiteral()})",
        () => s"concat($s, $s)",
        () => s"concat($s, ${textLiteral()}, $s)",
        () => s"concat($s, ${textLiteral()}, $s, ${textLiteral()})",
        () => s"concat_ws(${textLiteral()}, $s, ${textLiteral()})",
        () => s"concat_ws(${textLiteral()}, ${textLiteral()}, $s)",
        () => s"concat_ws(${textLiteral()}, $s, $s)",
        () => s"upper($s)",
        () => s"lower($s)",
        () => s"initcap($s)",
        () => s"trim($s)",
        () => s"ltrim($s)",
        () => s"rtrim($s)",
        () => s"btrim($s, ${textLiteral()})",
        () => s"trim(${one("BOTH", "LEADING", "TRAILING")} ${textLiteral()} FROM $s)",
        () => s"lpad($s, ${place()}, ${textLiteral()})",
        () => s"rpad($s, ${place()}, ${textLiteral()})",
        () => s"lpad($s, ${place()})",
        () => s"replace($s, ${textLiteral()}, ${textLiteral()})",
        () => s"replace($s, ${textLiteral()})",
        () => s"translate($s, ${textLiteral()}, ${textLiteral()})",
        () => s"regexp_replace($s, ${quotedRaw(regex())}, ${textLiteral()})",
        () => s"regexp_replace($s, ${quotedRaw(regex())}, '')",
        () => s"regexp_extract($s, ${quotedRaw(regex())}, ${one("0", "1", "2")})",
        () => s"regexp_substr($s, ${quotedRaw(regex())})",
        () => s"split_part($s, ${textLiteral()}, ${one("1", "2", "3", "-1", "-2")})",
        () => s"split($s, ${quotedRaw(regex())})[${one("0", "1", "2")}]",
        () => s"split($s, ${quotedRaw(regex())}, ${one("-1", "0", "1", "2")})[${one("0", "1")}]",
        () => s"element_at(split($s, ${quotedRaw(regex())}), ${one("1", "2", "-1")})",
        () => s"substring_index($s, ${textLiteral()}, ${one("1", "2", "-1", "0", "3")})",
        () => s"overlay($s PLACING ${textLiteral()} FROM ${place()})",
        () => s"overlay($s PLACING ${textLiteral()} FROM ${place()} FOR ${place()})",
        () => s"substr($s, 1, instr($s, ${textLiteral()}) - 1)",
        () => s"left($s, length($s) - 1)",
        () => s"reverse($s)",
        () => s"repeat($s, 2)",
        () => s"coalesce($s, ${textLiteral()})",
        () => s"nullif($s, ${textLiteral()})",
        () => s"greatest($s, ${textLiteral()})",
        () => s"least($s, ${textLiteral()})",
        () => s"if(${condition(depth - 1)}, $s, ${textLiteral()})",
        () => s"nvl2($s, ${textLiteral()}, $s)",
        () => s"CASE WHEN ${condition(depth - 1)} THEN ${textLiteral()} WHEN ${condition(depth - 1)} THEN $s END",
        () => s"hex($s)",
        () => s"cast(unhex($s) as string)",
        () => s"md5($s)",
        () => s"soundex($s)",
        () => s"mask($s)",
        () => s"format_string(${quoted(one("%04d", "a%03d", "%d", "%02d-x", "%s", "%-5d|", "%x", "%04d%%", "\u0000%03d", "%,d"))}, $n)",
        () => s"format_string(${quoted(one("%04d-%02d", "%02d%02d", "%01d/%03d"))}, $n, $n)",
        () => s"cast($n as string)",
        () => s"lpad(cast($n as string), ${one("1", "2", "4", "6", "8", "12")}, ${one("'0'", "' '", "'ab'", "'-'")})",
        () => s"cast(${double(depth - 1)} as string)",
        () => s"cast(${decimal(depth - 1)} as string)",
        () => s"lpad(cast(${decimal(depth - 1)} as string), ${one("3", "6", "8")}, '0')",
        () => s"concat(cast(${decimal(depth - 1)} as string), ${textLiteral()})",
        () => s"concat($n, ${textLiteral()}, $n)",
        () => s"cast(${date(depth - 1)} as string)",
        () => s"replace(cast(${date(depth - 1)} as string), '-', ${textLiteral()})",
        () => s"cast(${time(depth - 1)} as string)",
        () => s"date_format(${time(depth - 1)}, ${quoted(pattern())})",
        () => s"from_unixtime($n, ${quoted(pattern())})",
        () => s"cast(cast($s as binary) as string)",
        () => s"decode(encode($s, ${one("'UTF-8'", "'US-ASCII'", "'UTF-16'", "'ISO-8859-1'")}), ${one("'UTF-8'", "'ISO-8859-1'", "'US-ASCII'")})",
        () => s"elt(${one("1", "2")}, $s, ${textLiteral()})",
        () => s"conv($n, 10, ${one("16", "2", "-10")})",
        () => s"to_char($n, ${one("'999'", "'000'", "'S999'", "'$99'")})",
        () => s"format_number($n, ${one("0", "2", "-1")})",
        () => s"format_number(${double(depth - 1)}, 2)")
    }

    def number(depth: Int): String = {
      def n = number(depth - 1)
      def s = text(depth - 1)
      if (depth <= 0) t match {
        case StringType => one(
            "length(c)", "cast(c as int)", "try_cast(c as int)", "try_cast(c as bigint)", "ascii(c)", "octet_length(c)", "hash(c)",
            s"instr(c, ${textLiteral()})", s"locate(${textLiteral()}, c, ${place()})", s"unix_timestamp(c, ${quoted(pattern())})")
        case BinaryType => one("length(c)", "hash(c)", "octet_length(c)", "bit_length(c)")
        case DateType => one("year(c)", "month(c)", "day(c)", "dayofweek(c)", "weekofyear(c)", "unix_date(c)", "quarter(c)", "dayofyear(c)",
            "datediff(c, date'2024-01-31')")
        case TimestampType | TimestampNTZType => one("year(c)", "month(c)", "day(c)", "hour(c)", "minute(c)", "second(c)", "unix_timestamp(c)",
            "weekday(c)", "extract(YEAROFWEEK FROM c)")
        case BooleanType => "int(c)"
        case _: DecimalType | FloatType | DoubleType => one("cast(c as int)", "cast(c as bigint)", "floor(c)", "ceil(c)", "try_cast(c as int)",
            "try_cast(c as tinyint)", "hash(c)", "c div 3")
        case _ => one("c", "c", "cast(c as tinyint)", "try_cast(c as smallint)", "cast(c as bigint)", "try_cast(c as int)", "hash(c)")
      }
      else oneOf(
        () => s"$n + ${int()}",
        () => s"$n - ${int()}",
        () => s"${int()} - $n",
        () => s"$n * ${int()}",
        () => s"$n + ${long()}",
        () => s"$n * ${long()}",
        () => s"try_add($n, ${int()})",
        () => s"try_multiply($n, ${int()})",
        () => s"try_subtract($n, ${int()})",
        () => s"$n div ${int()}",
        () => s"$n div $n",
        () => s"${int()} div $n",
        () => s"$n % ${int()}",
        () => s"${int()} % $n",
        () => s"$n % ${long()}",
        () => s"pmod($n, ${int()})",
        () => s"pmod(${int()}, $n)",
        () => s"$n - $n % ${int()}",
        () => s"abs($n)",
        () => s"-($n)",
        () => s"~($n)",
        () => s"$n & ${int()}",
        () => s"$n | ${int()}",
        () => s"$n ^ ${int()}",
        () => s"shiftleft($n, ${int()})",
        () => s"shiftright($n, ${int()})",
        () => s"shiftrightunsigned($n, ${int()})",
        () => s"round($n, ${place()})",
        () => s"bround($n, ${place()})",
        () => s"ceil($n, ${one("-1", "0", "1", "-3")})",
        () => s"floor($n, ${one("-1", "0", "1", "-3")})",
        () => s"sign($n)",
        () => s"greatest($n, ${int()})",
        () => s"least($n, ${int()}, $n)",
        () => s"coalesce($n, ${int()})",
        () => s"nullif($n, ${int()})",
        () => s"if(${condition(depth - 1)}, $n, ${int()})",
        () => s"CASE WHEN ${condition(depth - 1)} THEN $n WHEN ${condition(depth - 1)} THEN ${int()} ELSE $n END",
        () => s"CASE $n WHEN ${int()} THEN 1 WHEN ${int()} THEN 2 END",
        () => s"width_bucket($n, ${real()}, ${real()}, ${one("1", "5", "100")})",
        () => s"width_bucket(${double(depth - 1)}, ${real()}, ${real()}, ${one("1", "5", "100")})",
        () => s"cast($n as tinyint)",
        () => s"cast($n as smallint)",
        () => s"try_cast($n as tinyint)",
        () => s"cast(cast($n as string) as int)",
        () => s"try_cast(substring(cast($n as string), ${place()}, ${place()}) as int)",
        () => s"hash($n)",
        () => s"xxhash64($n)",
        () => s"bit_count($n)",
        () => s"int(${condition(depth - 1)})",
        () => s"length($s)",
        () => s"instr($s, ${textLiteral()})",
        () => s"locate(${textLiteral()}, $s)",
        () => s"locate($s, ${textLiteral()})",
        () => s"instr(${textLiteral()}, $s)",
        () => s"locate(${textLiteral()}, $s, ${place()})",
        () => s"find_in_set($s, 'a,b,,ab')",
        () => s"ascii($s)",
        () => s"levenshtein($s, ${textLiteral()})",
        () => s"crc32($s)",
        () => s"regexp_count($s, ${quotedRaw(regex())})",
        () => s"regexp_instr($s, ${quotedRaw(regex())})",
        () => s"size(split($s, ${quotedRaw(regex())}))",
        () => s"size(regexp_extract_all($s, ${quotedRaw(regex())}, 0))",
        () => s"try_cast($s as int)",
        () => s"cast($s as bigint)",
        () => s"try_to_number($s, ${one("'99'", "'000'", "'9999'", "'S99'", "'99.9'")})",
        () => s"array_position(array(1, 7, ${int()}), $n)",
        () => s"size(filter(array(1, 5, 7), x -> x = $n))",
        () => s"aggregate(array(1, 2), 0, (a, x) -> a + x * $n)",
        () => s"element_at(map(1, 10, 7, null), $n)",
        () => s"array_max(array($n, ${int()}, $n))",
        () => s"sort_array(array($n, ${int()}))[0]",
        () => s"year(${date(depth - 1)})",
        () => s"month(${date(depth - 1)})",
        () => s"day(${date(depth - 1)})",
        () => s"dayofweek(${date(depth - 1)})",
        () => s"weekday(${date(depth - 1)})",
        () => s"weekofyear(${date(depth - 1)})",
        () => s"quarter(${date(depth - 1)})",
        () => s"dayofyear(${date(depth - 1)})",
        () => s"datediff(${date(depth - 1)}, date'2020-02-29')",
        () => s"unix_date(${date(depth - 1)})",
        () => s"extract(YEAROFWEEK FROM ${date(depth - 1)})",
        () => s"hour(${time(depth - 1)})",
        () => s"minute(${time(depth - 1)})",
        () => s"second(${time(depth - 1)})",
        () => s"unix_timestamp(${time(depth - 1)})",
        () => s"unix_micros(${time(depth - 1)})",
        () => s"unix_timestamp($s, ${quoted(pattern())})",
        () => s"timestampdiff(${one("DAY", "MONTH", "HOUR", "YEAR", "SECOND", "WEEK")}, timestamp'2012-02-29 12:30:00', ${time(depth - 1)})")
    }

    def double(depth: Int): String = {
      def x = double(depth - 1)
      if (depth <= 0) t match {
        case DoubleType => "c"
        case FloatType => one("c", "double(c)")
        case StringType => one("try_cast(c as double)", "cast(c as double)", "try_cast(c as float)")
        case DateType | TimestampType => one("double(year(c))", s"months_between(c, timestamp'2020-02-29 12:00:00')")
        case _ => s"double(${number(0)})"
      }
      else oneOf(
        () => s"$x + ${real()}",
        () => s"$x - ${real()}",
        () => s"${real()} - $x",
        () => s"$x * ${real()}",
        () => s"$x / ${real()}",
        () => s"${real()} / $x",
        () => s"$x % ${real()}",
        () => s"pmod($x, ${real()})",
        () => s"$x * $x",
        () => s"abs($x)",
        () => s"-($x)",
        () => s"round($x, ${place()})",
        () => s"bround($x, ${place()})",
        () => s"rint($x)",
        () => s"sign($x)",
        () => s"sqrt($x)",
        () => s"cbrt($x)",
        () => s"exp($x)",
        () => s"expm1($x)",
        () => s"ln($x)",
        () => s"log10($x)",
        () => s"log2($x)",
        () => s"log1p($x)",
        () => s"log(${real()}, $x)",
        () => s"log($x, ${real()})",
        () => s"power($x, ${real()})",
        () => s"power($x, ${one("2", "3", "0", "-1", "0.5D", "-2", "2.5D")})",
        () => s"power(${real()}, $x)",
        () => s"sin($x)",
        () => s"tan($x)",
        () => s"atan($x)",
        () => s"atan2($x, ${real()})",
        () => s"asin($x)",
        () => s"acos($x)",
        () => s"sinh($x)",
        () => s"cosh($x)",
        () => s"tanh($x)",
        () => s"degrees($x)",
        () => s"hypot($x, ${real()})",
        () => s"cast(cast($x as float) as double)",
        () => s"cast($x as float)",
        () => s"nanvl($x, ${real()})",
        () => s"nanvl(${real()}, $x)",
        () => s"greatest($x, ${real()})",
        () => s"least($x, ${real()}, $x)",
        () => s"coalesce($x, ${real()})",
        () => s"nullif($x, ${real()})",
        () => s"if(isnan($x), ${real()}, $x)",
        () => s"CASE WHEN $x > ${real()} THEN $x ELSE ${real()} END",
        () => s"double(${number(depth - 1)})",
        () => s"double(${decimal(depth - 1)})",
        () => s"try_cast(${text(depth - 1)} as double)",
        () => s"cast(cast($x as string) as double)",
        () => s"cast(${time(depth - 1)} as double)",
        () => s"months_between(${time(depth - 1)}, ${one("timestamp'2020-02-29 00:00:00'", "date'2024-01-15'", "timestamp'2024-01-31 23:59:59'")})")
    }

    def decimal(depth: Int): String = {
      def x = decimal(depth - 1)
      if (depth <= 0) t match {
        case _: DecimalType => "c"
        case StringType => one("try_cast(c as decimal(10,2))", "try_cast(c as decimal(38,10))")
        case DoubleType | FloatType => one("cast(c as decimal(10,2))", "cast(c as decimal(38,6))", "try_cast(c as decimal(3,0))")
        case _ => one(s"cast(${number(0)} as decimal(12,2))", s"cast(${number(0)} as decimal(38,3))", s"cast(${number(0)} as decimal(3,1))")
      }
      else oneOf(
        () => s"$x + ${exact()}",
        () => s"$x - ${exact()}",
        () => s"${exact()} - $x",
        () => s"$x * ${exact()}",
        () => s"$x / ${exact()}",
        () => s"${exact()} / $x",
        () => s"$x % ${exact()}",
        () => s"${exact()} % $x",
        () => s"pmod($x, ${exact()})",
        () => s"$x div ${exact()}",
        () => s"$x * $x",
        () => s"abs($x)",
        () => s"-($x)",
        () => s"round($x, ${place()})",
        () => s"bround($x, ${place()})",
        () => s"ceil($x, ${one("-1", "0", "1", "2", "-3")})",
        () => s"floor($x, ${one("-1", "0", "1", "2", "-3")})",
        () => s"ceil($x)",
        () => s"floor($x)",
        () => s"sign($x)",
        () => s"cast($x as decimal(${one("5,2", "4,1", "10,0", "38,0", "38,18", "20,6", "18,3", "3,3")}))",
        () => s"try_cast($x as decimal(${one("5,2", "4,1", "10,0", "38,18", "3,3")}))",
        () => s"try_add($x, ${exact()})",
        () => s"try_divide($x, ${exact()})",
        () => s"try_multiply($x, ${exact()})",
        () => s"greatest($x, ${exact()})",
        () => s"least($x, ${exact()})",
        () => s"coalesce($x, ${exact()})",
        () => s"nullif($x, ${exact()})",
        () => s"if(${condition(depth - 1)}, $x, ${exact()})",
        () => s"cast(${number(depth - 1)} as decimal(${one("10,2", "20,0", "5,3")}))",
        () => s"cast(${double(depth - 1)} as decimal(${one("10,2", "20,0", "5,3")}))",
        () => s"try_cast(${text(depth - 1)} as decimal(${one("10,2", "20,0", "5,3")}))",
        () => s"extract(SECOND FROM ${time(depth - 1)})",
        () => s"cast(${time(depth - 1)} as decimal(${one("20,6", "38,9", "10,0")}))",
        () => s"cast(cast($x as string) as decimal(20,4))")
    }

    def date(depth: Int): String = {
      def d = date(depth - 1)
      def n = number(depth - 1)
      if (depth <= 0) t match {
        case DateType => "c"
        case TimestampType | TimestampNTZType => "cast(c as date)"
        case StringType => one("try_cast(c as date)", "cast(c as date)", s"to_date(c, ${quoted(pattern())})",
            s"cast(try_to_timestamp(c, ${quoted(pattern())}) as date)")
        case _ => s"date_from_unix_date(try_cast(${number(0)} as int))"
      }
      else oneOf(
        () => s"date_add($d, ${int()})",
        () => s"date_sub($d, ${int()})",
        () => s"date_add($d, $n)",
        () => s"date_add(date'2024-02-28', $n)",
        () => s"add_months($d, ${int()})",
        () => s"add_months(date'2024-01-31', $n)",
        () => s"last_day($d)",
        () => s"next_day($d, ${one("'MO'", "'sunday'", "'xx'")})",
        () => s"trunc($d, ${one("'MM'", "'YEAR'", "'QUARTER'", "'WEEK'", "'day'", "'xx'", "''", "'mon'")})",
        () => s"$d + ${interval()}",
        () => s"$d - ${interval()}",
        () => s"cast($d + ${interval()} as date)",
        () => s"date'2024-01-31' + $n * interval '1' month",
        () => s"make_date($n, ${one("1", "2", "12", "13", n)}, ${one("1", "29", "31", "0", n)})",
        () => s"make_date(${one("2024", "0", "-1", "9999", "10000", n)}, $n, ${one("1", "31", n)})",
        () => s"date_from_unix_date($n)",
        () => s"cast(${time(depth - 1)} as date)",
        () => s"to_date(${time(depth - 1)})",
        () => s"try_cast(${text(depth - 1)} as date)",
        () => s"cast(lpad(cast($n as string), 4, '0') as date)",
        () => s"cast(concat(lpad(cast($n as string), 4, '0'), '-01-31') as date)",
        () => s"cast(format_string('%04d-%02d', $n, $n) as date)",
        () => s"to_date(${text(depth - 1)}, ${quoted(pattern())})",
        () => s"to_date(lpad(cast($n as string), 8, '0'), 'yyyyMMdd')",
        () => s"to_date(date_format(${time(depth - 1)}, 'yyyyMM'), 'yyyyMM')",
        () => s"coalesce($d, date'0001-01-01')",
        () => s"nullif($d, date'2024-02-29')",
        () => s"greatest($d, date'1970-01-01')",
        () => s"least($d, date'1582-10-15')",
        () => s"if(${condition(depth - 1)}, $d, date'2000-01-01')",
        () => s"cast(cast($d as string) as date)")
    }

    def time(depth: Int): String = {
      def x = time(depth - 1)
      def n = number(depth - 1)
      if (depth <= 0) t match {
        case TimestampType | TimestampNTZType => "c"
        case DateType => one("cast(c as timestamp)", "cast(c as timestamp_ntz)")
        case StringType => one("try_cast(c as timestamp)", s"to_timestamp(c, ${quoted(pattern())})", "try_cast(c as timestamp_ntz)",
            s"try_to_timestamp(c, ${quoted(pattern())})")
        case DoubleType | FloatType => one("cast(c as timestamp)", "timestamp_seconds(c)")
        case _ => one(s"timestamp_seconds(${number(0)})", s"timestamp_millis(${number(0)})", s"timestamp_micros(${number(0)})",
            s"cast(${number(0)} as timestamp)")
      }
      else oneOf(
        () => s"$x + ${interval()}",
        () => s"$x - ${interval()}",
        () => s"date_trunc(${one("'YEAR'", "'MM'", "'DAY'", "'HOUR'", "'MINUTE'", "'SECOND'", "'MILLISECOND'", "'MICROSECOND'", "'WEEK'", "'QUARTER'", "'x'", "''")}, $x)",
        () => s"from_utc_timestamp($x, ${zone()})",
        () => s"to_utc_timestamp($x, ${zone()})",
        () => s"convert_timezone(${zone()}, ${zone()}, cast($x as timestamp_ntz))",
        () => s"cast($x as timestamp_ntz)",
        () => s"cast($x as timestamp)",
        () => s"cast(${date(depth - 1)} as timestamp)",
        () => s"cast(${date(depth - 1)} as timestamp_ntz)",
        () => s"timestampadd(${one("DAY", "MONTH", "HOUR", "YEAR", "SECOND", "WEEK", "MICROSECOND")}, ${int()}, $x)",
        () => s"timestampadd(${one("DAY", "MONTH", "HOUR", "YEAR", "SECOND")}, $n, timestamp'2024-02-29 02:30:00')",
        () => s"timestamp'2024-02-29 02:30:00' + $n * interval '1' hour",
        () => s"timestamp'2024-02-29 02:30:00' + make_dt_interval($n, 1, 1, 1.5)",
        () => s"timestamp_seconds($n)",
        () => s"timestamp_millis($n)",
        () => s"timestamp_micros($n)",
        () => s"cast($n as timestamp)",
        () => s"cast(${double(depth - 1)} as timestamp)",
        () => s"cast(${decimal(depth - 1)} as timestamp)",
        () => s"try_cast(${text(depth - 1)} as timestamp)",
        () => s"try_cast(${text(depth - 1)} as timestamp_ntz)",
        () => s"to_timestamp(${text(depth - 1)}, ${quoted(pattern())})",
        () => s"to_timestamp(date_format($x, 'yyyyMMddHH'), 'yyyyMMddHH')",
        () => s"cast(format_string('%04d-%02d-01 %02d:00:00', $n, $n, $n) as timestamp)",
        () => s"coalesce($x, timestamp'1883-11-18 12:03:58')",
        () => s"nullif($x, timestamp'2024-02-29 02:30:00')",
        () => s"greatest($x, timestamp'1970-01-01 00:00:00')",
        () => s"window($x, '1 day').start",
        () => s"if(${condition(depth - 1)}, $x, timestamp'2000-01-01 00:00:00')")
    }

    def condition(depth: Int): String = {
      def s = text(depth - 1)
      def n = number(depth - 1)
      if (depth <= 0) t match {
        case BooleanType => "c"
        case StringType => one(s"c LIKE ${quotedRaw(like())}", s"c RLIKE ${quotedRaw(regex())}", s"c > ${textLiteral()}", "c is null")
        case _ => one("c is null", s"${number(0)} > ${int()}", s"${number(0)} = ${int()}")
      }
      else oneOf(
        () => s"$s LIKE ${quotedRaw(like())}",
        () => s"$s LIKE ${quotedRaw(like())} ESCAPE ${one("'|'", "'%'", "'_'", "'a'", "'-'")}",
        () => s"NOT $s LIKE ${quotedRaw(like())}",
        () => s"$s ILIKE ${quotedRaw(like())}",
        () => s"$s LIKE ANY (${quotedRaw(like())}, ${quotedRaw(like())})",
        () => s"$s LIKE ALL (${quotedRaw(like())}, ${quotedRaw(like())})",
        () => s"$s NOT LIKE ANY (${quotedRaw(like())}, ${quotedRaw(like())})",
        () => s"$s NOT LIKE ALL (${quotedRaw(like())}, ${quotedRaw(like())})",
        () => s"${textLiteral()} LIKE concat(${textLiteral()}, $s, ${one("'%'", "''")})",
        () => s"$s RLIKE ${quotedRaw(regex())}",
        () => s"NOT $s RLIKE ${quotedRaw(regex())}",
        () => s"startswith($s, ${textLiteral()})",
        () => s"endswith($s, ${textLiteral()})",
        () => s"contains($s, ${textLiteral()})",
        () => s"contains(${textLiteral()}, $s)",
        () => s"$s ${one("=", "<", ">=", "<=>", "!=", ">")} ${textLiteral()}",
        () => s"$s IN (${textLiteral()}, ${textLiteral()}, ${one("null", textLiteral())})",
        () => s"$n ${one("=", "<", ">=", "<=>", "!=", ">")} ${int()}",
        () => s"$n NOT IN (${int()}, ${int()})",
        () => s"$n BETWEEN ${int()} AND ${int()}",
        () => s"${double(depth - 1)} ${one("=", "<", ">=", "<=>", "!=", ">")} ${real()}",
        () => s"${double(depth - 1)} IN (${real()}, ${real()})",
        () => s"isnan(${double(depth - 1)})",
        () => s"${decimal(depth - 1)} ${one("=", "<", ">=", "<=>", "!=", ">")} ${exact()}",
        () => s"${date(depth - 1)} ${one("=", "<", ">=", "<=>", ">")} date'${one("2024-02-29", "0001-01-01", "0000-12-31", "9999-12-31", "1582-10-10")}'",
        () => s"${time(depth - 1)} ${one("<", ">=")} timestamp'${one("2024-03-10 02:30:00", "0001-01-01 00:00:00", "1883-11-18 12:00:00")}'",
        () => s"array_contains(array(${textLiteral()}, ${textLiteral()}), $s)",
        () => s"arrays_overlap(array(1, null, 7), array($n, ${int()}))",
        () => s"exists(array(1, 7), x -> x > $n)",
        () => s"($n, $s) IN ((${int()}, ${textLiteral()}), (${int()}, ${textLiteral()}))",
        () => s"struct($n, $s) < struct(${int()}, ${textLiteral()})",
        () => s"array($n) = array(${int()})",
        () => s"(${condition(depth - 1)}) AND (${condition(depth - 1)})",
        () => s"(${condition(depth - 1)}) OR (${condition(depth - 1)})",
        () => s"NOT (${condition(depth - 1)})",
        () => s"(${condition(depth - 1)}) <=> (${condition(depth - 1)})",
        () => s"($s) is null",
        () => s"($n) is not null",
        () => s"$s = $s",
        () => s"$n > $n",
        () => s"cast($s as boolean)")
    }
  }
}

private[predicate] object HostileFunctions {

  /** A literal of Spark's SQL for any text. */
  def quoted(text: String): String =
    text.map(c => if (c < ' ' || c > '~' || c == '\'' || c == '\\') f"\\u${c.toInt}%04x" else c.toString)
      .mkString("'", "", "'")

  private val letters = Seq("a", "b", "A", "x", "-", " ", "0", "9", "2", "\u0000", "\u007f", "\u00e9", "\u0130", "\u00df", "\u03a3",
    "\uD83D\uDE00", ".", "%", "_", "\\", "\n", "ab")

  private val texts = Seq("", "2024-01-01", "2024", "12", "0", "-1", "NaN", "Infinity", "-0.0", "1e5", "true", "ab-c", "\u0000", " ",
    "\u00e9", "2024-02-29 10:00:00", "$1", "\\0", "ABC", "i\u0307", "\uFFFD")

  /** The types of the column. */
  val types: Seq[DataType] = Seq(
    StringType, StringType, StringType, StringType, BinaryType, BooleanType, ByteType, ShortType, IntegerType, IntegerType, LongType, FloatType,
    DoubleType, DoubleType, DateType, DateType, TimestampType, TimestampType, TimestampNTZType, DecimalType(5, 2), DecimalType(18, 6),
    DecimalType(20, 2), DecimalType(38, 2), DecimalType(38, 18), DecimalType(38, 0))

  /** Functions by which files with a match were lost once. */
  val once: Seq[(DataType, Seq[String])] = Seq(
    // NUL marks a place of any digit
    TimestampType -> Seq("date_format(c, \"'\\0'mm\")", "concat(date_format(c, \"'\\0'HH\"), 'x')"),
    // the least and the greatest remainder had no digits after the point
    DecimalType(5, 2) -> Seq("lpad(cast(c % 1 as string), 6, '0')", "concat(cast(c % 1.5 as string), 'x')", "pmod(c, 1000000)"),
    // the year 0 is a year
    IntegerType -> Seq("cast(lpad(cast(c as string), 4, '0') as date)"))

  private val moreTexts: Seq[String] = Seq("\u0000", "a\u0000", "\u0000a", "a\u0000b", "\u007f", "a\u007f", "\u00001", "2024\u0000", "a ", "a  ",
    "0000-06-01", "0000", "\uFFFD", "a\uFFFD", "\uD83D\uDE00", "a\uD83D\uDE00b", "\uE000", "\u0130", "i\u0307", "\u00df", "SS", "\u03a3\u03c3\u03c2",
    "NaN", "-0.0", "Infinity", "1e3", "true", "%", "_", "a%b", "\\", "a\\", "0", "00", "-12", "2147483648", "\n", "a\n", "\r", "a\u2028", "a.b", "aab",
    "aa", "ba", "-a-b-", "--", "xax", "b-", "9999", "10000-01-01", "-0001-01-01", "20240101", "2024-01-01 24:00:00", "12:30", "é-é")

  /** More values of a type than [[ColumnFunctionCases]] has. */
  def values(t: DataType): Seq[Any] = t match {
    case StringType => moreTexts.map(UTF8String.fromString) ++ bytes.map(UTF8String.fromBytes)
    case BinaryType => moreTexts.map(_.getBytes("UTF-8")) ++ bytes
    case LongType => Seq(0L, 1L, -1L, 9L, 10L, 999L, 1000L, -62135596800L, -62167219200L, 253402300800L, 100000000000L)
    case IntegerType => Seq(0, 1, 9, 10, 99, 100, 999, 2024, 9999, 10000, -719528, -719162, 2932896, 2932897, 12, 13, 31, 32)
    case ShortType => Seq(0, 1, 9, 10, 99, 100, 2024, 9999, 10000).map(_.toShort)
    case DoubleType =>
      Seq(0.001, 0.0009999, 1e7, 9999999.999, 0.5, 1.5, 2.5, -0.5, -2.5, 1e15, 4.5e15, 9.007199254740993e15, 9.3e18, 2147483647.5, 1e-5, 12345.678)
    case FloatType => Seq(0.001f, 0.000999f, 1e7f, 9999999f, 0.5f, 2.5f, -2.5f, 1.6777217e7f, 12345.678f)
    case DateType => Seq(-719528, -719529, -719163, -719162, -719161, 2932896, 2932897, -141428, -141427, 0, 59, 19782, 19783)
    case d: DecimalType =>
      Seq("0.01", "0.5", "0.99", "1.5", "1.49", "2.5", "7.99", "12.34", "99.99", "100", "0", "-0.5", "-1.5", "999.99", "1000.01").map(BigDecimal(_))
        .map(v => v.setScale(d.scale, BigDecimal.RoundingMode.DOWN)).filter(_.precision <= d.precision)
        .filter(v => v.precision - v.scale <= d.precision - d.scale)
        .map(Decimal(_, d.precision, d.scale))
    case _ => Nil
  }

  private val bytes: Seq[Array[Byte]] = Seq(
    Array(0xc3), Array(0x61, 0xc3), Array(0xc3, 0x61), Array(0xe2, 0x61, 0x62, 0x63), Array(0xff), Array(0x61, 0xf0, 0x9f), Array(0xed, 0xa0, 0x80),
    Array(0xc0, 0x80), Array(0x2d, 0x80, 0x2d), Array(0x00), Array(0x61, 0x00, 0xff)).map(_.map(_.toByte))
}
