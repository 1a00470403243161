// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import scala.util.Random

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Random predicates on the columns of a random table: comparisons, lists, LIKE, casts, functions and
 * arithmetic under AND, OR and NOT; some raise errors under ANSI.
 *
 * Left out is what depends on how rows fall to files and tasks, for which no two runs need to agree: rand,
 * monotonically_increasing_id, spark_partition_id, input_file_name and `_metadata`. So are subqueries,
 * which [[FilterOnFilesSuite]] tests.
 */
final class RandomPredicate(random: Random, columns: IndexedSeq[RandomColumn]) {

  def next(depth: Int = 3): Expression =
    if (depth == 0 || random.nextInt(3) == 0) leaf()
    else {
      random.nextInt(7) match {
        case 0 | 1 => And(next(depth - 1), next(depth - 1))
        case 2 | 3 => Or(next(depth - 1), next(depth - 1))
        case 4 => Not(next(depth - 1))
        case _ => mask(next(depth - 1), depth)
      }
    }

  /** A condition inside of another, such as pandas-on-Spark makes of each mask. */
  private def mask(p: Expression, depth: Int): Expression = random.nextInt(9) match {
    case 0 | 1 => CaseWhen(Seq(IsNull(p) -> Literal(false)), p)
    case 2 => CaseWhen(Seq(IsNull(p) -> Literal(true)), Not(p))
    case 3 => if (random.nextBoolean()) IsNull(p) else IsNotNull(p)
    case 4 => EqualTo(p, next(depth - 1))
    case 5 => EqualNullSafe(p, next(depth - 1))
    case 6 => If(p, next(depth - 1), next(depth - 1))
    case 7 => EqualTo(CaseWhen(Seq(p -> Literal(1), next(depth - 1) -> Literal(2))), Literal(2))
    case _ => GreaterThan(Add(Cast(p, IntegerType), Cast(next(depth - 1), IntegerType)), Literal(0))
  }

  private def leaf(): Expression = {
    val c = columns(random.nextInt(columns.size))
    val a = attribute(c)
    random.nextInt(26) match {
      case 23 | 24 | 25 => ofTwo(a, c)
      case 20 | 21 | 22 => new RandomMembership(random).next(a, c)
      case 14 | 15 | 16 | 17 => ordered(a, c)
      case 18 => cases(a, c)
      case 19 => rows(a, c)
      case 0 => IsNull(a)
      case 1 => IsNotNull(a)
      case 2 => in(a, c)
      case 3 => EqualNullSafe(
          a,
          if (random.nextInt(4) == 0) Literal(null, c.dataType) else c.literal(random))
      case 4 => And(GreaterThanOrEqual(a, c.literal(random)), LessThanOrEqual(a, c.literal(random)))
      case 5 | 6 => special(a, c)
      case 7 => twoColumns(a, c)
      case 8 => function(a, c)
      case _ =>
        compare(a, if (random.nextInt(30) == 0) Literal(null, c.dataType) else c.literal(random))
    }
  }

  private def attribute(c: RandomColumn): Expression =
    UnresolvedAttribute(UnresolvedAttribute.parseAttributeName(c.name))

  private def twoColumns(a: Expression, c: RandomColumn): Expression = {
    val others = columns.filter(o => o.dataType == c.dataType && o.name != c.name)
    if (others.isEmpty) special(a, c)
    else compare(a, attribute(others(random.nextInt(others.size))))
  }

  /** What the index knows nothing of, or what hides a comparison. */
  private def function(a: Expression, c: RandomColumn): Expression = {
    val compared = compare(a, c.literal(random))
    random.nextInt(4) match {
      case 0 => If(IsNull(a), Literal(random.nextBoolean()), compared)
      case 1 => CaseWhen(Seq(compared -> Literal(true)), Literal(random.nextBoolean()))
      case 2 => Coalesce(Seq(compared, Literal(random.nextBoolean())))
      case _ => ofType(a, c)
    }
  }

