// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs
import io.sparkzorder.index.ByteValues

/** Functions of texts and binaries, against Spark itself: each value with a wanted result is in the set. */
class SearchedBeginningsSuite extends AnyFunSuite with RandomInputs {
  private val text = AttributeReference("c", StringType)()
  private val binary = AttributeReference("c", BinaryType)()

  private def literal(value: String) = Literal(UTF8String.fromString(value), StringType)

  private val pieces = Seq("a", "b", "ab", "c", "-", "@", "0", "1", "00", "é", "\n", "\r\n", " ")
  private val odd = Seq(
    Array[Byte](0),
    Array[Byte](127),
    Array(0xff.toByte),
    Array(0xc3.toByte),
    Array(0x80.toByte),
    "\uD83D\uDE00".getBytes("UTF-8"),
    "\u2028".getBytes("UTF-8"),
    "\uFFFD".getBytes("UTF-8"))

  private def bytes(random: Random): Array[Byte] =
    (1 to random.nextInt(6)).toArray.flatMap { _ =>
      if (random.nextInt(8) == 0) odd(random.nextInt(odd.size))
      else pieces(random.nextInt(pieces.size)).getBytes("UTF-8")
    }

  private def contains(set: Intervals, value: Array[Byte]): Boolean = set match {
    case some: ByteIntervals => some.overlaps(value, value)
    case none => !none.isEmpty
  }

  private def position(value: Any): Either[Long, Array[Byte]] = value match {
    case t: UTF8String => Right(t.getBytes)
    case b: Array[Byte] => Right(b)
    case b: Boolean => Left(if (b) 1L else 0L)
    case n: Number => Left(n.longValue)
    case d: Decimal => Left(d.toLong)
  }

  private def wanted(result: Any, random: Random): Intervals = position(result) match {
    case Left(n) if result.isInstanceOf[Boolean] => Intervals.between(n, n)
    case Left(n) => random.nextInt(3) match {
        case 0 => Intervals.between(n, n)
        case 1 => Intervals.between(n, n + random.nextInt(20))
        case _ => Intervals.between(n - random.nextInt(3), n)
      }
    case Right(value) =>
      val cut = value.take(random.nextInt(value.length + 1))
      val end = ByteEnd(if (random.nextBoolean()) value else cut, random.nextBoolean())
      random.nextInt(6) match {
        case 0 | 1 => Intervals.ofBytes(Seq(value))
        case 2 => Intervals.ofPrefix(cut)
        case 3 => ByteIntervals.of(end, ByteEnd.Endless)
        case 4 => ByteIntervals.of(ByteEnd.Endless, end)
        case _ => Intervals.ofBytes(Seq(value, bytes(random), bytes(random)))
      }
  }

  private def holds(results: Intervals, result: Any): Boolean = (position(result), results) match {
    case (Left(n), longs: LongIntervals) => longs.contains(n)
    case (Right(value), set) => contains(set, value)
    case _ => false
  }

  /** The number of values with a wanted result, and of values that are not in the set of a wanted result. */
  private def check(call: Expression, of: Attribute, random: Random): (Int, Int) = {
    var (met, left) = (0, 0)
    TextFunctions.of(call, of).foreach { function =>
      val bound = BindReferences.bindReference(call, Seq(of))
      val shared = if (random.nextInt(3) == 0) bytes(random) else Array.emptyByteArray
      val values = Seq.fill(20)(shared ++ bytes(random))
      val results = values.map { v =>
        val value = if (of.dataType == BinaryType) v else UTF8String.fromBytes(v)
        Try(bound.eval(InternalRow(value))).toOption.flatMap(Option(_))
      }
      // most texts do not match
      results.flatten.distinct.filter(_ != false).take(3).foreach { result =>
        val some = wanted(result, random)
        val sets = function match {
          case s: SearchedBeginnings =>
            val sorted = values.sortWith((a, b) =>
              ByteValues.compare(a, 0, a.length, b) < 0).map(ByteEnd(_, inclusive = true))
            val files = Seq(
              Intervals.ofByteRanges(Seq((sorted.head, sorted.last))),
              Intervals.ofByteRanges(sorted.grouped(3).map(g => (g.head, g.last)).toSeq))
            (None +: files.map(Some(_))).map(f =>
              s.valuesFor(some, false, new BeginningsInFiles(shared, f)))
          case l: LaterCharacters =>
            Try(l.valuesFor(some, shared, isOfAllFiles = true)).toOption.toSeq
          case other => Seq(other.valuesFor(some, ofNulls = false, None))
        }
        for (set <- sets; (value, found) <- values.zip(results)) {
          val isWanted = found.exists(holds(some, _))
          val isLeft = !contains(set, value)
          if (isWanted) met += 1
          if (isLeft) left += 1
          if (isWanted && isLeft)
            fail(s"$call of ${value.map(b => f"$b%02x").mkString(" ")} for $some: $set")
        }
      }
    }
    (met, left)
  }

