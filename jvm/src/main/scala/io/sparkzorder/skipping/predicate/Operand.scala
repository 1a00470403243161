package io.sparkzorder.skipping.predicate

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.types._

import io.sparkzorder.skipping.values.{
  ColumnFunction,
  ComparisonDomain,
  Intervals,
  OrderedFunctions,
  Reals,
  WholeNumbers
}

/**
 * The side of a comparison that holds a column: the column itself, or functions of the column.
 *
 * @param domain the domain in which the other side is compared
 * @param compared the type that the other side of the comparison must have
 * @param functions that are applied to the column, the last one first
 */
private[sparkzorder] final case class Operand(
    column: DataColumn,
    domain: ComparisonDomain,
    compared: DataType,
    functions: List[ColumnFunction] = Nil) {

  /**
   * The values of the column for which the operand may be one of `results`. Left is the reason why
   * these values are not known.
   */
  def valuesFor(results: Intervals, of: ColumnDomains): Either[String, Intervals] =
    try {
      Right(functions.zip(functions.drop(1).tails.toList).foldLeft(results) {
        case (values, (function, inner)) => function.valuesFor(values, rangeOf(inner, of))
      })
    } catch {
      case NonFatal(e) => Left(s"a function of ${column.name} that fails: ${e.getMessage}")
    }

  /** The least and the greatest result of some functions of the column in all files. */
  private def rangeOf(inner: List[ColumnFunction], of: ColumnDomains): Option[(Long, Long)] =
    inner.foldRight(of.range)((function, range) => range.flatMap(function.rangeOf))
}

private[sparkzorder] object Operand {

  /**
   * Accepts a column, or functions of a column that [[OrderedFunctions]] knows. Left is the reason
   * why another expression is not accepted.
   */
  def of(e: Expression, columns: TableColumns): Either[String, Operand] =
    columns.find(e) match {
      case Right(column) =>
        ComparisonDomain.of(column.dataType).map(Operand(column, _, column.dataType))
          .toRight(s"the type ${column.dataType.sql} of ${column.name}")
      case Left(_) => exactCast(e, columns).toRight("").left.flatMap(_ => function(e, columns))
    }

  private def function(e: Expression, columns: TableColumns): Either[String, Operand] = {
    val found =
      try OrderedFunctions.of(e)
      catch { case NonFatal(_) => None }
    found match {
      case None => Left(TableColumns.kind(e))
      case Some((child, function)) =>
        // the functions compute with values of the type of their argument
        def usable(o: Operand) = ComparisonDomain.of(o.compared).contains(o.domain)
        val inner = of(child, columns).flatMap(o =>
          if (usable(o)) Right(o) else this.function(child, columns))
        for (o <- inner;
          domain <- ComparisonDomain.of(e.dataType).toRight(s"the type ${e.dataType.sql}"))
          yield Operand(o.column, domain, e.dataType, function :: o.functions)
    }
  }

  /** A cast of a column that changes no value. The domain is the column's. */
  private def exactCast(e: Expression, columns: TableColumns): Option[Operand] = e match {
    case c: Cast => columns.find(c.child).toOption.flatMap(underCast(_, c.dataType))
    case _ => None
  }

  private def underCast(column: DataColumn, to: DataType): Option[Operand] =
    (column.dataType, to) match {
      case (from, same) if from == same => ComparisonDomain.of(from).map(Operand(column, _, to))
      case (Integral(), Integral()) if column.dataType.defaultSize <= to.defaultSize =>
        Some(Operand(column, WholeNumbers(0), to))
      case (Integral(), d: DecimalType) if digits(column.dataType) <= d.precision - d.scale =>
        Some(Operand(column, WholeNumbers(0), to))
      case (from: DecimalType, d: DecimalType)
          if d.scale >= from.scale && d.precision - d.scale >= from.precision - from.scale =>
        ComparisonDomain.of(from).map(Operand(column, _, to))
      case (FloatType, DoubleType) => Some(Operand(column, Reals, to))
      case _ => None
    }

  private object Integral {
    def unapply(t: DataType): Boolean = OrderedFunctions.isIntegral(t)
  }

  private def digits(t: DataType): Int = t match {
    case ByteType => 3
    case ShortType => 5
    case IntegerType => 10
    case _ => 19
  }
}
