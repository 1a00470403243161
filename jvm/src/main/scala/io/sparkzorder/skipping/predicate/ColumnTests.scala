// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType, StringType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.index.NoStats
import io.sparkzorder.skipping.values.{
  ByteIntervals,
  BytesDomain,
  BytesPosition,
  Comparison,
  ComparisonDomain,
  Intervals,
  LikePattern,
  LiteralPosition,
  LongPosition,
  Reals,
  ResultsOfColumns,
  WholeNumbers,
  WideDecimals
}

/** Makes the test on files for each kind of predicate in the table of [[PredicateCompiler]]. */
private[predicate] final class ColumnTests(columns: TableColumns, domains: ColumnDomainsReader) {

  /** IS NULL or IS NOT NULL of a column or of functions of it. */
  def nulls(e: Expression, isNull: Boolean): FileTest = orUnknown {
    columns.find(e) match {
      case Right(column) => domains(column).map(new NullTest(_, isNull))
      case Left(_) =>
        for {
          operand <- compared(e)
          results = if (isNull) Intervals.none else all(operand.domain)
          test <- test(operand, results, ofNulls = isNull)
        } yield test
    }
  }

  private def all(domain: ComparisonDomain): Intervals = domain match {
    case WholeNumbers(_) | Reals => Intervals.between(Long.MinValue, Long.MaxValue)
    case BytesDomain | WideDecimals(_) => ByteIntervals.all
  }

  def equal(e: Expression, value: Any, t: DataType, negated: Boolean): FileTest =
    if (value == null) Never else in(e, Seq(value), t, negated, nullsToo = false)

  /** A NULL in the list means that NOT IN is true for no row. */
  def inList(e: Expression, values: Seq[Any], t: DataType, negated: Boolean): FileTest = {
    val present = values.filter(_ != null)
    // An IN without values is false for every row, so NOT IN is true even where the column is NULL. The tests below
    // would leave these rows out.
    if (values.isEmpty) Unknown("IN without values")
    // without generated code, Spark's InSet is false and not NULL for NaN, so that NOT IN is true
    else if (negated && present.size < values.size && Seq(DoubleType, FloatType).contains(t))
      Unknown("NOT IN with NULL, for which NaN is in doubt")
    else if ((negated && present.size < values.size) || (!negated && present.isEmpty)) Never
    else in(e, present, t, negated, nullsToo = false)
  }

  /** @param nullsToo a row also matches where the column is NULL */
  def in(
      e: Expression,
      values: Seq[Any],
      t: DataType,
      negated: Boolean,
      nullsToo: Boolean): FileTest = orUnknown {
    for {
      operand <- operandFor(e, t)
      positions <- allPositions(values, operand)
      // a literal between two values of the column, such as 1.5 for an INT, equals none of them
      equal = positions.filter(_.isExact)
      intervals = operand.domain match {
        case WholeNumbers(_) | Reals =>
          Intervals.ofLongs(equal.collect { case p: LongPosition => p.low })
        case BytesDomain | WideDecimals(_) =>
          Intervals.ofBytes(equal.collect { case p: BytesPosition => p.low })
      }
      test <- test(operand, if (negated) intervals.complement else intervals, nullsToo)
    } yield test
  }

  def compare(
      e: Expression,
      comparison: Comparison,
      value: Any,
      t: DataType,
      negated: Boolean): FileTest =
    if (value == null) Never
    else compareAll(e, Seq((if (negated) comparison.negated else comparison, Literal(value, t))))

  /** The AND of several comparisons of one expression. */
  def compareAll(e: Expression, comparisons: Seq[(Comparison, Literal)]): FileTest = orUnknown {
    for {
      operand <- operandFor(e, comparisons.head._2.dataType)
      positions <- allPositions(comparisons.map(_._2.value), operand)
      results = comparisons.map(_._1).zip(positions).map { case (c, p) => c.intervals(p) }
      test <- test(operand, results.reduce(_ intersect _))
    } yield test
  }

  /** A comparison of two columns, or of functions of several columns. */
  def pair(c: BinaryComparison, negated: Boolean): FileTest = orUnknown {
    pairOfColumns(c, negated).left.flatMap { reason =>
      val wanted = Intervals.ofLongs(Seq(if (negated) 0L else 1L))
      SeveralColumns.of(c, columns).flatMap(test(_, wanted)).left.map(_ => reason)
    }
  }

  private def pairOfColumns(c: BinaryComparison, negated: Boolean): Either[String, FileTest] =
    for {
      left <- plain(c, c.left)
      right <- plain(c, c.right)
      _ <- Either.cond(
        left.domain == right.domain && left.compared == right.compared,
        (),
        s"a comparison of ${c.left.dataType.sql} with ${c.right.dataType.sql}")
      relation <- PairRelation.of(c).toRight(TableColumns.kind(c))
      a <- domains(left.column)
      b <- domains(right.column)
    } yield new PairTest(
      a,
      b,
      if (negated) relation.negated else relation,
      hasNaN = left.domain == Reals)

  private def plain(c: Expression, e: Expression): Either[String, Operand] =
    Operand.of(e, columns).filterOrElse(
      _.functions.isEmpty,
      s"the comparison of a column with ${TableColumns.kind(e)}").left.map(reason =>
      if (e.references.isEmpty) TableColumns.kind(c) else reason)

  /** isnan, which is false for NULL. */
  def nan(e: Expression, negated: Boolean): FileTest = orUnknown {
    for {
      operand <- compared(e)
      _ <- Either.cond(operand.domain == Reals, (), s"isnan of ${operand.compared.sql}")
      intervals = Intervals.between(ComparisonDomain.NaN, ComparisonDomain.NaN)
      test <- test(operand, if (negated) intervals.complement else intervals, ofNulls = negated)
    } yield test
  }

  def startsWith(e: Expression, prefix: UTF8String, t: DataType, negated: Boolean): FileTest =
    orUnknown {
      for {
        operand <- operandFor(e, t)
        _ <- Either.cond(operand.domain == BytesDomain, (), s"the type ${t.sql}")
        intervals = Intervals.ofPrefix(prefix.getBytes)
        test <- test(operand, if (negated) intervals.complement else intervals)
      } yield test
    }

  /** LIKE or a regular expression, tested by the prefix with which a matching text must begin. */
  def text(e: Expression, pattern: LikePattern, t: DataType, negated: Boolean): FileTest = {
    val beginning = UTF8String.fromString(pattern.text)
    pattern.extent match {
      case LikePattern.Whole => equal(e, beginning, t, negated)
      case LikePattern.Part if negated =>
        Unknown("NOT of a pattern that asks for more than a prefix")
      case _ => startsWith(e, beginning, t, negated)
    }
  }

  /** @param ofNulls a row also matches where the operand is NULL */
  private def test(
      compared: Compared,
      results: Intervals,
      ofNulls: Boolean = false): Either[String, FileTest] = compared match {
    case operand: Operand => test(operand, results, ofNulls)
    case several: SeveralColumns => test(several, results, ofNulls)
  }

  private def test(
      several: SeveralColumns,
      results: Intervals,
      ofNulls: Boolean): Either[String, FileTest] = {
    val found = several.columns.map { case (_, column) => domains(column) }
    for {
      _ <- found.collectFirst { case Left(reason) => reason }.toLeft(())
      all = found.collect { case Right(column) => column }
      _ <- Either.cond(all.exists(hasBounds), (), withoutBounds(several.columns.head._2))
      inFiles = new ResultsOfColumns(several.e, several.columns.map(_._1), results, ofNulls)
      _ <- inFiles.unknown.map(e => s"${TableColumns.kind(e)} of several columns").toLeft(())
    } yield new SeveralTest(all.zip(several.columns.map(_._2.dataType)), inFiles)
  }

  private def test(
      operand: Operand,
      results: Intervals,
      ofNulls: Boolean): Either[String, FileTest] =
    for {
      column <- domains(operand.column)
      _ <- Either.cond(hasBounds(column), (), withoutBounds(operand.column))
      values <- operand.valuesFor(results, ofNulls, column)
    } yield {
      val hasNaN = ComparisonDomain.of(operand.column.dataType).contains(Reals)
      IntervalTest(column, values, hasNaN, operand.isWantedAtNull(results, ofNulls))
    }

  /** False if no file can be pruned: none has bounds, none has only NULLs, and no values are indexed. */
  private def hasBounds(column: ColumnDomains): Boolean =
    column.min != NoStats || column.noValues.exists(_ != 0) || column.values.isDefined

  private def withoutBounds(column: DataColumn): String = column.dataType match {
    case TimestampType =>
      s"files store ${column.name} as INT96, which has no min and max; CREATE ZORDER INDEX .. " +
        "OPTIONS ('int96' 'read') reads its values"
    case _ => s"the files have no min and max of ${column.name}"
  }

  private def compared(e: Expression): Either[String, Compared] =
    Operand.of(e, columns).left.flatMap { reason =>
      SeveralColumns.of(e, columns).left.map(_ => reason)
    }

  private def operandFor(e: Expression, literal: DataType): Either[String, Compared] =
    compared(e).flatMap { o =>
      Either.cond(
        o.compared == literal,
        o,
        s"a comparison of ${o.compared.sql} with ${literal.sql}")
    }

  private def allPositions(
      values: Seq[Any],
      operand: Compared): Either[String, Seq[LiteralPosition]] = {
    val positions = values.flatMap(LiteralPosition.of(_, operand.domain))
    Either.cond(
      positions.size == values.size,
      positions,
      s"a value outside the range of ${operand.name}")
  }

  private def orUnknown(test: Either[String, FileTest]): FileTest = test.fold(Unknown(_), identity)
}

