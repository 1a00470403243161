// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import org.apache.spark.sql.Row

/** The rows of a result as a multiset. */
object ResultRows {

  /** Sums of floating-point numbers depend on the order of the rows in their last digits. */
  private val Digits = 9

  def normalized(rows: Seq[Row]): Seq[String] =
    rows.map(_.toSeq.map(text).mkString("|")).sorted

  private def text(value: Any): String = value match {
    case null => "NULL"
    case d: Double => rounded(d)
    case f: Float => rounded(f.toDouble)
    case other => other.toString
  }

  private def rounded(d: Double): String =
    if (d.isNaN || d.isInfinite) d.toString
    else new java.math.BigDecimal(d).round(new java.math.MathContext(Digits)).stripTrailingZeros
      .toString

  /** What distinguishes two results, for a message; None if they are equal. */
  def difference(one: Seq[String], other: Seq[String]): Option[String] =
    if (one == other) None
    else {
      val missing = one.diff(other)
      val added = other.diff(one)
      Some(
        s"${one.size} and ${other.size} rows, ${missing.size} only in the first: " +
          s"${missing.take(2).mkString("; ")}, ${added.size} only in the second: " +
          added.take(2).mkString("; "))
    }
}
