// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.DataType

/** What is known of the results of an expression while a column takes the values of an interval. */
private[values] sealed trait Extent

private[values] object Extent {

  /** The results may be anything: each value of the type, NULL, or an error. */
  case object Anything extends Extent

  /** Every result is NULL. */
  case object OnlyNull extends Extent

  /**
   * Every result that is neither NULL nor an error lies between two values, both included.
   *
   * @param isPoint the two values are one
   * @param mayBeNull some result may be NULL
   * @param template what is known of each character of texts
   */
  final case class Between(
      low: Any,
      high: Any,
      isPoint: Boolean,
      mayBeNull: Boolean = false,
      template: Option[TextTemplate] = None)
      extends Extent

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
