package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.types._

import io.sparkzorder.bits.OrderedLongs

/**
 * The side of a comparison that holds a column.
 *
 * @param domain the domain in which values are compared
 * @param compared the type that the other side of the comparison must have
 * @param mapped converts the column's bounds to values of `domain`, as the cast converts values;
 *   None if no conversion is needed
 */
private[sparkzorder] final case class Operand(
    column: DataColumn,
    domain: ComparisonDomain,
    compared: DataType,
    mapped: Option[Long => Long] = None)

private[sparkzorder] object Operand {

  /**
   * Accepts a column, or a cast of a column that keeps the order of the column's values. Left is
   * the reason why another expression is not accepted.
   */
  def of(e: Expression, columns: TableColumns): Either[String, Operand] = e match {
    case c: Cast =>
      columns.find(c.child).left.map(_ => TableColumns.kind(c)).flatMap { column =>
        underCast(column, c.dataType).toRight(TableColumns.kind(c))
      }
    case other =>
      columns.find(other).flatMap { column =>
        ComparisonDomain.of(column.dataType)
          .map(Operand(column, _, column.dataType))
          .toRight(s"the type ${column.dataType.sql} of ${column.name}")
      }
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
      // the cast may round an integer, but rounding keeps the order
      case (Integral(), DoubleType) =>
        Some(Operand(column, Reals, to, Some(v => OrderedLongs.ofDouble(v.toDouble))))
      case (Integral(), FloatType) =>
        Some(Operand(column, Reals, to, Some(v => OrderedLongs.ofDouble(v.toFloat.toDouble))))
      case _ => None
    }

  private object Integral {
    def unapply(t: DataType): Boolean = t match {
      case ByteType | ShortType | IntegerType | LongType => true
      case _ => false
    }
  }

  private def digits(t: DataType): Int = t match {
    case ByteType => 3
    case ShortType => 5
    case IntegerType => 10
    case _ => 19
  }
}
