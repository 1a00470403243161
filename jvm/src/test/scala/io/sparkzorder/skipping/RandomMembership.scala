// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import scala.util.Random

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  Literal,
  UnresolvedNamedLambdaVariable
}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._

/** Random predicates that ask for a list of values, without saying IN. */
private[skipping] final class RandomMembership(random: Random) {

  /** @param x a column */
  def next(x: Expression, c: RandomColumn): Expression = {
    val values = Seq.fill(random.nextInt(4))(c.literal(random).value) ++
      (if (random.nextInt(4) == 0) Seq(null) else Nil)
    val list = Literal(new GenericArrayData(values.toArray[Any]), ArrayType(c.dataType))
    val forms = RandomMembership.ofAll ++ (c.dataType match {
      case StringType => RandomMembership.ofText
      case _ => Nil
    })
    val parts = Map("x" -> x, "l" -> list, "p" -> c.literal(random), "q" -> c.literal(random))
    CatalystSqlParser.parseExpression(forms(random.nextInt(forms.size))).transform {
      case UnresolvedAttribute(Seq(name)) if parts.contains(name) => parts(name)
      case UnresolvedNamedLambdaVariable(Seq(name)) if parts.contains(name) => parts(name)
    }
  }
}

private[skipping] object RandomMembership {
  private val ofAll = Seq(
    "array_contains(l, x)",
    "NOT array_contains(l, x)",
    "array_contains(l, x) IS NULL",
    "coalesce(array_contains(l, x), false)",
    "array_contains(array(x, q), p)",
    "array_position(l, x) > 0",
    "array_position(l, x) = 2",
    "array_position(l, x) < 1",
    "array_position(l, x) IS NOT NULL",
    "arrays_overlap(array(x), l)",
    "NOT arrays_overlap(l, array(x, p))",
    "exists(l, v -> v = x)",
    "NOT exists(l, v -> v = x)",
    "exists(l, v -> v < x)",
    "forall(l, v -> v != x)",
    "NOT forall(l, v -> v >= x)",
    "size(filter(l, v -> v = x)) > 0",
    "size(filter(l, (v, i) -> v <=> x AND i > 0)) = 0",
    "size(array_intersect(array(x), l)) > 0",
    "size(array_intersect(array(x), l)) = 0",
    "size(array_except(array(x), l)) = 0",
    "size(array_except(array(x), l)) = 1",
    "map(p, 1)[x] IS NOT NULL",
    "map(p, 1)[x] IS NULL",
    "map(p, 1)[x] = 1",
    "coalesce(map(p, 1)[x], 0) = 0",
    "element_at(map(p, true), x)",
    "NOT element_at(map(p, false), x)")

  private val ofText = Seq(
    "find_in_set(x, p) > 0",
    "find_in_set(x, concat(p, ',', q)) = 2",
    "find_in_set(x, concat(p, ',', q)) < 2",
    "instr(p, x) > 0",
    "instr(concat(',', p, ',', q, ','), concat(',', x, ',')) > 0",
    "instr(concat(',', p, ','), concat(',', x)) = 0",
    "contains(p, x)",
    "NOT contains(concat(p, '/'), concat(x, '/'))",
    "x RLIKE '^(http|a|b)$'")
}