  private def ofType(a: Expression, c: RandomColumn): Expression = c.dataType match {
    case ByteType | ShortType | IntegerType | LongType =>
      val wide = Cast(a, LongType)
      random.nextInt(4) match {
        case 0 => compare(Multiply(wide, Literal(3L)), Literal(random.nextInt(900).toLong))
        case 1 => compare(Subtract(Literal(1L), wide), Literal(0L))
        case 2 => compare(Remainder(wide, Literal(7L)), Literal(3L))
        case _ => compare(UnaryMinus(a), c.literal(random))
      }
    case FloatType | DoubleType =>
      compare(Add(Cast(a, DoubleType), Literal(1.5d)), Cast(c.literal(random), DoubleType))
    case StringType =>
      val text = c.literal(random)
      random.nextInt(3) match {
        case 0 => compare(Upper(a), text)
        case 1 => compare(Substring(a, Literal(1), Literal(3)), Literal("htt"))
        case _ => compare(Length(a), Literal(random.nextInt(80)))
      }
    case DateType =>
      if (random.nextBoolean()) compare(Year(a), Literal(1900))
      else compare(DateAdd(a, Literal(1)), c.literal(random))
    case _ => compare(Coalesce(Seq(a, c.literal(random))), c.literal(random))
  }

  /** A function that keeps the order of values, of the column and of a value. */
  private def ordered(a: Expression, c: RandomColumn): Expression = {
    val functions = OrderKeepingFunctions.of(c.dataType)
    if (functions.isEmpty) special(a, c)
    else {
      val call = CatalystSqlParser.parseExpression(functions(random.nextInt(functions.size)))
      def of(e: Expression) = call.transform { case UnresolvedAttribute(Seq("x")) => e }
      random.nextInt(8) match {
        case 0 => In(of(a), Seq.fill(random.nextInt(4) + 1)(of(c.literal(random))))
        case 1 => EqualNullSafe(of(a), of(c.literal(random)))
        case 2 => if (random.nextBoolean()) IsNull(of(a)) else IsNotNull(of(a))
        case _ => compare(of(a), of(c.literal(random)))
      }
    }
  }

  /** A function of two columns, and of two values. */
  private def ofTwo(a: Expression, c: RandomColumn): Expression = {
    val other = columns(random.nextInt(columns.size))
    val functions = OrderKeepingFunctions.ofTwo(c.dataType, other.dataType)
    if (functions.isEmpty) special(a, c)
    else {
      val call = CatalystSqlParser.parseExpression(functions(random.nextInt(functions.size)))
      def of(x: Expression, y: Expression) = call.transform {
        case UnresolvedAttribute(Seq("x")) => x
        case UnresolvedAttribute(Seq("y")) => y
      }
      def both = of(a, attribute(other))
      def value = of(c.literal(random), other.literal(random))
      random.nextInt(8) match {
        case 0 => In(both, Seq.fill(random.nextInt(3) + 1)(value))
        case 1 => EqualNullSafe(both, value)
        case 2 => if (random.nextBoolean()) IsNull(both) else IsNotNull(both)
        case _ => compare(both, value)
      }
    }
  }

  /** Conditions inside a comparison. */
  private def cases(a: Expression, c: RandomColumn): Expression = {
    val (first, second) = (compare(a, c.literal(random)), leaf())
    random.nextInt(4) match {
      case 0 =>
        val value = CaseWhen(Seq(first -> Literal("a"), second -> Literal("b")), Literal("c"))
        compare(value, Literal(if (random.nextBoolean()) "b" else "c"))
      case 1 => compare(If(second, a, c.literal(random)), c.literal(random))
      case 2 => compare(Coalesce(Seq(a, c.literal(random))), c.literal(random))
      case _ => EqualNullSafe(first, Literal(random.nextBoolean()))
    }
  }

  /** Rows of values of two columns. */
  private def rows(a: Expression, c: RandomColumn): Expression = {
    val other = columns(random.nextInt(columns.size))
    def row(l: Expression, r: Expression) =
      CreateNamedStruct(Seq(Literal("l"), l, Literal("r"), r))
    val n = if (random.nextInt(4) == 0) 14 else random.nextInt(3) + 1
    val list = Seq.fill(n)(row(c.literal(random), other.literal(random)))
    if (random.nextInt(4) == 0) Not(In(row(a, attribute(other)), list))
    else In(row(a, attribute(other)), list)
  }