  // `make torture-skipping` asks for more
  private val factor = sys.props.get("sparkzorder.test.pairs").fold(1)(n => 1 + n.toInt / 5000)

  private def checkAll(rounds: Int, of: Attribute)(call: Random => Expression): Unit =
    withRandom { random =>
      val counts = Seq.fill(rounds * factor)(call(random)).map(check(_, of, random))
      val (met, left) = (counts.map(_._1).sum, counts.map(_._2).sum)
      info(s"$met values with a wanted result, $left left out")
      assert(met > rounds / 2 && left > rounds / 2)
    }

  private val quickAndMore = Seq(80 -> Nil, 1000 -> Seq(Slow))

  private def pick(random: Random)(texts: String*) = texts(random.nextInt(texts.size))

  private def sequence(random: Random, depth: Int): String =
    Seq.fill(1 + random.nextInt(3))(part(random, depth) +
      pick(random)("", "", "", "", "?", "+", "*", "{2}", "{1,2}", "{0,}", "+?", "*+")).mkString

  private def part(random: Random, depth: Int): String =
    random.nextInt(if (depth > 2) 5 else 6) match {
      case 0 | 1 => pick(random)("a", "b", "-", "@", "00", "é", "\\.")
      case 2 => pick(random)("[ab]", "[^a]", "[a-c]", "[b-]", "[^0-9]", "[\\d-]", "[\\s\\S]")
      case 3 => pick(random)(".", "\\d", "$", "\\b", "\\s", "\\W", "\n")
      case 4 => pick(random)("a", "0", "1", "c")
      case _ =>
        Seq.fill(1 + random.nextInt(3))(sequence(random, depth + 1))
          .mkString(pick(random)("(", "(?:"), "|", ")")
    }

  for ((rounds, tags) <- quickAndMore)
    test(s"RLIKE with a pattern that begins with an anchor, $rounds rounds", tags: _*) {
      checkAll(rounds, text) { r =>
        RLike(
          text,
          literal(Seq.fill(1 + r.nextInt(2))(pick(r)("^", "^", "\\A") + sequence(
            r,
            0)).mkString("|")))
      }
    }

  test("a part without characters may be repeated many times") {
    assert(MatchedTexts.ofRegex("^((((){999}){999}){999}){999}a").isEmpty)
    assert(MatchedTexts.ofRegex("^a(){999}b").isDefined)
    assert(MatchedTexts.group("^a(b)", -1).isEmpty)
  }

  test("LIKE with wildcards for one character") {
    checkAll(1000, text) { r =>
      val pattern =
        Seq.fill(1 + r.nextInt(5))(pick(r)("a", "b", "0", "_", "_", "-", "é", "%", "\\_"))
      Like(text, literal(pattern.mkString), '\\')
    }
  }

  for ((rounds, tags) <- quickAndMore)
    test(s"REGEXP_EXTRACT of a group behind other parts, $rounds rounds", tags: _*) {
      checkAll(rounds, text) { r =>
        val pattern = "^" + sequence(r, 0) + "(" + sequence(r, 1) + ")" +
          pick(r)("", "$", "b", "(a)", ".*")
        val groups = "\\((?!\\?)".r.findAllIn(pattern).size
        RegExpExtract(text, literal(pattern), Literal(1 + r.nextInt(math.max(1, groups))))
      }
    }

  test("REGEXP_REPLACE keeps what stands before the first match") {
    checkAll(1000, text) { r =>
      RegExpReplace(text, literal(sequence(r, 0)), literal(pick(r)("", "-", "$0", "a")), Literal(1))
    }
  }

  test("binaries") {
    checkAll(1000, binary) { r =>
      r.nextInt(6) match {
        case 0 => Cast(binary, StringType)
        case 1 => Hex(binary)
        case 2 => Substring(binary, Literal(r.nextInt(2)), Literal(1 + r.nextInt(3)))
        case 3 => Substring(binary, Literal(2 + r.nextInt(3)), Literal(1 + r.nextInt(3)))
        case _ =>
          val decoded =
            new StringDecode(binary, literal(pick(r)("UTF-8", "US-ASCII", "iso-8859-1")))
          replaced(decoded)
      }
    }
  }

  test("texts as binaries, as digits, and as numbers") {
    checkAll(1000, text) { r =>
      r.nextInt(4) match {
        case 0 => Cast(text, BinaryType)
        case 1 => Hex(text)
        case 2 => replaced(new Encode(text, literal("UTF-8")))
        case _ => Cast(text, IntegerType, None, EvalMode.LEGACY)
      }
    }
    withRandom { random =>
      for (_ <- 1 to 1000 * factor) {
        val format = pick(random)("0", "00", "999", "0009", "9")
        check(new TryToNumber(text, literal(format)), text, random)
      }
    }
  }

  /** What Spark's optimizer makes of a call. */
  private def replaced(e: Expression): Expression = (e: Any) match {
    case r: RuntimeReplaceable => r.replacement
    case _ => e
  }
}
