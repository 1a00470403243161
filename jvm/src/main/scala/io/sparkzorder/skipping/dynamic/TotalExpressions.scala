// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.util.Locale

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.StringUtils
import org.apache.spark.sql.types._

import io.sparkzorder.plans.Repeatability

/**
 * Which nodes of a plan fail on no values at all. A group of which some files are skipped has other values. Its
 * key has no partner in a join above, so no row shows these values, but an expression below the join sees them.
 * Nodes and expressions that are not known here count as able to fail.
 */
private[dynamic] object TotalExpressions {

  /** True for nodes that make a row of several rows, or choose rows by other rows. */
  def combines(node: LogicalPlan): Boolean = node match {
    case _: Aggregate | _: Window | _: WindowGroupLimit => true
    case _ => false
  }

  def isTotal(node: LogicalPlan): Boolean = node match {
    case _: Project | _: Filter | _: Join | _: Sort | _: Union => node.expressions.forall(isTotal)
    case _ => combines(node) && node.expressions.forall(isTotal)
  }

  def isTotal(e: Expression): Boolean = isKnown(e) && e.children.forall(isTotal)

  /** NULL where the expression fails. */
  def orNull(e: Expression): Expression = if (isTotal(e)) e else TryEval(e)

  private def isKnown(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal | _: Alias | _: GetStructField => true
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull => true
    case _: BinaryComparison | _: In | _: InSet => true
    case _: Coalesce | _: If | _: CaseWhen => true
    case _: KnownFloatingPointNormalized | _: NormalizeNaNAndZero | _: KnownNotNull => true
    case _: GetDateField | _: GetTimeField | _: DateDiff => true
    // a longer unit may begin before the least date or timestamp
    case t: TruncTimestamp => isShortUnit(t.format)
    case _: Add | _: Subtract | _: Multiply => isFloating(e.dataType) || hasAllDigits(e.dataType)
    case _: Lower | _: Upper | _: Substring | _: String2TrimExpression | _: StringReplace => true
    case _: Concat | _: StringPredicate => hasTexts(e)
    case l: Like => hasTexts(l) && isPattern(l)
    case IntegralDivide(_, Divisor(), _) | Remainder(_, Divisor(), _) => true
    case c: Cast => isTotal(c.child.dataType, c.dataType)
    case _: SortOrder | _: WindowSpecDefinition | _: WindowFrame | _: SpecialFrameBoundary => true
    case _: AggregateExpression | _: WindowExpression => true
    case _: RowNumberLike | _: RankLike | _: Count | _: Min | _: Max => true
    case s: Sum => isFloating(s.child.dataType) || Repeatability.hasRoomForSum(s.child.dataType) ||
      digitsIn(s).isDefined
    case u: UnscaledValue => hasLongDigits(u.child.dataType)
    case m: MakeDecimal => digitsIn(m.child).exists(_ <= m.precision)
    case a: Average => isFloating(a.child.dataType) || Repeatability.hasRoomForSum(a.child.dataType)
    case _ => false
  }

  private def hasTexts(e: Expression): Boolean = e.children.forall(_.dataType == StringType)

  /** False for a pattern that may be malformed, as one that ends with the escape character is. */
  private def isPattern(like: Like): Boolean = like.right match {
    case Literal(pattern, _) => pattern == null ||
      Try(StringUtils.escapeLikeRegex(pattern.toString, like.escapeChar)).isSuccess
    case _ => false
  }

  /** A number by which every number can be divided: only -1 makes too great a number of the least one. */
  private object Divisor {
    def unapply(e: Expression): Boolean = e match {
      case Literal(n @ (_: Int | _: Long), _) => n.asInstanceOf[Number].longValue > 0
      case _ => false
    }
  }

  /** A result that could have too many digits has the greatest precision that there is. */
  private def hasAllDigits(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision < DecimalType.MAX_PRECISION
    case _ => false
  }

  /**
   * Spark adds up the digits of a short DECIMAL as BIGINTs, and makes a DECIMAL of the sum, with ten more digits.
   * How many digits such a sum has room for; None for other expressions.
   */
  private def digitsIn(e: Expression): Option[Int] = e match {
    case w: WindowExpression => digitsIn(w.windowFunction)
    case a: AggregateExpression => digitsIn(a.aggregateFunction)
    case s: Sum => s.child match {
        case UnscaledValue(child) => Some(child.dataType).collect {
            case d: DecimalType if d.precision + 10 <= Decimal.MAX_LONG_DIGITS => d.precision + 10
          }
        case _ => None
      }
    case _ => None
  }

  private def hasLongDigits(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision <= Decimal.MAX_LONG_DIGITS
    case _ => false
  }

  private def isFloating(t: DataType): Boolean = t == DoubleType || t == FloatType

  /** False for casts that fail on some value. A BIGINT of microseconds holds neither each date nor each local time. */
  def isTotal(from: DataType, to: DataType): Boolean = (from, to) match {
    case (DateType, TimestampType | TimestampNTZType) => false
    case (TimestampType, TimestampNTZType) | (TimestampNTZType, TimestampType) => false
    case (TimestampType | TimestampNTZType, DateType) => true
    case _ => Cast.canUpCast(from, to)
  }

  private def isShortUnit(unit: Expression): Boolean = unit match {
    case Literal(name, StringType) => name == null || shortUnits(name.toString.toUpperCase(Locale.ROOT))
    case _ => false
  }

  private val shortUnits = Set("MICROSECOND", "MILLISECOND", "SECOND")
}
