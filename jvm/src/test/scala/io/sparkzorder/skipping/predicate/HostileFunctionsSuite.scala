// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.collection.mutable
import scala.util.{Random, Try}

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, Project}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types._

import io.sparkzorder.index.ByteValues
import io.sparkzorder.skipping.values.{
  BytesPosition,
  ComparisonDomain,
  Extent,
  Intervals,
  LiteralPosition,
  LongPosition,
  ResultsOfColumns
}

/**
 * Random functions, compared with the results of Spark. Their arguments are hostile: NUL, empty texts, the ends of
 * types, odd patterns. First, a file of one or two rows must be kept if Spark finds a predicate true for one of the
 * rows, by interpreted or by generated code. Second, the result for a value between two bounds must be one that
 * [[ResultsOfColumns]] takes for possible.
 *
 * The system property `sparkzorder.test.pairs` asks for more functions.
 */
class HostileFunctionsSuite extends ColumnFilesBase {
  private val zones =
    Seq(
      "UTC",
      "America/Los_Angeles",
      "Africa/Monrovia",
      "Pacific/Apia",
      "America/St_Johns",
      "Asia/Kathmandu")

  private val faults = mutable.ArrayBuffer.empty[String]
  private var (functions, refused, unknown, filters, pruned, ranges) = (0, 0, 0, 0L, 0L, 0L)

  private def named(value: Any): String = value match {
    case b: Array[Byte] => b.map(x => f"$x%02x").mkString("X'", "", "'")
    case null => "NULL"
    case other =>
      other.toString.map(c => if (c < ' ' || c > '~') f"\\u${c.toInt}%04x" else c.toString).mkString
  }

  private val known = mutable.HashSet.empty[String]

  /** One fault of each kind for each function is enough. */
  private def fault(of: String, text: String): Unit = if (known.add(of)) faults += s"$of$text"

  private type Row = Seq[Any]

  /** @param columns names, types and values of the columns */
  private def check(
      columns: Seq[(String, DataType, IndexedSeq[Any])],
      function: String,
      settings: String,
      random: Random): Unit = {
    val frame = emptyFrame(StructType(columns.map { case (name, t, _) => StructField(name, t) }))
    Try(frame.selectExpr(s"$function f", "*").queryExecution.optimizedPlan).toOption match {
      case Some(Project(Alias(call, _) +: _, child))
          if call.references.nonEmpty && call.deterministic && child.children.isEmpty =>
        functions += 1
        val of =
          new Function(function, call, child.output, frame, columns.map(_._3), settings, random)
        if (of.isKnown) {
          of.checkRanges()
          of.checkFiles()
        } else unknown += 1
      case _ => refused += 1
    }
  }

