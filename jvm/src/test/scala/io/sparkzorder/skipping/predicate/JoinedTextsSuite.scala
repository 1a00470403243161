// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

class JoinedTextsSuite extends AnyFunSuite {
  private val columns = Seq("a", "b", "c").map(AttributeReference(_, StringType)())
  private val Seq(a, b, c) = columns

  private def text(value: String) = Literal(UTF8String.fromString(value), StringType)

  private def isTrue(e: Expression, row: InternalRow): Boolean =
    BindReferences.bindReference(e, columns).eval(row) == true

  test("the condition on the columns is true for the rows for which the comparison is true") {
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
      for (join <- joins; _ <- 1 to 100) {
        def value() = if (random.nextInt(5) == 0) null else UTF8String.fromString(word())
        val rows = Seq.fill(8)(InternalRow(value(), value(), value()))
        val results = rows.map(BindReferences.bindReference(join, columns).eval(_))
        val constants = (results.filter(_ != null).take(2) :+ UTF8String.fromString(word()))
          .map(Literal(_, StringType))
        for (comparison <- Seq(
            EqualTo(join, constants.head),
            EqualTo(constants.head, join),
            In(join, constants :+ Literal(null, StringType)),
            InSet(join, constants.map(_.value).toSet))) {
          JoinedTexts.equal(comparison).foreach { condition =>
            known += 1
            rows.foreach { row =>
              val expected = isTrue(comparison, row)
              if (expected) met += 1
              assert(isTrue(condition, row) === expected, s"$comparison as $condition of $row")
            }
          }
        }
      }
    }
    assert(known > 5000 && met > 5000)
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
