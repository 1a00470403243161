// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, NumericType, StringType}

/**
 * Comparisons of a text column with numbers. Spark casts the column, so the texts '5', '05' and ' 5' are all
 * equal to 5, and neither the bounds of the column nor the index of its values say much.
 */
private[predicate] object TextAsNumber {

  /** What to write in the place of such a comparison in a filter; None if the filter has none. */
  def advice(filter: Expression): Option[String] =
    filter.collectFirst {
      case EqualTo(TextCast(name, t), Literal(v, _)) if v != null => text(name, t, s"= '$v'")
      case EqualTo(Literal(v, _), TextCast(name, t)) if v != null => text(name, t, s"= '$v'")
      case EqualNullSafe(TextCast(name, t), Literal(v, _)) if v != null =>
        text(name, t, s"<=> '$v'")
      case EqualNullSafe(Literal(v, _), TextCast(name, t)) if v != null =>
        text(name, t, s"<=> '$v'")
      case In(TextCast(name, t), Literal(v, _) +: _) if v != null => text(name, t, s"IN ('$v', ..)")
      case InSet(TextCast(name, t), values) if values.exists(_ != null) =>
        text(name, t, s"IN ('${values.find(_ != null).get}', ..)")
    }

  private def text(name: String, to: DataType, comparison: String): String =
    s"$name is cast to ${to.sql} for this comparison; quote the literal, as in $name $comparison"

  private object TextCast {
    def unapply(e: Expression): Option[(String, DataType)] = e match {
      case c: Cast if c.dataType.isInstanceOf[NumericType] =>
        c.child match {
          case a: Attribute if a.dataType.isInstanceOf[StringType] => Some((a.name, c.dataType))
          case _ => None
        }
      case _ => None
    }
  }
}
