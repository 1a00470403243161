// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import org.scalatest.tagobjects.Slow

/** Conditions inside conditions, as pandas-on-Spark and other generators write them. */
class MaskSuite extends GridTestBase {

  /** As pandas-on-Spark wraps each condition, so that NULL counts as false. */
  private def mask(p: String): String = s"CASE WHEN ($p) IS NULL THEN false ELSE ($p) END"
  private def twice(p: String): String = mask(mask(p))
  private def and(a: String, b: String): String = twice(s"(${twice(a)}) AND (${twice(b)})")
  private def or(a: String, b: String): String = twice(s"(${twice(a)}) OR (${twice(b)})")
  private def not(a: String): String =
    twice(s"CASE WHEN (${twice(a)}) IS NULL THEN false ELSE NOT (${twice(a)}) END")

  testShapes("masks of pandas-on-Spark")(
    twice("k = 5") -> 4,
    and("k = 5", "other > 1") -> 4,
    or("k = 5", "k = 7") -> 4,
    not("k >= 25") -> 4,
    // NULL counts as false, so NOT makes it true
    not("nullable >= 25") -> 16,
    not("small") -> 8)

  test("more masks of pandas-on-Spark", Slow) {
    checkShapes(
      and(and("k = 5", "other > 1"), and("d < date'2024-03-01'", "k < 50")) -> 1,
      or(and("k = 5", "other = 1"), and("k = 7", "other = 2")) -> 4,
      not(or("k >= 25", "other = 3")) -> 4,
      not(and("k >= 25", "k < 1000")) -> 4,
      and("k >= 5", "k <= 9") -> 4,
      and("year(cast(t as date)) = 2024", "k = 7") -> 4,
      and("month(cast(t as date)) = 2", "k = 7") -> 1,
      not("year(cast(t as date)) <= 2025") -> 0,
      not(and("t >= '2024-02-01'", "t < '2030-01-01'")) -> 4,
      and("nullable >= 5", "nullable <= 9") -> 4,
      twice("coalesce(k IN (5, 6), false)") -> 4,
      twice("startswith(name, 'c00001')") -> 4,
      and("small", "k = 7") -> 4)
  }

  for ((times, tags) <- Seq(4 -> Nil, 6 -> Seq(Slow)))
    test(s"the same mask nested again and again, $times times", tags: _*) {
      val deep = (1 to times).foldLeft("k = 5")((m, i) => mask(s"($m) AND other > -$i"))
      checkShapes(deep -> 4)
    }

  private val bins = (0 until 100).map(i => s"WHEN k < ${i + 1} THEN 'b$i'").mkString(" ")

  testShapes("conditions in values, in comparisons and in NULL tests")(
    s"CASE $bins ELSE 'none' END = 'b30'" -> 4,
    s"CASE $bins ELSE 'none' END IN ('b30', 'b31')" -> 4,
    s"CASE WHEN ${and("k = 5", "other > 1")} THEN 1 ELSE 0 END = 1" -> 4,
    s"if(${and("k = 5", "other > 1")}, 'x', 'y') = 'x'" -> 4,
    s"CASE WHEN ${or("k = 5", "k = 9")} THEN 1 ELSE 0 END + 1 > 1" -> 4,
    s"(${twice("k = 5")}) = true" -> 4,
    s"(${twice("k >= 25")}) = false" -> 4,
    s"(${twice("k >= 25")}) <=> false" -> 4,
    s"(${twice("k = 5")}) = (other >= 0)" -> 16,
    s"(${twice("k = 5")}) = (1 <= k AND k < 25)" -> 16,
    "(k < 25) = (k > -1)" -> 4,
    "(k < 25) <=> (k > -1)" -> 4,
    "(year(t) = 2023) IS NULL" -> 0,
    "year(t) IS NULL" -> 0,
    "(CASE WHEN k > 30 THEN NULL ELSE k END) IS NOT NULL" -> 8,
    "(CASE WHEN k < 25 THEN NULL ELSE k END) IS NULL" -> 4,
    "if(k = 5, 1, 0) + if(k = 7, 1, 0) > 0" -> 4,
    "coalesce(nullif(k, 5), -1) = -1" -> 4,
    "nvl2(nullif(k, 5), 0, 1) = 1" -> 4)
}
