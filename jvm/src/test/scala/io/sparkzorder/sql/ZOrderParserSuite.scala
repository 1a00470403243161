// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}

import io.sparkzorder.TestConditions

/** What is ours, and what goes to the next parser. */
class ZOrderParserSuite extends ParserTestBase {

  test("keywords as names in statements of others") {
    withTable("optimize", "layout") {
      sql("CREATE TABLE optimize (zorder INT, layout INT, skipping STRING) USING parquet")
      sql("INSERT INTO optimize VALUES (1, 2, 'optimize layout')")
      checkAnswer(sql("SELECT zorder, layout FROM optimize"), Row(1, 2))
      checkAnswer(sql("SELECT 'OPTIMIZE t ZORDER BY x' AS optimize"), Row("OPTIMIZE t ZORDER BY x"))
      sql("SHOW COLUMNS IN optimize").collect()
      sql("EXPLAIN SELECT * FROM optimize").collect()
      sql("REFRESH TABLE optimize")
      sql("CREATE TABLE layout USING parquet AS SELECT * FROM optimize")
      sql("SHOW TABLES LIKE 'layout'").collect()
      sql("DROP TABLE layout")
      sql("OPTIMIZE optimize ZORDER BY (zorder, layout)").collect()
    }
  }

  test("what is not ours reaches the next parser untouched") {
    for (text <- Seq(
        "SELECT 'optimize' , /*+ layout */ \"zorder\" FROM t -- skipping",
        "select 1",
        " \n SELECT layout FROM optimize;",
        "SHOW TABLES LIKE 'layout'",
        "CREATE TABLE zorder (layout INT) USING parquet",
        "EXPLAIN SELECT optimize FROM t",
        "DROP TABLE IF EXISTS layout",
        "DESCRIBE layout",
        "SELECT ${not_a_variable:-layout} FROM t",
        "REFRESH TABLE skipping")) {
      val r = recording
      val ours = scala.util.Try(new ZOrderParser(r).parsePlan(text))
      assert(r.seen.toSeq === Seq("parsePlan" -> text))
      val real = scala.util.Try(r.real.parsePlan(text))
      assert(ours.toOption.map(p => plain(p.toString)) ===
        real.toOption.map(p => plain(p.toString)))
      assert(ours.failed.toOption.map(_.getMessage) === real.failed.toOption.map(_.getMessage))
    }
    val r = recording
    val p = new ZOrderParser(r)
    p.parseExpression("optimize + 1")
    p.parseTableIdentifier("optimize.layout")
    p.parseFunctionIdentifier("zorder")
    p.parseMultipartIdentifier("a.layout.b")
    p.parseTableSchema("layout INT")
    p.parseDataType("array<int>")
    p.parseQuery("SELECT 'optimize'")
    assert(r.seen.toSeq === Seq(
      "parseExpression" -> "optimize + 1",
      "parseTableIdentifier" -> "optimize.layout",
      "parseFunctionIdentifier" -> "zorder",
      "parseMultipartIdentifier" -> "a.layout.b",
      "parseTableSchema" -> "layout INT",
      "parseDataType" -> "array<int>",
      "parseQuery" -> "SELECT 'optimize'"))
    r.seen.clear()
    RecordingParserOfSparkLine.checkOwnMethods(p, r)
  }

  test("VACUUM of a table called layout is left to a parser that knows LITE and FULL") {
    val ofNext = LocalRelation()
    val delta = new RecordingParserOfSparkLine(sparkParser) {
      override def parsePlan(text: String): LogicalPlan =
        if (text.matches("(?is)VACUUM\\s+[\\w.]+\\s+(LITE|FULL)\\b.*")) ofNext
        else super.parsePlan(text)
    }
    def isOfNext(text: String) = new ZOrderParser(delta).parsePlan(text) eq ofNext
    for (text <- Seq("LITE", "full", "lite RETAIN 5 HOURS DRY RUN", "FULL DRY RUN")) {
      assert(isOfNext(s"VACUUM layout $text"), text)
      // a session without Delta
      assert(parse(s"VACUUM layout $text").toString.contains("VacuumLayout"), text)
    }
    for (text <- Seq("`lite`", "lite.t", "full.lite RETAIN 5 HOURS", "t", "default.full")) {
      assert(!isOfNext(s"VACUUM LAYOUT $text"), text)
    }
  }

  test("no method of Spark's parser is forgotten, by name") {
    val common = Set(
      "parsePlan",
      "parseExpression",
      "parseTableIdentifier",
      "parseFunctionIdentifier",
      "parseMultipartIdentifier",
      "parseTableSchema",
      "parseDataType",
      "parseQuery")
    val methods = classOf[ParserInterface].getMethods.map(_.getName).filterNot(_.contains("$"))
    assert(methods.toSet === common ++ RecordingParserOfSparkLine.ownMethods)
  }

  test("another parser's own OPTIMIZE and its errors go first") {
    val r = recording
    intercept[ParseException](new ZOrderParser(r).parsePlan("OPTIMIZE t PLEASE"))
    assert(r.seen.contains("parsePlan" -> "OPTIMIZE t PLEASE"))
    val e = intercept[ParseException](parse("SELECT 'layout' FRM t WHERE"))
    assert(e.getMessage === intercept[ParseException](
      sparkParser.parsePlan("SELECT 'layout' FRM t WHERE")).getMessage)
  }

  test("spark.zorder.enabled = false turns the statements off") {
    withSQLConf("spark.zorder.enabled" -> "false") {
      val e = intercept[ParseException](sql("OPTIMIZE t ZORDER BY (a)"))
      assert(TestConditions.of(e) === "PARSE_SYNTAX_ERROR")
      val r = recording
      intercept[ParseException](new ZOrderParser(r).parsePlan("SHOW LAYOUT t"))
      assert(r.seen.toSeq === Seq("parsePlan" -> "SHOW LAYOUT t"))
    }
  }

  test("missing tables, views and other catalogs' words are Spark's own errors") {
    val e = intercept[org.apache.spark.sql.AnalysisException](sql("OPTIMIZE nope ZORDER BY (a)"))
    assert(TestConditions.of(e) === "TABLE_OR_VIEW_NOT_FOUND")
    withView("v") {
      sql("CREATE VIEW v AS SELECT 1 a")
      intercept[org.apache.spark.sql.AnalysisException](sql("OPTIMIZE v ZORDER BY (a)"))
    }
    withTempView("tv") {
      spark.range(3).createOrReplaceTempView("tv")
      intercept[org.apache.spark.sql.AnalysisException](sql("OPTIMIZE tv ZORDER BY (id)"))
    }
  }
}
