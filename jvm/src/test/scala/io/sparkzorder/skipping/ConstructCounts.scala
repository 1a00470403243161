// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** How often each kind of expression, column and literal was in a predicate, and in one that let files go. */
final class ConstructCounts {
  private val counts = mutable.TreeMap.empty[String, (Int, Int)]

  def add(predicate: Expression, dropped: Boolean): Unit = {
    val kinds = predicate.collect { case e => ConstructCounts.kinds(e) }.flatten.toSet
    kinds.foreach { k =>
      val (all, some) = counts.getOrElse(k, (0, 0))
      counts(k) = (all + 1, if (dropped) some + 1 else some)
    }
  }

  def apply(kind: String): Int = counts.get(kind).fold(0)(_._1)

  /** `kind number (of which let files go)` in the order of names. */
  override def toString: String =
    counts.map { case (kind, (all, some)) => s"$kind $all ($some)" }.mkString(", ")
}

object ConstructCounts {
  // days and microseconds of 1900-01-01
  private val days = -25567
  private val micros = days * 86400000000L

  private def kinds(e: Expression): Seq[String] = e match {
    case Literal(value, t) => "literal" +: literal(value, t)
    case a: Attribute => Seq(s"column of ${a.dataType.catalogString.takeWhile(_ != '<')}")
    case s: InSet if s.hset.contains(null) => Seq("inset", "inset with null")
    case i: In if i.list.exists(isNull) => Seq("in", "in with null")
    case other => Seq(other.nodeName.toLowerCase(java.util.Locale.ROOT))
  }

  // ANSI mode does not allow each constant
  private def isNull(e: Expression): Boolean =
    e.foldable && Try(e.eval()).toOption.contains(null)

  private def literal(value: Any, t: DataType): Seq[String] = (value, t) match {
    case (null, _) => Seq("literal null")
    case (n @ (_: Double | _: Float), _) =>
      val d = n.asInstanceOf[Number].doubleValue
      if (d.isNaN) Seq("literal NaN")
      else if (d.isInfinite) Seq("literal infinity")
      else if (d == 0 && 1 / d < 0) Seq("literal -0.0")
      else Nil
    case (s: UTF8String, _) =>
      (if (s.numBytes > 64) Seq("literal over 64 bytes") else Nil) ++
        (if (s.numBytes != s.numChars) Seq("literal not ASCII") else Nil)
    case (d: Int, DateType) if d < days => Seq("literal before 1900")
    case (m: Long, TimestampType | TimestampNTZType) if m < micros => Seq("literal before 1900")
    case _ => Nil
  }
}
