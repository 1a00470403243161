// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.{AnalysisException, Row}

import io.sparkzorder.{TestConditions, ZOrderSessionSuite}

/** Recursive queries, tested from Spark 4.1 on: a call over one fails in 4.0. */
class RecursiveCteSuite extends ZOrderSessionSuite {

  test("over the result of a recursion") {
    checkAnswer(
      sql("""WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 3)
        |SELECT n, range_partition_id(n, 4) FROM r""".stripMargin),
      (0 to 3).map(n => Row(n, n)))
  }

  test("inside a recursion there is no input to sample yet") {
    val e = intercept[AnalysisException] {
      sql("""WITH RECURSIVE r(n) AS
        |(SELECT 0 UNION ALL SELECT range_partition_id(n, 4) + 1 FROM r WHERE n < 3)
        |SELECT * FROM r""".stripMargin).collect()
    }
    assert(TestConditions.of(e) === "ZORDER_SAMPLING_NOT_SUPPORTED")
  }
}