  private final class Function(
      function: String,
      call: Expression,
      output: Seq[Attribute],
      frame: SparkLine.Frame,
      values: Seq[IndexedSeq[Any]],
      settings: String,
      random: Random) {
    private val kind = s"$function of ${output.map(_.dataType.sql).mkString(", ")} [$settings]"

    private def evaluator(e: Expression): Row => Try[Any] = {
      val bound = BindReferences.bindReference(e, output)
      row => Try(bound.eval(InternalRow(row: _*)))
    }

    private val result = evaluator(call)

    private val rows: IndexedSeq[Row] =
      if (values.size == 1) values.head.map(Seq(_))
      else values.head.indices.map(i =>
        values.map(v => v(if (v eq values.head) i else random.nextInt(v.size))))
    private val withNulls = (Seq.fill(output.size)(null): Row) +: rows :+ (null +: rows.head.drop(
      1)) :+ (rows.head.dropRight(1) :+ null)
    private val results = rows.flatMap(result(_).toOption).filter(_ != null)
    private val schema = StructType(output.map(a => StructField(a.name, a.dataType)))
    private val columns = new TableColumns(output, schema, new StructType(), _ == _)

    // positions of rows, because NaN is not equal to itself
    private lazy val files: IndexedSeq[Seq[Int]] = withNulls.indices.map(Seq(_)) ++
      withNulls.indices.drop(1).map(i => Seq(i, random.nextInt(rows.size) + 1)) ++ (1 to math.min(
        5,
        rows.size)).map(Seq(_, 0))
    private lazy val index =
      indexOf(output.map(a => a.name -> a.dataType), files.map(_.map(withNulls)))

    private def compile(filter: Expression) =
      new PredicateCompiler(columns, new ColumnDomainsReader(index, true))(filter)

    /** False if the index tells nothing of the function. */
    def isKnown: Boolean = {
      val test = results.headOption.fold[Expression](IsNotNull(call))(v =>
        EqualTo(call, Literal(v, call.dataType)))
      !compile(test).isInstanceOf[Unknown] || random.nextInt(10) == 0
    }

    /** Checks the results for values between the bounds of a file. */
    def checkRanges(): Unit =
      if (output.forall(a => Extent.isKnown(a.dataType)))
        ComparisonDomain.of(call.dataType).foreach { domain =>
          val placed = output.zip(values).map { case (a, some) =>
            some.filter(v => v != null && !isNaN(v)).flatMap(v =>
              LiteralPosition.of(v, ComparisonDomain.of(a.dataType).get).map(_ -> v)).sortWith(
              (x, y) => isBelow(x._1, y._1))
          }
          if (placed.forall(_.size > 1)) for (_ <- 1 to math.min(40, rows.size / 4 + 1)) {
            val windows = placed.map { some =>
              val size = if (random.nextInt(3) == 0) random.nextInt(some.size) + 1
              else random.nextInt(math.min(8, some.size)) + 1
              val from = random.nextInt(some.size - size + 1)
              some.slice(from, from + size)
            }
            val extents = windows.zip(output).map { case (w, a) =>
              (w.head._1, w.last._1) match {
                case (LongPosition(l, _), LongPosition(h, _)) =>
                  Extent.ofLongs(a.dataType, l, h, mayBeNull = false)
                case (BytesPosition(l, _, _), BytesPosition(h, _, _)) =>
                  Extent.ofBytes(a.dataType, l, h, mayBeNull = false)
                case other => throw new IllegalArgumentException(other.toString)
              }
            }
            if (!extents.contains(Extent.Anything)) for (_ <- 1 to 3) {
              val row = windows.map(w => w(random.nextInt(w.size))._2)
              result(row).toOption.foreach(checkResult(_, row, extents, domain))
            }
          }
        }

    private def isBelow(a: LiteralPosition, b: LiteralPosition) = (a, b) match {
      case (LongPosition(x, _), LongPosition(y, _)) => x < y
      case (BytesPosition(x, _, _), BytesPosition(y, _, _)) =>
        ByteValues.compare(x, 0, x.length, y) < 0
      case _ => false
    }

    private def checkResult(
        r: Any,
        row: Row,
        extents: Seq[Extent],
        domain: ComparisonDomain): Unit = {
      val wanted =
        if (r == null) Some(Intervals.none)
        else LiteralPosition.of(r, domain).map {
          case LongPosition(l, h) => Intervals.between(l, h)
          case BytesPosition(l, _, _) => Intervals.ofBytes(Seq(l))
        }
      wanted.foreach { w =>
        ranges += 1
        if (!new ResultsOfColumns(call, output, w, ofNulls = r == null).mayMatch(extents))
          fault(s"RANGE $kind", s": ${row.map(named)} gives ${named(r)}, not in ${named(extents)}")
      }
    }

    private def predicates(): Seq[Expression] =
      if (results.isEmpty) Seq(IsNotNull(call), IsNull(call))
      else {
        def literal() = Literal(results(random.nextInt(results.size)), call.dataType)
        Seq.fill(2)(literal()).flatMap { l =>
          Seq(
            EqualTo(call, l),
            LessThan(call, l),
            LessThanOrEqual(call, l),
            GreaterThan(l, call),
            GreaterThanOrEqual(call, l),
            Not(EqualTo(call, l)),
            EqualNullSafe(call, l),
            Not(EqualNullSafe(call, l)),
            And(GreaterThanOrEqual(call, l), LessThanOrEqual(call, literal())),
            In(call, Seq(l, literal(), Literal(null, call.dataType))),
            Not(In(call, Seq(l, literal()))))
        } ++ Seq(IsNotNull(call), IsNull(call)) ++
          (if (call.dataType == BooleanType)
             Seq(call, Not(call), call, Coalesce(Seq(call, Literal(true))))
           else Nil)
      }

    def checkFiles(): Unit = {
      val all = random.shuffle(predicates()).take(6).filter(p => p.checkInputDataTypes().isSuccess)
      val generated = truthOfGenerated(all)
      all.zipWithIndex.foreach { case (p, i) =>
        val isTrue = evaluator(p)
        def byCode(row: Int) = generated.exists(_(row).exists(_(i)))
        val matching =
          withNulls.indices.filter(k =>
            isTrue(withNulls(k)).toOption.contains(true) || byCode(k)).toSet
        judge(p, p, matching, "")
        if (random.nextInt(8) == 0) asFilter(p).foreach(judge(_, p, matching, " as a filter"))
      }
    }

    /** Whether each predicate is true for each row, by generated code. */
    private def truthOfGenerated(all: Seq[Expression]): Option[IndexedSeq[Option[Array[Boolean]]]] =
      if (random.nextInt(10) != 0) None
      else Try {
        val projection =
          GenerateMutableProjection.generate(all.map(BindReferences.bindReference(_, output)))
        withNulls.map { row =>
          Try {
            val out = projection(InternalRow(row: _*))
            all.indices.map(i => !out.isNullAt(i) && out.getBoolean(i)).toArray
          }.toOption
        }
      }.toOption

    private def judge(filter: Expression, p: Expression, matching: Set[Int], how: String): Unit = {
      val kept = compile(filter).files(files.size)
      filters += 1
      files.indices.foreach { i =>
        if (!kept.get(i)) {
          pruned += 1
          files(i).find(matching).map(withNulls).foreach { row =>
            fault(
              s"FILE $kind$how",
              s": lost ${row.map(named)} of ${files(i).map(withNulls(_).map(named))} by ${named(p)}, of which the result is " +
                s"${result(row).toOption.map(named)}")
          }
        }
      }
    }

    /** What the optimizer makes of the predicate in a filter; None if all rows pass. */
    private def asFilter(p: Expression): Option[Expression] =
      Try(frame.where(SparkLine.column(p)).queryExecution.optimizedPlan).toOption.flatMap { plan =>
        plan.collectFirst { case Filter(condition, _) => condition }
          .orElse(plan.collectFirst { case l: LocalRelation if l.data.isEmpty => Literal(false) })
      }
  }

