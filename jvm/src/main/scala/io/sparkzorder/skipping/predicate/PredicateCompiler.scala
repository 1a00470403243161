package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BooleanType, DataType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Turns a filter into a test of files. NOT is pushed down to the single predicates, so each of
 * these predicates has two rules. One rule keeps the files where the predicate may be true. The
 * other rule keeps the files where the predicate may be false. A row for which the predicate is
 * NULL counts for neither rule. Only literals are ever evaluated.
 *
 * {{{
 * predicate            keeps a file where                       NOT of it keeps a file where
 * c IS NULL            it may hold NULL                         it may hold a value
 * c < v, c > v, ..     some value of [min, max] is below v, ..  some value of [min, max] is not
 * c = v, c IN (v, ..)  some v lies in [min, max]                [min, max] holds another value
 * c <=> v              as c = v                                 as NOT c = v, or it may hold NULL
 * c LIKE 'p%'          [min, max] holds a value that begins     [min, max] holds a value that
 *                      with p                                   does not begin with p
 * c LIKE 'p%q'         as c LIKE 'p%'                           always
 * c (BOOLEAN)          as c = true                              as c = false
 * c = NULL, c < NULL   never                                    never
 * c IN (v, NULL)       as c IN (v)                              never
 * a AND b              both keep it                             NOT a or NOT b keeps it
 * a OR b               one of them keeps it                     NOT a and NOT b keep it
 * anything else        always                                   always
 * }}}
 *
 * NaN is the greatest value. A file that may hold NaN counts as holding NaN. Every rule on the
 * values of `c` keeps a file without bounds of `c`. None of these rules keeps a file in which `c`
 * has only NULLs. The compiler looks through a cast that keeps the order of values ([[Operand]]). A
 * predicate that keeps every file becomes [[Unknown]]. An AND ignores an unknown side. An OR with
 * an unknown side is unknown.
 */
