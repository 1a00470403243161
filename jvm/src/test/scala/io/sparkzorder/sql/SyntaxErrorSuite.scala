// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.parser.ParseException

import io.sparkzorder.TestConditions

/** What a user sees of a statement with wrong syntax: the condition, the own text, the position. */
class SyntaxErrorSuite extends ParserTestBase {

  test("syntax errors are ParseExceptions with their position") {
    for ((text, line, position) <- Seq(
        ("OPTIMIZE", 1, 8),
        ("OPTIMIZE t ZORDER (a)", 1, 18),
        ("OPTIMIZE t ZORDER BY", 1, 20),
        ("OPTIMIZE t ZORDER BY (a", 1, 23),
        ("OPTIMIZE t ZORDER BY (a b)", 1, 24),
        ("OPTIMIZE t ZORDER BY ()", 1, 22),
        ("OPTIMIZE t\nZORDER BY (a) WHERE p = 1", 2, 14),
        ("OPTIMIZE t INTO out", 1, 16),
        ("OPTIMIZE t OPTIONS (a)", 1, 21),
        ("OPTIMIZE t OPTIONS (a b c)", 1, 24),
        ("OPTIMIZE t OPTIONS ('a' '1', 'b' '2', a '3')", 1, 38),
        ("OPTIMIZE t DRY", 1, 14),
        ("OPTIMIZE t DRY RUN FULL", 1, 19),
        ("OPTIMIZE t; SELECT 1", 1, 12),
        ("EXPLAIN OPTIMIZE t ZORDER", 1, 25),
        ("SHOW LAYOUT", 1, 11),
        ("RECOVER LAYOUT", 1, 14),
        ("UNDO LAYOUT t u", 1, 14),
        ("SHOW LAYOUT HISTORY a b", 1, 22),
        ("VACUUM LAYOUT t RETAIN HOURS", 1, 23),
        ("VACUUM LAYOUT t RETAIN x HOURS", 1, 23),
        ("VACUUM LAYOUT t\nRETAIN 1e3 HOURS", 2, 7),
        ("VACUUM LAYOUT t RETAIN 2.5 HOURS", 1, 24),
        ("VACUUM LAYOUT t RETAIN -1 HOURS", 1, 23),
        ("VACUUM LAYOUT t RETAIN 99999999999999999999 HOURS", 1, 23),
        ("VACUUM LAYOUT t RETAIN 24", 1, 25),
        ("CREATE ZORDER INDEX t", 1, 20),
        ("CREATE ZORDER INDEX IF EXISTS ON t", 1, 23),
        ("CREATE IF NOT EXISTS ZORDER INDEX IF NOT EXISTS ON t", 1, 34),
        ("DROP ZORDER INDEX IF NOT EXISTS ON t", 1, 21),
        ("DROP IF EXISTS ZORDER INDEX IF EXISTS ON t", 1, 28),
        ("ALTER TABLE c.d.t SORT BY (", 1, 27),
        ("ALTER TABLE c.d.t SORT BY ZORDER (a", 1, 35),
        ("REFRESH ZORDER INDEX IF EXISTS ON t", 1, 21),
        ("OPTIMIZE t FULL WHERE p = 1 FULL", 1, 28),
        ("OPTIMIZE t WHERE p = 1 FULL FULL", 1, 23),
        ("OPTIMIZE t WHERE p = 1\n  PLEASE ZORDER BY (a)", 2, 2),
        ("OPTIMIZE t WHERE\n p = 1\nAND q = = 2 FULL", 3, 8),
        ("OPTIMIZE t WHERE p = 1 ZORDR BY (a)", 1, 29),
        ("OPTIMIZE t WHERE p = 1 GROUP BY x ZORDER BY (a)", 1, 23),
        ("OPTIMIZE t WHERE p = 1, q = 2", 1, 22),
        ("OPTIMIZE /* \ud83d\ude00 */ t WHERE p = = 1", 1, 29),
        ("SHOW SKIPPING FOR\nSELECT FROM t WHERE 1 = 1 1", 2, 26),
        ("SHOW SKIPPING FOR", 1, 17))) {
      val e = intercept[ParseException](sql(text))
      assert(TestConditions.of(e) === "PARSE_SYNTAX_ERROR", text)
      assert((e.line, e.startPosition) === ((Some(line), Some(position))), text)
    }
  }

  private val shown = Seq(
    "OPTIMIZE t WHERE p = = 1 ZORDER BY (a)" ->
      """OPTIMIZE t WHERE p = = 1 ZORDER BY (a)
        |---------------------^^^""".stripMargin,
    "OPTIMIZE t\n  WHERE p = 1\n  AND q = = 'x'\nZORDER BY (a)" ->
      """OPTIMIZE t
        |  WHERE p = 1
        |  AND q = = 'x'
        |----------^^^
        |ZORDER BY (a)""".stripMargin,
    "OPTIMIZE t\nWHERE p = 1 PLEASE\nFULL" ->
      """OPTIMIZE t
        |WHERE p = 1 PLEASE
        |------------^^^
        |FULL""".stripMargin,
    "OPTIMIZE t\nPLEASE" ->
      """OPTIMIZE t
        |PLEASE
        |^^^""".stripMargin,
    "OPTIMIZE t ZORDER BY (a, öl)" ->
      """OPTIMIZE t ZORDER BY (a, öl)
        |-------------------------^^^""".stripMargin,
    "SHOW SKIPPING FOR\nSELECT a FROM t WHERE a =" ->
      """SHOW SKIPPING FOR
        |SELECT a FROM t WHERE a =
        |-------------------------^^^""".stripMargin)

  test("an error shows the text of the user, with a mark below the position") {
    for ((text, display) <- shown) {
      val errors = Seq(
        intercept[ParseException](sql(text)),
        intercept[ParseException](spark.sql(text, Map[String, Any]("x" -> 1))),
        intercept[ParseException](spark.sql(text, Array[Any](1))))
      for (e <- errors) {
        assert(e.command === Some(text))
        assert(e.getMessage.trim.endsWith(s"== SQL ==\n$display"), e.getMessage)
      }
    }
  }
}
