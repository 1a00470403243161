// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.BooleanType

/**
 * Keys that are equal if both are NULL. Spark makes two keys of `a <=> b`: a default value in the place of
 * NULL, and whether the key is NULL. A file with the NULL of one row and other values in the others would
 * hold both. So our filter says in one: the value is a key, or the value is NULL and NULL is a key.
 */
private[dynamic] object NullSafeKeys {

  /** The expression of which Spark makes the two keys. */
  def of(key: Expression, next: Expression): Option[Expression] = (key, next) match {
    case (Coalesce(Seq(a, _: Literal)), IsNull(b)) if a.semanticEquals(b) => Some(a)
    case _ => None
  }

  /** The two sides of each `a <=> b` among the keys of a join. A query's own `coalesce(a, 0)` is none. */
  def pairs(keys: Seq[(Expression, Expression)]): Seq[(Expression, Expression)] =
    keys.zip(keys.drop(1)).flatMap { case ((left, right), (nextLeft, nextRight)) =>
      for (a <- of(left, nextLeft); b <- of(right, nextRight) if default(left) == default(right))
        yield (a, b)
    }

  private def default(key: Expression): Option[Expression] = key match {
    case Coalesce(Seq(_, default)) => Some(default.canonicalized)
    case _ => None
  }

  /** What a filter tests of the expression: its value, and true if it is NULL. */
  def tested(e: Expression): CreateNamedStruct = CreateNamedStruct(Seq(
    Literal("value"),
    e,
    Literal("isNull"),
    If(IsNull(e), Literal.TrueLiteral, Literal(null, BooleanType))))

  /** The expression that a filter tests in this way. */
  def testedBy(f: KeyFilter): Option[Expression] =
    if (!f.isOneOf || f.sources.exists(_.isInstanceOf[KnownCondition])) None
    else f.keys match {
      case Seq(value, If(IsNull(other), Literal.TrueLiteral, Literal(null, BooleanType)))
          if value.semanticEquals(other) =>
        Some(value)
      case _ => None
    }
}