  /** @param most how many values of a column there are, about */
  private def checkOn(
      columns: Seq[(String, DataType)],
      some: Seq[String],
      zone: String,
      ansi: Boolean,
      most: Int,
      random: Random): Unit =
    inConf("spark.sql.session.timeZone" -> zone, "spark.sql.ansi.enabled" -> ansi.toString) {
      val all = columns.map { case (name, t) =>
        val usual = random.shuffle(ColumnFunctionCases.values(t, zone, random)).take(most)
        val seen = mutable.HashSet.empty[Any]
        val values = (HostileFunctions.values(t) ++ usual).filter(v => seen.add(keyOf(v)))
        (name, t, random.shuffle(values).toIndexedSeq)
      }
      some.foreach(check(all, _, s"$zone, ansi $ansi", random))
    }

  /** Equal for two NaN of the same bits, and for two arrays of the same bytes. */
  private def keyOf(value: Any): Any = value match {
    case b: Array[Byte] => b.toSeq
    case d: Double => java.lang.Double.doubleToRawLongBits(d)
    case f: Float => java.lang.Float.floatToRawIntBits(f)
    case other => other
  }

  private def run(count: Int, perTable: Int, most: Int): Unit = withRandom { random =>
    val hostile = new HostileFunctions(random)
    val until = functions + count
    while (functions < until) {
      val t = HostileFunctions.types(random.nextInt(HostileFunctions.types.size))
      val isOfTwo = random.nextInt(3) == 0
      val some = Seq.fill(perTable)(hostile.next(t)).map { f =>
        if (isOfTwo) "\\bc\\b".r.replaceAllIn(f, _ => if (random.nextBoolean()) "c" else "d") else f
      }
      checkOn(
        Seq("c" -> t) ++ (if (isOfTwo) Seq("d" -> t) else Nil),
        some,
        zones(random.nextInt(zones.size)),
        random.nextBoolean(),
        most,
        random)
      if (count > 500) note(summary)
    }
    noFaults()
  }

  private def summary: String =
    s"$functions functions, of $unknown of which nothing is known, and $refused refused by Spark: $filters filters, " +
      s"$pruned files pruned, $ranges results of ranges; ${faults.size} faults"

  private def noFaults(): Unit = {
    info(summary)
    assert(faults.isEmpty, faults.take(50).mkString("\n", "\n", ""))
  }

  test("functions by which files with a match were lost") {
    withRandom { random =>
      HostileFunctions.once.foreach { case (t, some) =>
        checkOn(Seq("c" -> t), some, "America/Los_Angeles", ansi = false, 20, random)
      }
    }
    assert(refused === 0)
    noFaults()
  }

  test("no file with a match is lost, whatever the arguments of functions are")(
    run(16, perTable = 2, most = 20))

  test("no file with a match is lost: more functions", Slow) {
    run(sys.props.get("sparkzorder.test.pairs").fold(600)(_.toInt / 20), perTable = 20, most = 100)
  }
}
