// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._

import io.sparkzorder.skipping.values.Extent.Anything

/**
 * An expression with one variable, as a tree of [[Piece]]s: from what is known of the variable it tells
 * what is known of the expression.
 *
 * @param unknown the smallest part of the expression that no piece describes
 */
private[values] final class ExtentTree private (
    root: ExtentTree.Node,
    val unknown: Option[Expression]) {

  def apply(variable: Extent): Extent = root(variable)
}

private[values] object ExtentTree {

  def of(e: Expression, variable: Expression): ExtentTree = {
    var unknown = Option.empty[Expression]
    def node(e: Expression): Node =
      if (e.semanticEquals(variable)) Variable
      else if (e.foldable) new Constant(e)
      else {
        val children = e.children.map(node)
        val known = pieceOf(e)
        if (known.isEmpty && unknown.isEmpty) unknown = Some(e)
        val piece = known.orElse(if (isRepeatable(e)) Some(Repeatable) else None)
        piece.fold[Node](Never)(p => new Inner(new Call(e), p, children))
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
    def apply(variable: Extent): Extent
  }

  private object Variable extends Node {
    override def apply(variable: Extent): Extent = variable
  }

  private object Never extends Node {
    override def apply(variable: Extent): Extent = Anything
  }

  private final class Constant(e: Expression) extends Node {
    private lazy val value =
      try Extent.point(e.eval())
      catch { case NonFatal(_) => Anything }
    override def apply(variable: Extent): Extent = value
  }

  private final class Inner(call: Call, piece: Piece, children: Seq[Node]) extends Node {
    override def apply(variable: Extent): Extent =
      try piece(call, children.map(_(variable)))
      catch { case NonFatal(_) => Anything }
  }
}