private[sparkzorder] final class PredicateCompiler(
    columns: TableColumns,
    domains: ColumnDomainsReader) {

  /** @param negated keep the files where the filter may be false instead of true */
  def apply(filter: Expression, negated: Boolean = false): FileTest = filter match {
    case And(l, r) => both(l, r, negated, isAnd = !negated)
    case Or(l, r) => both(l, r, negated, isAnd = negated)
    case Not(inner) => apply(inner, !negated)
    case Literal(value, BooleanType) =>
      if (value == null || value == negated) Never else Unknown("always true")
    case IsNull(e) => nullTest(e, isNull = !negated)
    case IsNotNull(e) => nullTest(e, isNull = negated)
    case EqualNullSafe(e, Literal(null, _)) => nullTest(e, isNull = !negated)
    case EqualNullSafe(Literal(null, _), e) => nullTest(e, isNull = !negated)
    case EqualNullSafe(e, Literal(v, t)) => in(e, Seq(v), t, negated, nullsToo = negated)
    case EqualNullSafe(Literal(v, t), e) => in(e, Seq(v), t, negated, nullsToo = negated)
    case EqualTo(e, Literal(v, t)) => equal(e, v, t, negated)
    case EqualTo(Literal(v, t), e) => equal(e, v, t, negated)
    case LessThan(e, Literal(v, t)) => compare(e, Comparison.Less, v, t, negated)
    case LessThan(Literal(v, t), e) => compare(e, Comparison.Greater, v, t, negated)
    case LessThanOrEqual(e, Literal(v, t)) => compare(e, Comparison.AtMost, v, t, negated)
    case LessThanOrEqual(Literal(v, t), e) => compare(e, Comparison.AtLeast, v, t, negated)
    case GreaterThan(e, Literal(v, t)) => compare(e, Comparison.Greater, v, t, negated)
    case GreaterThan(Literal(v, t), e) => compare(e, Comparison.Less, v, t, negated)
    case GreaterThanOrEqual(e, Literal(v, t)) => compare(e, Comparison.AtLeast, v, t, negated)
    case GreaterThanOrEqual(Literal(v, t), e) => compare(e, Comparison.AtMost, v, t, negated)
    case In(e, list) if list.forall(_.isInstanceOf[Literal]) =>
      val literals = list.map(_.asInstanceOf[Literal])
      val types = literals.filter(_.value != null).map(_.dataType).distinct
      if (types.size > 1) Unknown("IN with values of several types")
      else inList(e, literals.map(_.value), types.headOption.getOrElse(e.dataType), negated)
    case InSet(e, values) => inList(e, values.toSeq, e.dataType, negated)
    case StartsWith(e, Literal(prefix: UTF8String, t)) => startsWith(e, prefix, t, negated)
    case l @ Like(e, Literal(pattern: UTF8String, t), _) =>
      LikePattern.of(pattern.toString, l.escapeChar) match {
        case None => Unknown("a LIKE pattern that does not begin with letters")
        case Some(LikePattern(text, LikePattern.Whole)) =>
          equal(e, UTF8String.fromString(text), t, negated)
        case Some(LikePattern(text, LikePattern.Beginning)) =>
          startsWith(e, UTF8String.fromString(text), t, negated)
        case Some(LikePattern(text, LikePattern.Part)) =>
          if (negated) Unknown("NOT LIKE with more than one % at the end")
          else startsWith(e, UTF8String.fromString(text), t, negated)
      }
    case e if e.dataType == BooleanType && columns.find(e).isRight =>
      equal(e, true, BooleanType, negated)
    case other => Unknown(TableColumns.kind(other))
  }

  private def both(l: Expression, r: Expression, negated: Boolean, isAnd: Boolean): FileTest = {
    val tests = Seq(apply(l, negated), apply(r, negated))
    if (isAnd) FileTest.and(tests) else FileTest.or(tests)
  }

  private def nullTest(e: Expression, isNull: Boolean): FileTest =
    known(columns.find(e).flatMap(c => domains(c)).map(new NullTest(_, isNull)))

  private def equal(e: Expression, value: Any, t: DataType, negated: Boolean): FileTest =
    if (value == null) Never else in(e, Seq(value), t, negated, nullsToo = false)

  /** A NULL in the list means that NOT IN is true for no row. */
  private def inList(e: Expression, values: Seq[Any], t: DataType, negated: Boolean): FileTest = {
    val present = values.filter(_ != null)
    // an IN without values is false for every row, even where the column is NULL
    if (values.isEmpty) Unknown("IN without values")
    else if ((negated && present.size < values.size) || (!negated && present.isEmpty)) Never
    else in(e, present, t, negated, nullsToo = false)
  }

  /** @param nullsToo a row also matches where the column is NULL */
  private def in(
      e: Expression,
      values: Seq[Any],
      t: DataType,
      negated: Boolean,
      nullsToo: Boolean): FileTest = known {
    for {
      operand <- operandFor(e, t)
      positions <- allPositions(values, operand)
      column <- read(operand)
    } yield {
      // a literal between two values of the column equals none of them
      val equal = positions.filter(_.isExact)
      if (equal.isEmpty && !negated) Never
      else {
        val intervals = operand.domain match {
          case WholeNumbers(_) | Reals =>
            Intervals.ofLongs(equal.collect { case p: LongPosition => p.low })
          case BytesDomain | WideDecimals(_) =>
            Intervals.ofBytes(equal.collect { case p: BytesPosition => p.low })
        }
        test(operand, column, if (negated) intervals.complement else intervals, nullsToo)
      }
    }
  }

  private def compare(
      e: Expression,
      comparison: Comparison,
      value: Any,
      t: DataType,
      negated: Boolean): FileTest =
    if (value == null) Never
    else known {
      for {
        operand <- operandFor(e, t)
        positions <- allPositions(Seq(value), operand)
        column <- read(operand)
      } yield {
        val wanted = if (negated) comparison.negated else comparison
        test(operand, column, wanted.intervals(positions.head))
      }
    }

  private def startsWith(
      e: Expression,
      prefix: UTF8String,
      t: DataType,
      negated: Boolean): FileTest = known {
    for {
      operand <- operandFor(e, t)
      _ <- Either.cond(operand.domain == BytesDomain, (), s"the type ${t.sql}")
      column <- read(operand)
    } yield {
      val intervals = Intervals.ofPrefix(prefix.getBytes)
      test(operand, column, if (negated) intervals.complement else intervals)
    }
  }

  private def test(
      operand: Operand,
      column: ColumnDomains,
      intervals: Intervals,
      ofNulls: Boolean = false): FileTest =
    IntervalTest(column, intervals, hasNaN = operand.domain == Reals, ofNulls)

  private def operandFor(e: Expression, literal: DataType): Either[String, Operand] =
    Operand.of(e, columns).flatMap { o =>
      Either.cond(
        o.compared == literal,
        o,
        s"a comparison of ${o.compared.sql} with ${literal.sql}")
    }

  private def allPositions(
      values: Seq[Any],
      operand: Operand): Either[String, Seq[LiteralPosition]] = {
    val positions = values.flatMap(LiteralPosition.of(_, operand.domain))
    Either.cond(
      positions.size == values.size,
      positions,
      s"a value outside the range of ${operand.column.name}")
  }

  private def read(operand: Operand): Either[String, ColumnDomains] =
    domains(operand.column).map(c => operand.mapped.fold(c)(c.map))

  private def known(test: Either[String, FileTest]): FileTest = test.fold(Unknown(_), identity)
}

/**
 * What a LIKE pattern says of the beginning of the texts that match it.
 *
 * @param text the beginning that all these texts share
 * @param extent what the pattern says of the rest
 */
private[sparkzorder] final case class LikePattern(text: String, extent: LikePattern.Extent)

private[sparkzorder] object LikePattern {
  sealed trait Extent

  /** Only the text itself matches. */
  case object Whole extends Extent

  /** Every text with this beginning matches. */
  case object Beginning extends Extent

  /** A matching text has this beginning and meets further conditions. */
  case object Part extends Extent

  /**
   * None for patterns that Spark rejects, and for patterns that do not fix the beginning of a text.
   */
  def of(pattern: String, escape: Char): Option[LikePattern] = {
    val text = new StringBuilder
    var i = 0
    var isLegal = true
    def isWildcard(c: Char) = c == '%' || c == '_'
    while (i < pattern.length && isLegal && !(isWildcard(pattern(i)) && pattern(i) != escape)) {
      if (pattern(i) == escape) {
        // only a wildcard or the escape character itself may follow
        isLegal = i + 1 < pattern.length &&
          (isWildcard(pattern(i + 1)) || pattern(i + 1) == escape)
        if (isLegal) text += pattern(i + 1)
        i += 2
      } else {
        text += pattern(i)
        i += 1
      }
    }
    val rest = if (i < pattern.length) pattern.substring(i) else ""
    val extent =
      if (rest.isEmpty) Whole else if (rest == "%") Beginning else Part
    // Spark decodes bytes that are not valid UTF-8 to this character, so the pattern may have had
    // other bytes in its place
    val usable = isLegal && text.indexOf("\uFFFD") < 0 && (text.nonEmpty || extent == Whole)
    if (usable) Some(LikePattern(text.toString, extent)) else None
  }
}
