// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.util.Locale

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.StringUtils
import org.apache.spark.sql.types._

import io.sparkzorder.plans.Repeatability

/**
 * Tells which nodes of a plan cannot fail, whatever values they get. If files with some rows of a group are
 * skipped, the aggregates of the group have other values. The key of the group has no partner in a join above,
 * so no row of the result has these values, but expressions below the join see the values: a sum may become 0,
 * and a division by this sum then fails in ANSI mode. Nodes and expressions that are not listed here count as able
 * to fail.
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

  /** True for a plan that cannot fail in itself, whatever rows its sources have. */
  def neverFails(plan: LogicalPlan): Boolean = !plan.exists {
    case _: LeafNode => false
    case g: Generate => g.generator match {
        case e: ExplodeBase => !e.child.isInstanceOf[Literal]
        case _ => true
      }
    case node => !isTotal(node)
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
    // the beginning of a longer unit, such as a year, may lie before the least timestamp
    case t: TruncTimestamp => isShortUnit(t.format)
    case _: Add | _: Subtract | _: Multiply =>
      // Spark makes the type of the result wide enough. A result can have too many digits only if its type has the
      // maximum precision.
      isFloating(e.dataType) || isDecimal(e.dataType, DecimalType.MAX_PRECISION - 1)
    case _: Lower | _: Upper | _: Substring | _: String2TrimExpression | _: StringReplace => true
    case _: Concat | _: StringPredicate => hasTexts(e)
    case l: Like => hasTexts(l) && isPattern(l)
    case IntegralDivide(_, Divisor(), _) | Remainder(_, Divisor(), _) => true
    case c: Cast => isTotal(c.child.dataType, c.dataType)
    case _: SortOrder | _: WindowSpecDefinition | _: SpecialFrameBoundary => true
    case f: SpecifiedWindowFrame =>
      f.frameType == RowFrame || isSpecial(f.lower) && isSpecial(f.upper)
    case _: WindowFrame => true
    case _: AggregateExpression | _: WindowExpression => true
    case _: RowNumberLike | _: RankLike | _: Count | _: Min | _: Max => true
    case s: Sum => isFloating(s.child.dataType) || Repeatability.hasRoomForSum(s.child.dataType) ||
      digitsIn(s).isDefined
    case u: UnscaledValue => isDecimal(u.child.dataType, Decimal.MAX_LONG_DIGITS)
    case m: MakeDecimal => digitsIn(m.child).exists(_ <= m.precision)
    case a: Average => isFloating(a.child.dataType) || Repeatability.hasRoomForSum(a.child.dataType)
    case _ => false
  }

  /** False for a bound of RANGE that Spark adds to the value of the row's key: the sum may overflow. */
  private def isSpecial(bound: Expression): Boolean = bound.isInstanceOf[SpecialFrameBoundary]

  private def hasTexts(e: Expression): Boolean = e.children.forall(_.dataType == StringType)

  /** False for a pattern that may be malformed, as one that ends with the escape character is. */
  private def isPattern(like: Like): Boolean = like.right match {
    case Literal(pattern, _) => pattern == null ||
      Try(StringUtils.escapeLikeRegex(pattern.toString, like.escapeChar)).isSuccess
    case _ => false
  }

  /** A positive literal. Every number can be divided by it, while the least number divided by -1 overflows. */
  private object Divisor {
    def unapply(e: Expression): Boolean = e match {
      case Literal(n @ (_: Int | _: Long), _) => n.asInstanceOf[Number].longValue > 0
      case _ => false
    }
  }

  /**
   * The greatest number of digits of a sum of short DECIMALs; None for other expressions. Spark
   * adds up the unscaled values as BIGINTs, and makes a DECIMAL with ten more digits of the sum.
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

  private def isDecimal(t: DataType, maxPrecision: Int): Boolean = t match {
    case d: DecimalType => d.precision <= maxPrecision
    case _ => false
  }

  private def isFloating(t: DataType): Boolean = t == DoubleType || t == FloatType

  /**
   * False for casts that fail on some value. Not every date and not every local time fits into a BIGINT of
   * microseconds.
   */
  def isTotal(from: DataType, to: DataType): Boolean = (from, to) match {
    case (DateType, TimestampType | TimestampNTZType) => false
    case (TimestampType, TimestampNTZType) | (TimestampNTZType, TimestampType) => false
    case (TimestampType | TimestampNTZType, DateType) => true
    case _ => Cast.canUpCast(from, to) &&
      parts(from).zip(parts(to)).forall { case (f, t) => isTotal(f, t) }
  }

  /** The types of the values inside of a value. */
  private def parts(t: DataType): Seq[DataType] = t match {
    case a: ArrayType => Seq(a.elementType)
    case m: MapType => Seq(m.keyType, m.valueType)
    case s: StructType => s.fields.toSeq.map(_.dataType)
    case _ => Nil
  }

  private def isShortUnit(unit: Expression): Boolean = unit match {
    case Literal(name, StringType) =>
      name == null || shortUnits(name.toString.toUpperCase(Locale.ROOT))
    case _ => false
  }

  private val shortUnits = Set("MICROSECOND", "MILLISECOND", "SECOND")
}

/**
 * Tells which nodes of a plan do not fail more often if some columns of some rows become NULL. A projection may
 * have expressions that can fail, such as `a div b`, if these are NULL for NULL. A condition must not be able to
 * fail. A condition must also not let more rows pass because of a NULL, as `a IS NULL OR a > 5` does: an expression
 * above the condition could fail on the other columns of such a row. Nodes and expressions that are not listed here
 * count as able to fail.
 */
private[dynamic] object StrictExpressions extends PredicateHelper {

  def isPlain(node: LogicalPlan): Boolean = node match {
    case p: Project => p.projectList.forall(isStrict)
    case f: Filter => narrows(f.condition)
    case j: Join => gainsNoRows(j.joinType) && j.condition.forall(narrows)
    case _: Sort | _: Union => node.expressions.forall(isStrict)
    case _ => false
  }

  /** False for joins, such as LEFT ANTI and FULL OUTER, that may return more rows if a key becomes NULL. */
  private def gainsNoRows(t: JoinType): Boolean = t match {
    case _: InnerLike | LeftSemi | LeftOuter | RightOuter => true
    case _ => false
  }

  /** True for an expression that is NULL if one of its columns is NULL, whatever the other columns hold. */
  private def isStrict(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => true
    case a: Alias => isStrict(a.child)
    case _: GetStructField | _: Cast | _: BinaryArithmetic | _: BinaryComparison =>
      !e.isInstanceOf[EqualNullSafe] && e.children.forall(isStrict)
    case _ => false
  }

  private def narrows(condition: Expression): Boolean =
    splitConjunctivePredicates(condition).forall {
      case IsNotNull(e) => neverFails(e)
      case e => isThreeValued(e)
    }

  /** True if the result stays the same or becomes NULL when the value of a column is replaced by NULL. */
  private def isThreeValued(e: Expression): Boolean = e match {
    case _: And | _: Or | _: Not => e.children.forall(isThreeValued)
    case _: EqualNullSafe => false
    case _: BinaryComparison | _: In | _: InSet => e.children.forall(neverFails)
    case _ => neverFails(e)
  }

  /** If the left side of AND or OR is NULL, Spark evaluates the right side, so no part may fail. */
  private def neverFails(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => true
    case g: GetStructField => neverFails(g.child)
    case c: Cast =>
      val (from, to) = (c.child.dataType, c.dataType)
      Cast.canUpCast(from, to) && TotalExpressions.isTotal(from, to) && neverFails(c.child)
    case _ => false
  }
}
