// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.Locale

import scala.util.{Random, Try}

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.sparkzorder.skipping.values.TextFunctions

/**
 * Functions of a column against Spark itself: of files with one value and with two values, the
 * compiler must keep each file for which Spark finds the predicate true. [[ColumnFunctionCases]] has
 * the functions and the values.
 */
class ColumnFunctionsSuite extends ColumnFilesBase {

  private def check(
      t: DataType,
      function: String,
      zone: String,
      ansi: Boolean,
      random: Random,
      literals: Int = literals,
      isAround: Boolean = false): Unit = {
    val schema = new StructType().add("c", t)
    val (call, output) = optimized(function, schema)
    val rows = ColumnFunctionCases.values(t, zone, random)
    val sorted = rows
    val files = Seq(Seq[Any](null)) ++ sorted.map(Seq(_)) ++
      sorted.map(v => Seq(v, sorted(random.nextInt(sorted.size)))) ++
      sorted.take(5).map(v => Seq(v, null))
    val index = indexOf(t, files)
    val columns = new TableColumns(output, schema, new StructType(), _ == _)
    def evaluator(e: Expression): Any => Try[Any] = {
      val bound = BindReferences.bindReference(e, output)
      v => Try(bound.eval(InternalRow(v)))
    }
    val result = evaluator(call)
    val results = rows.flatMap(v => result(v).toOption).filter(_ != null).distinct
    if (results.nonEmpty) {
      def literal() = Literal(results(random.nextInt(results.size)), call.dataType)
      val predicates = Seq.fill(literals)(literal()).flatMap { l =>
        val list = In(call, Seq(l, literal()))
        Seq(
          EqualTo(call, l),
          LessThan(call, l),
          LessThanOrEqual(l, call),
          GreaterThan(call, l),
          GreaterThanOrEqual(l, call),
          Not(EqualTo(call, l)),
          EqualNullSafe(call, l),
          Not(EqualNullSafe(call, l)),
          list,
          Not(list),
          IsNotNull(call),
          IsNull(call)) ++ (if (isAround) around(call, l, literal()) else Nil)
      }
      predicates.foreach { p =>
        val test = new PredicateCompiler(columns, new ColumnDomainsReader(index, true))(p)
        val kept = test.files(files.size)
        val isTrue = evaluator(p)
        val truth = (files.flatten.distinct).map(v => v -> isTrue(v).toOption.contains(true)).toMap
        files.zipWithIndex.foreach { case (rows, i) =>
          val matches = rows.exists(truth)
          if (matches && !kept.get(i)) fail(s"$p with $t in $zone, ansi $ansi: lost $rows")
          if (!isAround) {
            pairs += 1
            if (!kept.get(i)) pruned += 1 else if (!matches) vain += 1
          }
        }
        test match {
          case Unknown(reason) if !p.isInstanceOf[IsNull] =>
            unknown += s"$function of ${t.sql}: $reason"
          case _ =>
        }
      }
    }
  }

  /** Predicates that take the function apart from others than a comparison, or compare it twice. */
  private def around(call: Expression, one: Literal, other: Literal): Seq[Expression] = {
    def row(e: Expression) = CreateNamedStruct(Seq(Literal("a"), e, Literal("b"), Literal(1)))
    val literal = row(one)
    val value = Literal(literal.eval(), literal.dataType)
    Seq(
      And(GreaterThanOrEqual(call, one), LessThanOrEqual(call, other)),
      Or(LessThan(call, one), IsNull(call)),
      GreaterThan(row(call), value),
      Not(GreaterThanOrEqual(row(call), value)),
      EqualTo(row(call), value),
      IsNull(If(EqualTo(call, one), Literal(null, call.dataType), call)),
      EqualTo(CaseWhen(Seq(LessThan(call, one) -> Literal(1)), Literal(2)), Literal(2)),
      LessThanOrEqual(Coalesce(Seq(call, one)), other),
      IsNull(EqualTo(call, one)),
      Not(EqualNullSafe(GreaterThan(call, one), Literal(true)))) ++
      (call.dataType match {
        case DoubleType | FloatType => Seq(IsNaN(call), Not(IsNaN(call)))
        case _ => Nil
      })
  }

  // `make torture-skipping` asks for more; else each zone sees a part of the functions
  private val literals =
    math.max(1, sys.props.get("sparkzorder.test.pairs").fold(1)(_.toInt / 25000))

  private def isTime(t: DataType): Boolean =
    Seq(TimestampType, TimestampNTZType, DateType, StringType).contains(t)

  private var (pairs, pruned, vain) = (0L, 0L, 0L)
  private val unknown = scala.collection.mutable.TreeSet.empty[String]

  test("UPPER and LOWER say nothing where i and I are two letters") {
    val text = AttributeReference("c", StringType)()
    def known = Seq(Upper(text), Lower(text)).count(TextFunctions.of(_, text).isDefined)
    val before = Locale.getDefault
    try {
      Locale.setDefault(Locale.forLanguageTag("tr-TR"))
      assert(known === 0)
      Locale.setDefault(Locale.ROOT)
      assert(known === 2)
    } finally Locale.setDefault(before)
  }

  // midnights that are no moments or two
  private val quick = Set("America/Havana")

  /** @param share one function of so many */
  private def checkAroundNull(literals: Int, share: Int): Unit = withRandom { random =>
    for {
      ansi <- Seq(true, false)
      (t, some) <- ColumnFunctionCases.aroundNull
      f <- some if random.nextInt(share) == 0
    } {
      inConf("spark.sql.session.timeZone" -> "UTC", "spark.sql.ansi.enabled" -> ansi.toString)(
        check(t, f, "UTC", ansi, random, literals, isAround = true))
    }
  }

  test("functions that have a value where the function inside of them is NULL")(
    checkAroundNull(1, share = 8))

  test("functions that have a value where the function inside is NULL: more literals", Slow)(
    checkAroundNull(6, share = 1))

  /** @param share one type of so many */
  private def checkTowers(rounds: Int, literals: Int, share: Int, ansis: Boolean*): Unit =
    withRandom { random =>
      val towers = new RandomTower(random)
      for (ansi <- ansis; t <- RandomTower.types; _ <- 1 to rounds if random.nextInt(share) == 0) {
        inConf("spark.sql.session.timeZone" -> "UTC", "spark.sql.ansi.enabled" -> ansi.toString)(
          check(t, towers.next(t), "UTC", ansi, random, literals, isAround = true))
      }
    }

  test("random towers of functions that make NULL of values, and values of NULL")(
    checkTowers(1, literals = 1, share = 4, true))

  test("random towers of functions: more of them", Slow)(
    checkTowers(10 * math.min(literals, 8), literals = 2, share = 1, true, false))

  for ((zone, share, tags) <- ColumnFunctionCases.zones.map((_, 3, Seq(Slow))) ++
      quick.map((_, 200, Nil))) {
    test(
      s"every function keeps the files with a match, in $zone, one function of $share",
      tags: _*) {
      withRandom { random =>
        for (ansi <- Seq(true, false); (t, some) <- ColumnFunctionCases.functions
          if zone == "UTC" || isTime(t);
          f <- some if literals > 1 || random.nextInt(share) == 0) {
          inConf(
            "spark.sql.session.timeZone" -> zone,
            "spark.sql.ansi.enabled" -> ansi.toString)(check(t, f, zone, ansi, random))
        }
        info(s"$pairs files and predicates, $pruned pruned, $vain kept in vain; unknown: ${unknown.mkString("; ")}")
        assert(pruned > vain / 2)
      }
    }
  }
}
