// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.{DataType, Decimal, DecimalType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.index.IndexValue
import io.sparkzorder.skipping.values.Extent.Anything

/**
 * An expression with one variable or several, as a tree of [[Piece]]s. The tree computes the extent of the
 * expression from the [[Extent]]s of the variables.
 *
 * @param unknown the smallest part of the expression that no piece describes; None if there is no such part
 */
private[values] final class ExtentTree private (
    root: ExtentTree.Node,
    val unknown: Option[Expression]) {

  /** @param variables the extent of each variable, in their order */
  def apply(variables: Extent*): Extent = root(variables)
}

private[values] object ExtentTree {

  def of(e: Expression, variables: Expression*): ExtentTree = {
    // beginnings are only known for texts
    val hasTexts = variables.exists(v => Piece.isText(v.dataType))
    var unknown = Option.empty[Expression]
    def node(e: Expression): Node = variables.indexWhere(_.semanticEquals(e)) match {
      case i if i >= 0 => new Variable(i)
      case _ if e.foldable => new Constant(e)
      case _ =>
        val beginning = if (hasTexts) TextBeginnings.of(e) else None
        val before = unknown
        val children = e.children.map(node)
        // The piece may read a text that is no child of this node, as in `split(c, ',')[0]`. Then it does not matter
        // that nothing is known of the nodes between, such as SPLIT.
        if (beginning.exists(!_._1.forall(p => e.children.exists(_ eq p)))) unknown = before
        val known = pieceOf(e)
        if (known.isEmpty && beginning.isEmpty && unknown.isEmpty) unknown = Some(e)
        val piece = known.orElse(if (isRepeatable(e)) Some(Repeatable) else None)
        val call = new Call(e)
        val whole = piece.fold[Node](Never)(p => new Inner(call, p, children))
        beginning.fold(whole) { case (parts, p) =>
          val of = parts.map { part =>
            e.children.indexWhere(_ eq part) match {
              case i if i >= 0 => children(i)
              case _ => node(part)
            }
          }
          new OfBeginnings(new Inner(call, p, of), whole)
        }
    }
    val root = node(e)
    new ExtentTree(root, unknown)
  }

  private def pieceOf(e: Expression): Option[Piece] =
    try {
      PiecesOfConditions.of(e).orElse(PiecesOfNumbers.of(e)).orElse(PiecesOfText.of(e))
        .orElse(PiecesOfTime.of(e))
    } catch { case NonFatal(_) => None }

  private def isRepeatable(e: Expression): Boolean = e match {
    case _: Unevaluable | _: UserDefinedExpression | _: SubqueryExpression => false
    case _: LambdaFunction | _: HigherOrderFunction => false
    case other => other.deterministic
  }

  private[values] sealed trait Node {
    def apply(variables: Seq[Extent]): Extent
  }

  private final class Variable(number: Int) extends Node {
    override def apply(variables: Seq[Extent]): Extent = variables(number)
  }

  private object Never extends Node {
    override def apply(variables: Seq[Extent]): Extent = Anything
  }

  private final class Constant(e: Expression) extends Node {
    private lazy val value =
      try Extent.point(e.eval())
      catch { case NonFatal(_) => Anything }
    override def apply(variables: Seq[Extent]): Extent = value
  }

  /** A node with children. It remembers its last result, so it is not safe for threads. */
  private final class Inner(call: Call, piece: Piece, children: Seq[Node]) extends Node {
    // a node may be evaluated twice for the same variables: for OfBeginnings.beginnings and for OfBeginnings.whole
    private var last: (Seq[Extent], Extent) = (Nil, Anything)

    override def apply(variables: Seq[Extent]): Extent = {
      if (!(last._1 eq variables)) {
        val results =
          try piece(call, children.map(_(variables)))
          catch { case NonFatal(_) => Anything }
        last = (variables, results)
      }
      last._2
    }
  }

  /** Results that follow from the beginnings of texts. If these tell nothing, the extents of the texts are used. */
  private final class OfBeginnings(beginnings: Node, whole: Node) extends Node {
    override def apply(variables: Seq[Extent]): Extent = beginnings(variables) match {
      case Anything => whole(variables)
      case known => known
    }
  }
}

/**
 * Decides whether an expression with several columns may have one of the wanted results.
 *
 * @param results the wanted results
 * @param ofNulls NULL is wanted, too
 */
