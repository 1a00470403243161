// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import io.sparkzorder.commands.OptimizeTestBase

/** Values that Spark's writer passes through ours. */
class ParquetRewriteFormatSuite extends OptimizeTestBase {

  test("every decimal comes back: extremes, negative ones, NULL, and Spark's own schema") {
    withTableDir { dir =>
      val ends = Seq(1 -> 0, 5 -> 2, 9 -> 0, 9 -> 9, 10 -> 2, 18 -> 0, 18 -> 18, 19 -> 2, 38 -> 18)
      val columns = ends.map { case (p, s) =>
        val most = "9" * (p - s) + (if (s == 0) "" else "." + "9" * s)
        s"""CAST(CASE pmod(id, 7) WHEN 0 THEN '$most' WHEN 1 THEN '-$most' WHEN 2 THEN NULL
          |WHEN 3 THEN '0' WHEN 4 THEN '-${"0." + "0" * math.max(0, s - 1) + "1"}'
          |ELSE concat('-0.', pmod(hash(id, $p), 10)) END AS DECIMAL($p, $s)) d${p}_$s"""
          .stripMargin
      }
      write(spark.range(0, 500, 1, 4).selectExpr("id" +: columns: _*), dir)
      val before = read(dir)
      val schema = before.schema
      val rows = before.collect().map(_.toString).sorted.toSeq
      assert(rows.size === 500)
      // checks itself that the rows are the same multiset
      optimize(s"OPTIMIZE '$dir' ZORDER BY (id, d9_0, d18_18)", dir)(read(dir))
      assert(read(dir).schema === schema)
      assert(read(dir).collect().map(_.toString).sorted.toSeq === rows)
    }
  }
}
