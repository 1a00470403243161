// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.parser.{CatalystSqlParser, ParseException}

import io.sparkzorder.sources.OptimizeClauses

/** OPTIMIZE as a text: its clauses, names, predicates and parameters. */
class OptimizeStatementSuite extends ParserTestBase {

  test("every combination of clauses") {
    val targets = Seq(
      "t" -> Seq("t"),
      "TABLE c.d.t" -> Seq("c", "d", "t"),
      "parquet.`/a-b`" -> Seq("parquet", "/a-b"))
    for {
      (target, parts) <- targets
      full <- Seq("", "FULL")
      where <- Seq("", "WHERE p = 'x' AND (q > 1 OR r IN (1, 2))")
      by <- Seq("", "ZORDER BY (a, b.c)", "zorder by a, b.c")
      into <- Seq("", "INTO '/out'")
      options <- Seq(
        "",
        "OPTIONS ('verify' 'full', \"targetFileSize\" = '1g')",
        "OPTIONS (verify full, `targetFileSize` = 1g)")
      dry <- Seq("", "DRY RUN")
    } {
      val text = s"OPTIMIZE $target $full $where $by $into $options $dry"
      val o = optimize(text)
      assert(nameOf(o) === parts, text)
      assert(
        o.clauses === OptimizeClauses(
          full = full.nonEmpty,
          columns = if (by.isEmpty) Nil else Seq(Seq("a"), Seq("b", "c")),
          into = if (into.isEmpty) None else Some("/out"),
          options =
            if (options.isEmpty) Map.empty
            else Map("verify" -> "full", "targetFileSize" -> "1g"),
          dryRun = dry.nonEmpty),
        text)
      assert(
        o.where === (
          if (where.isEmpty) None
          else Some(CatalystSqlParser.parseExpression(where.stripPrefix("WHERE ")))),
        text)
    }
  }

  test("case, white space, comments, hints and semicolons") {
    val plain = optimize("OPTIMIZE t WHERE p = 1 ZORDER BY (a)")
    for (text <- Seq(
        "optimize t where p = 1 zorder by a;",
        "  OpTiMiZe\n\tt\r\nWHERE p = 1 ZORDER\u3000BY (a) ; ;",
        "/* before */ OPTIMIZE /* in */ t -- to the end\n WHERE p = 1 ZORDER BY (a) -- last",
        "-- first\nOPTIMIZE t WHERE p /* ZORDER BY b */ = 1 ZORDER BY (a)",
        "OPTIMIZE /*+ COALESCE(3) */ t WHERE p = 1 ZORDER BY (a)",
        "/* nested /* comment */ here */ OPTIMIZE t WHERE p = 1 ZORDER BY (a)")) {
      val o = optimize(text)
      assert(nameOf(o) === nameOf(plain), text)
      assert(o.clauses === plain.clauses, text)
      assert(o.where === plain.where, text)
    }
  }

  test("predicates that hold our words") {
    for (predicate <- Seq(
        "p = 'ZORDER BY x'",
        "p = \"INTO '/x'\"",
        "p LIKE '%;%'",
        "`zorder` = 1 AND `by` = 2",
        "p IN (SELECT x FROM u WHERE y = 1)",
        "p = 1 -- OPTIONS\n OR q = 2",
        "p IS NOT NULL AND NOT q",
        "CASE WHEN p THEN q ELSE r END",
        "p = r'\\d' OR p = 'it''s' OR p = 'it\\'s'",
        "full = dry AND layout = index",
        "p BETWEEN 1 AND 2",
        "exists(array(1), x -> x = p)")) {
      val o = optimize(s"OPTIMIZE t WHERE $predicate ZORDER BY (a) DRY RUN")
      assert(
        o.where.map(w => plain(w.toString)) ===
          Some(plain(CatalystSqlParser.parseExpression(predicate).toString)),
        predicate)
      assert(o.clauses.columns === Seq(Seq("a")) && o.clauses.dryRun, predicate)
    }
  }