/**
 * Comparisons of one function of a text, such as `cast(s as int) >= 10 AND cast(s as int) <= 19`. A text
 * with nearly any beginning can satisfy a single comparison: of the texts that begin with 9, '95' satisfies the
 * first comparison and '9' the second, but no text satisfies both. So the comparisons are combined before the
 * texts are computed.
 */
private[predicate] object TextRanges {

  /** The conjuncts, in which the comparisons of one function are combined into one AND. */
  def joined(conjuncts: Seq[Expression]): Seq[Expression] = {
    val functions = conjuncts.map(compared(_).map(_._1.canonicalized))
    conjuncts.indices.flatMap { i =>
      functions(i) match {
        case None => Some(conjuncts(i))
        case same if functions.indexOf(same) < i => None
        case same => Some(conjuncts.indices.filter(functions(_) == same).map(conjuncts).reduce(And))
      }
    }
  }

  /** The function and its comparisons, at least two. */
  def unapply(filter: Expression): Option[(Expression, Seq[(Comparison, Literal)])] = filter match {
    case And(left, right) =>
      val all = unapply(left).orElse(compared(left).map { case (e, c) => (e, Seq(c)) })
      for ((e, some) <- all; (other, one) <- compared(right) if e.semanticEquals(other))
        yield (e, some :+ one)
    case _ => None
  }

  private def compared(e: Expression): Option[(Expression, (Comparison, Literal))] = e match {
    case Comparison.WithLiteral(of, comparison, literal)
        if literal.value != null && isOfText(of) => Some((of, (comparison, literal)))
    case _ => None
  }

  private def isOfText(e: Expression): Boolean = e match {
    case _: Attribute | _: GetStructField => false
    case c => c.deterministic && c.references.size == 1 && InnerBranches.unapply(c).isEmpty &&
      c.references.head.dataType.isInstanceOf[StringType]
  }
}