  private def in(a: Expression, c: RandomColumn): Expression = {
    // more than ten become a set
    val n = if (random.nextInt(3) == 0) 14 else random.nextInt(4) + 1
    val values = Seq.fill(n)(c.literal(random))
    val list = if (random.nextInt(4) == 0) values :+ Literal(null, c.dataType) else values
    if (random.nextInt(3) == 0) Not(In(a, list)) else In(a, list)
  }

  private def compare(a: Expression, b: Expression): Expression = {
    val (l, r) = if (random.nextInt(4) == 0) (b, a) else (a, b)
    random.nextInt(6) match {
      case 0 => EqualTo(l, r)
      case 1 => LessThan(l, r)
      case 2 => LessThanOrEqual(l, r)
      case 3 => GreaterThan(l, r)
      case 4 => GreaterThanOrEqual(l, r)
      case _ => Not(EqualTo(l, r))
    }
  }

  /** What only some types have. */
  private def special(a: Expression, c: RandomColumn): Expression = c.dataType match {
    case StringType => like(a, c)
    case BooleanType => if (random.nextBoolean()) a else Not(a)
    case ByteType | ShortType | IntegerType | LongType =>
      val value = c.literal(random).value.asInstanceOf[Number].longValue
      random.nextInt(5) match {
        case 0 => compare(Cast(a, DoubleType), Literal(value + 0.5d))
        case 1 =>
          compare(Cast(a, DecimalType(24, 2)), Literal(Decimal(BigDecimal(value) + 0.5, 24, 2)))
        case 2 => compare(Cast(a, LongType), Literal(value))
        case 3 => compare(Cast(a, FloatType), Literal(value.toFloat))
        case _ => compare(Add(Cast(a, LongType), Literal(1L)), Literal(value))
      }
    case DoubleType => if (random.nextBoolean()) IsNaN(a) else Not(IsNaN(a))
    case FloatType if random.nextInt(3) == 0 => IsNaN(a)
    case FloatType =>
      val value = c.literal(random).value.asInstanceOf[Float].toDouble
      compare(Cast(a, DoubleType), Literal(Math.nextUp(value)))
    case d: DecimalType if d.precision < 30 =>
      val wider = DecimalType(d.precision + 4, d.scale + 2)
      val value =
        c.literal(random).value.asInstanceOf[Decimal].toBigDecimal + BigDecimal(1, d.scale + 2)
      if (value.precision > wider.precision) IsNull(a)
      else compare(Cast(a, wider), Literal(Decimal(value, wider.precision, wider.scale), wider))
    case DateType => compare(Cast(a, TimestampType), Cast(c.literal(random), TimestampType))
    case TimestampType => compare(Cast(a, DateType), Cast(c.literal(random), DateType))
    case _ => compare(Coalesce(Seq(a, c.literal(random))), c.literal(random))
  }

  private def like(a: Expression, c: RandomColumn): Expression = {
    val text = c.literal(random).value.asInstanceOf[UTF8String].toString
    val from = text.take(random.nextInt(text.length + 1))
    val plain = from.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    random.nextInt(11) match {
      case 8 => RLike(
          a,
          Literal("^" + from.replaceAll(
            "([^\\p{L}\\p{N} /:])",
            "\\\\$1") + (if (random.nextBoolean()) ".*" else "?")))
      case 9 => LikeAny(a, Seq(plain + "%", "x%").map(UTF8String.fromString))
      case 10 => NotLikeAll(a, Seq(plain + "%", "a_").map(UTF8String.fromString))
      case 0 => StartsWith(a, Literal(from))
      case 1 => Not(StartsWith(a, Literal(from)))
      case 2 => Like(a, Literal(plain + "%"), '\\')
      case 3 => Not(Like(a, Literal(plain + "%"), '\\'))
      case 4 => Like(a, Literal(plain + "_%1"), '\\')
      case 5 => Like(a, Literal(plain), '\\')
      case 6 => Contains(a, Literal(from))
      case _ => compare(Cast(a, IntegerType), Literal(12))
    }
  }
}