  test("FULL after WHERE") {
    for {
      predicate <- Seq(
        "p = 1",
        "p",
        "p = 'FULL' /* FULL */",
        "full = 1",
        "a = full",
        "full",
        "p = full.full",
        "NOT full",
        "a = 1 OR full",
        "p IN (SELECT x FROM t1 FULL JOIN t2)",
        "CASE WHEN p THEN full END",
        "p = :full AND q = :x",
        "p IS NOT NULL")
      full <- Seq("FULL", "full", "-- to the end\n FuLl")
      by <- Seq("", "ZORDER BY (a, full)", "INTO '/out' DRY RUN", ";")
    } {
      val expected = Some(plain(CatalystSqlParser.parseExpression(predicate).toString))
      def where(o: OptimizeTable): Option[String] = o.where.map(w => plain(w.toString))
      val without = optimize(s"OPTIMIZE t WHERE $predicate $by")
      assert(where(without) === expected && !without.clauses.full, predicate)
      val text = s"OPTIMIZE t WHERE $predicate $full $by"
      val after = optimize(text)
      assert(where(after) === expected && after.clauses.full, text)
      assert(after.clauses === without.clauses.copy(full = true), text)
    }
    val before = optimize("OPTIMIZE t FULL WHERE a = full")
    assert(before.clauses.full)
    assert(before.where === Some(CatalystSqlParser.parseExpression("a = full")))
  }

  test("other parsers see FULL before WHERE") {
    for ((text, others) <- Seq(
        "OPTIMIZE TABLE t WHERE p = 1 FULL ZORDER BY a" ->
          "OPTIMIZE t FULL WHERE p = 1  ZORDER BY a",
        "OPTIMIZE '/x' WHERE p = 1 full" -> "OPTIMIZE delta.`/x` FULL WHERE p = 1 ",
        "OPTIMIZE t FULL WHERE p = full" -> "OPTIMIZE t FULL WHERE p = full",
        "OPTIMIZE t" -> "OPTIMIZE t")) {
      assert(optimize(text).delegated.text === others, text)
    }
  }

  test("names that need quotes, and keywords that need none") {
    val quoted = Seq("a.b", "a-b", "a b", "select", "größe", "日本", "a`b", "1", "é", "ZORDER")
    for (n <- quoted) {
      val q = s"`${n.replace("`", "``")}`"
      val o = optimize(s"OPTIMIZE $q.$q ZORDER BY ($q, $q.$q)")
      assert(nameOf(o) === Seq(n, n))
      assert(o.clauses.columns === Seq(Seq(n), Seq(n, n)))
    }
    val keywords = Seq(
      "optimize",
      "zorder",
      "layout",
      "index",
      "skipping",
      "full",
      "dry",
      "run",
      "into",
      "options",
      "recover",
      "undo",
      "vacuum",
      "retain",
      "hours",
      "history",
      "show",
      "refresh",
      "by",
      "where",
      "codegen",
      "cost",
      "logical",
      "extended",
      "formatted",
      "if",
      "explain",
      "drop")
    for (k <- keywords) {
      assert(optimize(s"OPTIMIZE $k ZORDER BY ($k, x.$k)").clauses.columns ===
        Seq(Seq(k), Seq("x", k)))
      assert(nameOf(optimize(s"OPTIMIZE $k")) === Seq(k))
      assert(nameOf(optimize(s"OPTIMIZE TABLE db.$k ZORDER BY $k")) === Seq("db", k))
    }
    // Spark's own rule for names without quotes
    for (text <- Seq("OPTIMIZE größe", "OPTIMIZE t ZORDER BY 日本")) {
      intercept[ParseException](parse(text))
    }
    val full = optimize("OPTIMIZE full full ZORDER BY full")
    assert(nameOf(full) === Seq("full") && full.clauses.full)
    assert(nameOf(optimize("OPTIMIZE table")) === Seq("table"))
  }
}
