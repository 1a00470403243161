package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BooleanType, DataType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Turns a filter into a test of files. NOT is pushed down to single predicates, so each of them tells
 * where it may be true or, negated, where it may be false; where it is NULL, neither holds. What is not
 * known here is [[Unknown]], which keeps every file; nothing is ever evaluated but literals.
 */
private[sparkzorder] final class PredicateCompiler(columns: TableColumns, views: ViewBuilder) {

  /** @param negated test where the filter is false, not where it is true */
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
    case LessThan(e, Literal(v, t)) => compare(e, Order.Less, v, t, negated)
    case LessThan(Literal(v, t), e) => compare(e, Order.Greater, v, t, negated)
    case LessThanOrEqual(e, Literal(v, t)) => compare(e, Order.AtMost, v, t, negated)
    case LessThanOrEqual(Literal(v, t), e) => compare(e, Order.AtLeast, v, t, negated)
    case GreaterThan(e, Literal(v, t)) => compare(e, Order.Greater, v, t, negated)
    case GreaterThan(Literal(v, t), e) => compare(e, Order.Less, v, t, negated)
    case GreaterThanOrEqual(e, Literal(v, t)) => compare(e, Order.AtLeast, v, t, negated)
    case GreaterThanOrEqual(Literal(v, t), e) => compare(e, Order.AtMost, v, t, negated)
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
    known(columns.find(e).flatMap(c => views(c)).map(new NullTest(_, isNull)))

  private def equal(e: Expression, value: Any, t: DataType, negated: Boolean): FileTest =
    if (value == null) Never else in(e, Seq(value), t, negated, nullsToo = false)

  /** NULL in the list: no row is surely outside of it. */
  private def inList(e: Expression, values: Seq[Any], t: DataType, negated: Boolean): FileTest = {
    val present = values.filter(_ != null)
    // false even for NULL, which is not in it either
    if (values.isEmpty) Unknown("IN without values")
    else if ((negated && present.size < values.size) || (!negated && present.isEmpty)) Never
    else in(e, present, t, negated, nullsToo = false)
  }

  /** @param nullsToo rows match where the column is NULL */
  private def in(
      e: Expression,
      values: Seq[Any],
      t: DataType,
      negated: Boolean,
      nullsToo: Boolean): FileTest = known {
    for {
      operand <- operandFor(e, t)
      points <- allPoints(values, operand)
      view <- view(operand)
    } yield {
      // a literal between two values of the column equals none of them
      val exact = points.filter(_.isExact)
      if (exact.isEmpty && !negated) Never
      else {
        operand.axis match {
          case WholeNumbers(_) | Reals =>
            val sorted = exact.collect { case p: LongPoint => p.low }.distinct.sorted.toArray
            val real = operand.axis == Reals
            if (negated) new LongTests.NotIn(view, sorted, nullsToo, real)
            else new LongTests.In(view, sorted, real)
          case ByteStrings | WideDecimals(_) =>
            val sorted = exact.collect { case p: BytesPoint => p.low }
              .sortWith((a, b) => ByteOrder.compare(a, b) < 0).toArray
            if (negated) new ByteTests.NotIn(view, sorted, nullsToo)
            else new ByteTests.In(view, sorted)
        }
      }
    }
  }

  private def compare(
      e: Expression,
      order: Order,
      value: Any,
      t: DataType,
      negated: Boolean): FileTest =
    if (value == null) Never
    else known {
      for {
        operand <- operandFor(e, t)
        points <- allPoints(Seq(value), operand)
        view <- view(operand)
      } yield Order.test(if (negated) order.negated else order, points.head, view, operand.axis)
    }

  private def startsWith(
      e: Expression,
      prefix: UTF8String,
      t: DataType,
      negated: Boolean): FileTest = known {
    for {
      operand <- operandFor(e, t)
      _ <- Either.cond(operand.axis == ByteStrings, (), s"the type ${t.sql}")
      view <- view(operand)
    } yield {
      if (negated) new ByteTests.NotPrefix(view, prefix.getBytes)
      else new ByteTests.Prefix(view, prefix.getBytes)
    }
  }

  private def operandFor(e: Expression, literal: DataType): Either[String, Operand] =
    Operand.of(e, columns).flatMap { o =>
      Either.cond(
        o.compared == literal,
        o,
        s"a comparison of ${o.compared.sql} with ${literal.sql}")
    }

  private def allPoints(values: Seq[Any], operand: Operand): Either[String, Seq[Point]] = {
    val points = values.flatMap(Point.of(_, operand.axis))
    Either.cond(
      points.size == values.size,
      points,
      s"a value outside the range of ${operand.column.name}")
  }

  private def view(operand: Operand): Either[String, ColumnView] =
    views(operand.column).map(v => operand.mapped.fold(v)(v.map))

  private def known(test: Either[String, FileTest]): FileTest = test.fold(Unknown(_), identity)
}
