// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

class JoinedTextsSuite extends AnyFunSuite {
  private val columns = Seq("a", "b", "c").map(AttributeReference(_, StringType)())
  private val Seq(a, b, c) = columns

  private def text(value: String) = Literal(UTF8String.fromString(value), StringType)

  private def isTrue(e: Expression, row: InternalRow): Boolean = isTrue(e)(row)

  private def isTrue(e: Expression): InternalRow => Boolean = {
    val bound = BindReferences.bindReference(e, columns)
    row => bound.eval(row) == true
  }

  for ((rounds, tags) <- Seq(30 -> Nil, 300 -> Seq(Slow))) test(
    s"the condition on the columns is true for the rows for which the comparison is true, $rounds rounds",
    tags: _*) {
    val seed = new Random().nextLong()
    val random = new Random(seed)
    def word() = Seq.fill(random.nextInt(4))("ab|é|-".charAt(random.nextInt(6))).mkString
    val joins = Seq[Expression](
      Concat(Seq(a, text("|"), b)),
      Concat(Seq(text("x"), a, text("-|"), b, text("|"), c, text("y"))),
      Concat(Seq(a, text("é"), Upper(b))),
      ConcatWs(Seq(text("|"), a, b)),
      ConcatWs(Seq(text("|"), a, text("b"), b, c)),
      ConcatWs(Seq(text("-|"), a, b)))
    var (known, met) = (0, 0)
    withClue(s"seed $seed\n") {
      for (join <- joins; _ <- 1 to rounds) {
        def value() = if (random.nextInt(5) == 0) null else UTF8String.fromString(word())
        val rows = Seq.fill(8)(InternalRow(value(), value(), value()))
        val bound = BindReferences.bindReference(join, columns)
        val results = rows.map(bound.eval(_))
        val constants = (results.filter(_ != null).take(2) :+ UTF8String.fromString(word()))
          .map(Literal(_, StringType))
        for (comparison <- Seq(
            EqualTo(join, constants.head),
            EqualTo(constants.head, join),
            In(join, constants :+ Literal(null, StringType)),
            InSet(join, constants.map(_.value).toSet))) {
          JoinedTexts.equal(comparison).foreach { condition =>
            known += 1
            val (compared, found) = (isTrue(comparison), isTrue(condition))
            rows.foreach { row =>
              val expected = compared(row)
              if (expected) met += 1
              if (found(row) != expected) fail(s"$comparison as $condition of $row")
            }
          }
        }
      }
    }
    assert(known > 15 * rounds && met > 15 * rounds)
  }

  test("the condition on the columns is true for the rows for which a joined text begins so") {
    val seed = new Random().nextLong()
    val random = new Random(seed)
    def word(n: Int) = Seq.fill(random.nextInt(n))("ab|é|-%".charAt(random.nextInt(7))).mkString
    val joins = Seq[Expression](
      Concat(Seq(a, text("|"), b)),
      Concat(Seq(text("x"), a, text("-|"), b, text("|"), c, text("y"))),
      Concat(Seq(a, text("é"), Upper(b), text("||"))))
    var (known, met, isFalse) = (0, 0, 0)
    withClue(s"seed $seed\n") {
      for (join <- joins; _ <- 1 to 300) {
        def value() = if (random.nextInt(9) == 0) null else UTF8String.fromString(word(4))
        val rows = Seq.fill(8)(InternalRow(value(), value(), value()))
        val some = rows.map(BindReferences.bindReference(join, columns).eval(_))
          .collectFirst { case t: UTF8String => t.toString }.getOrElse("")
        val beginning = some.take(random.nextInt(some.length + 1)) + word(2)
        for (predicate <- Seq(
            StartsWith(join, text(beginning)),
            Like(join, text(beginning + "%b%"), '\\'))) {
          JoinedTexts.of(predicate).foreach { condition =>
            known += 1
            rows.foreach { row =>
              if (isTrue(predicate, row)) {
                met += 1
                assert(isTrue(condition, row), s"$predicate as $condition of $row")
              } else if (!isTrue(condition, row)) isFalse += 1
            }
          }
        }
      }
    }
    assert(known > 500 && met > 300 && isFalse > 300)
  }

  test("a column inside a LIKE pattern, with wildcards of its own") {
    val seed = new Random().nextLong()
    val random = new Random(seed)
    def word(letters: String, n: Int) =
      Seq.fill(random.nextInt(n))(letters.charAt(random.nextInt(letters.length))).mkString
    var (known, met, isFalse) = (0, 0, 0)
    withClue(s"seed $seed\n") {
      for (_ <- 1 to 500) {
        def around() = Seq("", "%", "|", "||", "a", "%|", "%a|")(random.nextInt(7))
        val (before, after) = (around(), around().reverse)
        val pattern = Concat(Seq(text(before), a, text(after)))
        val constant = word("ab||", 9)
        val like = Like(text(constant), if (random.nextInt(9) == 0) a else pattern, '\\')
        Membership.of(like).flatMap(_.ifTrue).foreach { condition =>
          known += 1
          for (_ <- 1 to 40) {
            val from = random.nextInt(constant.length + 1)
            val part = constant.substring(from, from + random.nextInt(constant.length - from + 1))
            val value = random.nextInt(3) match {
              case 0 => part
              case 1 => word("ab|%_\\\\é", 5)
              case _ => part.map(c => if (random.nextInt(3) == 0) "%_\\" (random.nextInt(3)) else c)
            }
            val row = InternalRow(UTF8String.fromString(value), null, null)
            // a pattern that Spark refuses is an error of the query
            if (Try(isTrue(like, row)).toOption.contains(true)) {
              met += 1
              assert(isTrue(condition, row), s"$like as $condition of $row")
            } else if (!isTrue(condition, row)) isFalse += 1
          }
        }
      }
    }
    assert(known > 100 && met > 200 && isFalse > 300)
  }

  test("parts without a constant between them, functions of one column and many ways stay") {
    val one = text("x")
    assert(JoinedTexts.equal(EqualTo(Concat(Seq(a, b)), one)).isEmpty)
    assert(JoinedTexts.equal(EqualTo(Concat(Seq(a, text("|"), a)), one)).isEmpty)
    assert(JoinedTexts.equal(EqualTo(ConcatWs(Seq(text(""), a, b)), one)).isEmpty)
    assert(JoinedTexts.equal(EqualTo(ConcatWs(Seq(c, a, b)), one)).isEmpty)
    val many = text("|" * 20)
    assert(JoinedTexts.equal(EqualTo(Concat(Seq(a, text("|"), b)), many)).isEmpty)
    assert(JoinedTexts.equal(EqualTo(Concat(Seq(a, text("|"), b)), one)).contains(Literal(false)))
  }
}
