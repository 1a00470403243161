// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.time.LocalDate

/** MAKE_DATE. The result may be NULL, because some days or months make no date, such as 31 February. */
private[values] object MadeDate extends Piece {

  override def apply(call: Call, children: Seq[Extent]): Extent =
    Ordered(
      Piece.ends,
      otherwise = { c =>
        def int(value: Any) = value.asInstanceOf[Int]
        def day(y: Any, m: Any, d: Any) = {
          val (year, month) = (int(y), math.max(1, math.min(12, int(m))))
          Piece.require(year >= 1 && year <= 9999)
          val most = LocalDate.of(year, month, 1).lengthOfMonth
          LocalDate.of(year, month, math.max(1, math.min(most, int(d)))).toEpochDay.toInt
        }
        Some((day(c(0).low, c(1).low, c(2).low), day(c(0).high, c(1).high, c(2).high)))
      },
      hasNulls = true).apply(call, children)
}
