// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import scala.util.Try

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.catalyst.expressions.{Like, Literal}

import io.sparkzorder.RandomInputs

/** LIKE 'p%' translated wrongly loses rows (hudi#18791): compared with Spark's own LIKE. */
class LikePatternSuite extends AnyFunSuite with RandomInputs {
  import LikePattern.{Beginning, Part, Whole}

  test("by hand") {
    def of(pattern: String) = LikePattern.of(pattern, '\\').map(p => (p.text, p.extent))
    assert(of("abc") === Some("abc" -> Whole))
    assert(of("") === Some("" -> Whole))
    assert(of("abc%") === Some("abc" -> Beginning))
    assert(of("ab%c") === Some("ab" -> Part))
    assert(of("ab_") === Some("ab" -> Part))
    assert(of("ab%%") === Some("ab" -> Part))
    assert(of("a\\%b%") === Some("a%b" -> Beginning))
    assert(of("a\\_") === Some("a_" -> Whole))
    assert(of("a\\\\%") === Some("a\\" -> Beginning))
    assert(of("%a") === None && of("_") === None)
    assert(of("a\\b") === None && of("a\\") === None)
    assert(LikePattern.of("a|%%", '|').map(_.text) === Some("a%"))
    assert(of("a\uFFFD%") === None)
  }

  test("random patterns and texts: what is said of the beginning is true of every match") {
    withRandom { random =>
      val letters = "ab%_\\é"
      def draw(n: Int) =
        Seq.fill(random.nextInt(n))(letters(random.nextInt(letters.length))).mkString
      var judged = 0
      for (_ <- 1 to 20000) {
        val (pattern, text) = (draw(6), draw(6))
        // a pattern that Spark refuses is an error of the query, whatever is skipped
        val spark = Try(Like(Literal(text), Literal(pattern), '\\').eval(null) == true)
        for (p <- LikePattern.of(pattern, '\\'); matches <- spark.toOption) {
          if (matches) judged += 1
          p.extent match {
            case Whole => assert(matches === (text == p.text), (pattern, text))
            case Beginning => assert(matches === text.startsWith(p.text), (pattern, text))
            case _ => assert(!matches || text.startsWith(p.text), (pattern, text))
          }
        }
      }
      assert(judged > 100)
    }
  }

  test("a search ends where the pattern does, and at long beginnings") {
    def intervals(pattern: String): Int =
      MatchedTexts.ofRegex(pattern).map(
        _.valuesFor(Intervals.ofLongs(Seq(1)), ofNulls = false, None))
        .collect { case texts: ByteIntervals => texts.size }.get
    assert(intervals("^a+") === 1 && intervals("^-+?") === 1 && intervals("^ab*|^c") === 2)
    assert(intervals("^a+b") <= 513)
  }

  for ((count, tags) <- Seq(400 -> Nil, 5000 -> Seq(Slow))) test(
    s"random regular expressions: every text with a match begins as the states of the pattern, $count patterns",
    tags: _*) {
    withRandom { random =>
      def pick(texts: String*) = texts(random.nextInt(texts.size))
      def sequence(depth: Int): String =
        Seq.fill(1 + random.nextInt(3))(part(depth) + pick(
          "",
          "",
          "",
          "?",
          "+",
          "*",
          "{1,2}",
          "+?")).mkString
      def part(depth: Int): String = random.nextInt(if (depth > 2) 5 else 7) match {
        case 0 | 1 | 2 => pick("a", "b", "-", "\\.")
        case 3 => pick("[ab]", "[.]", "[a-c]", "[b-]", "[\\-a]", "[^a]")
        case 4 => pick(".", "\\d", "$", "\\b", "[0-1]")
        case _ =>
          Seq.fill(1 + random.nextInt(3))(sequence(depth + 1)).mkString(pick("(", "(?:"), "|", ")")
      }
      var (known, matched) = (0, 0)
      for (_ <- 1 to count) {
        val pattern = Seq.fill(1 + random.nextInt(2))("^" + sequence(0)).mkString("|")
        MatchedTexts.ofRegex(pattern).foreach { states =>
          known += 1
          val found =
            states.valuesFor(Intervals.ofLongs(Seq(1)), ofNulls = false, None)
          val regex = java.util.regex.Pattern.compile(pattern)
          for (_ <- 1 to 20) {
            val text = Seq.fill(random.nextInt(7))(pick("a", "b", "c", "-", ".", "1", "0")).mkString
            if (regex.matcher(text).find()) {
              matched += 1
              val isFound = found match {
                case texts: ByteIntervals =>
                  val bytes = text.getBytes("UTF-8")
                  texts.overlaps(bytes, bytes)
                case _ => false
              }
              assert(isFound, (pattern, text, found))
            }
          }
        }
      }
      assert(known > count / 4 && matched > count / 4)
    }
  }
}