private[skipping] final class ResultsOfColumns(
    e: Expression,
    columns: Seq[Expression],
    results: Intervals,
    ofNulls: Boolean) {
  private val tree = ExtentTree.of(e, columns: _*)
  private val judge = new SearchedFunction.Judge(
    results.coarser,
    ofNulls,
    ComparisonDomain.of(e.dataType).orNull)

  /** The smallest part of the expression whose results are unknown. */
  def unknown: Option[Expression] = tree.unknown

  /** @param extents of the columns; not safe for threads */
  def mayMatch(extents: Seq[Extent]): Boolean =
    try judge(tree(extents: _*)) != SearchedFunction.Out
    catch { case NonFatal(_) => true }
}

/** What is known of the results of an expression while the value of each column lies in an interval. */
private[skipping] sealed trait Extent {

  /** True if some result may be NULL. */
  def mayBeNull: Boolean = true

  /** The same extent, with or without NULL among the results. Unchanged if every result is NULL, or may be anything. */
  def withNulls(mayBeNull: Boolean): Extent = this match {
    case b: Extent.Between => b.copy(mayBeNull = mayBeNull)
    case other => other
  }
}

private[skipping] object Extent {

  /** The results may be anything: each value of the type, NULL, or an error. */
  case object Anything extends Extent

  /** Every result is NULL. */
  case object OnlyNull extends Extent

  /**
   * Every result that is neither NULL nor an error lies between two values, both included.
   *
   * @param isPoint the two values are equal. For a FLOAT or DOUBLE, the point 0.0 also stands for -0.0
   * @param mayBeNull some result may be NULL
   * @param template the form that all texts have; None if they have several forms, or if their form is not known
   * @param beginning the plain characters with which all texts begin; null if they are not known
   */
  final case class Between(
      low: Any,
      high: Any,
      isPoint: Boolean,
      override val mayBeNull: Boolean = false,
      template: Option[TextTemplate] = None,
      beginning: Array[Byte] = null)
      extends Extent

  /** True if [[ofLongs]] or [[ofBytes]] make an extent of the bounds of a column of this type. */
  def isKnown(t: DataType): Boolean =
    OrderedValue.range(t).isDefined || t.isInstanceOf[DecimalType] || Piece.isText(t)

  /**
   * The values of a column of which the least and the greatest are known.
   *
   * @param low of the column's [[ComparisonDomain]]
   */
  def ofLongs(t: DataType, low: Long, high: Long, mayBeNull: Boolean): Extent = {
    val value = OrderedValue.ofLong(t)
    ofValues(Between(value(low), value(high), low == high, mayBeNull))
  }

  /** A file may hold a DECIMAL with more digits than its type has, of which Spark makes no value. */
  private def ofValues(extent: => Extent): Extent =
    try extent
    catch { case _: ArithmeticException => Anything }

  /** As [[ofLongs]], for bytes. Nothing is known of texts if a bound has a character that is not plain. */
  def ofBytes(t: DataType, low: Array[Byte], high: Array[Byte], mayBeNull: Boolean): Extent = {
    val isPoint = java.util.Arrays.equals(low, high)
    t match {
      case d: DecimalType =>
        def value(bytes: Array[Byte]) = Decimal(
          new java.math.BigDecimal(IndexValue.unscaled(bytes), d.scale),
          d.precision,
          d.scale)
        ofValues(Between(value(low), value(high), isPoint, mayBeNull))
      case _ if Piece.isText(t) && (low ++ high).forall(c => TextStart.isPlain(c.toInt)) =>
        val text = UTF8String.fromBytes(low)
        val template = if (isPoint) TextTemplate.ofValue(text) else None
        Between(text, UTF8String.fromBytes(high), isPoint, mayBeNull, template)
      case _ => Anything
    }
  }

  def point(value: Any): Extent =
    if (value == null) OnlyNull
    else Between(value, value, isPoint = true, template = TextTemplate.ofValue(value))

  /** All results of several extents of one type. */
  def union(extents: Seq[Extent], order: Ordering[Any]): Extent = {
    val some = extents.collect { case b: Between => b }
    if (extents.contains(Anything)) Anything
    else if (some.isEmpty) OnlyNull
    else {
      val (low, high) = (some.map(_.low).min(order), some.map(_.high).max(order))
      val templates = some.map(_.template)
      val template = if (templates.forall(_ == templates.head)) templates.head else None
      Between(
        low,
        high,
        order.compare(low, high) == 0,
        extents.contains(OnlyNull) || some.exists(_.mayBeNull),
        template)
    }
  }
}

/** Spark's order of the values of a type, in Spark's internal form. */
private[values] object ValueOrder {

  /** None for types that the index does not order. */
  def of(dataType: DataType): Option[Ordering[Any]] =
    ComparisonDomain.of(dataType).map(_ => TypeUtils.getInterpretedOrdering(dataType))
}
