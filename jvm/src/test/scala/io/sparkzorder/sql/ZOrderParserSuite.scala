package io.sparkzorder.sql

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{CatalystSqlParser, ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.types.{DataType, StructType}

import io.sparkzorder.{JobCounter, TestConditions}
import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.commands.history.{RecoverLayout, ShowLayoutHistory, UndoLayout, VacuumLayout}
import io.sparkzorder.commands.layout.ShowLayout
import io.sparkzorder.commands.optimize.OptimizeClauses
import io.sparkzorder.table.ParquetFiles

/** Writes down what reaches the next parser, and lets Spark's own do the work. */
abstract class RecordingParser(val real: ParserInterface) extends ParserInterface {
  val seen: ArrayBuffer[(String, String)] = ArrayBuffer.empty
  protected def note[T](method: String, text: String)(result: => T): T = {
    seen += (method -> text)
    result
  }
  override def parsePlan(sqlText: String): LogicalPlan =
    note("parsePlan", sqlText)(real.parsePlan(sqlText))
  override def parseExpression(sqlText: String): Expression =
    note("parseExpression", sqlText)(real.parseExpression(sqlText))
  override def parseTableIdentifier(sqlText: String): TableIdentifier =
    note("parseTableIdentifier", sqlText)(real.parseTableIdentifier(sqlText))
  override def parseFunctionIdentifier(sqlText: String): FunctionIdentifier =
    note("parseFunctionIdentifier", sqlText)(real.parseFunctionIdentifier(sqlText))
  override def parseMultipartIdentifier(sqlText: String): Seq[String] =
    note("parseMultipartIdentifier", sqlText)(real.parseMultipartIdentifier(sqlText))
  override def parseTableSchema(sqlText: String): StructType =
    note("parseTableSchema", sqlText)(real.parseTableSchema(sqlText))
  override def parseDataType(sqlText: String): DataType =
    note("parseDataType", sqlText)(real.parseDataType(sqlText))
  override def parseQuery(sqlText: String): LogicalPlan =
    note("parseQuery", sqlText)(real.parseQuery(sqlText))
}

class ZOrderParserSuite extends OptimizeTestBase {

  // the plain parser of Spark, not the one of the session, which has ours around it already
  private def recording = new RecordingParserOfSparkLine(sparkParser)
  private def sparkParser: ParserInterface =
    Iterator.iterate(spark.sessionState.sqlParser) {
      case z: ZOrderParser => z.delegate
      case other => other
    }.find(!_.isInstanceOf[ZOrderParser]).get

  private def parse(text: String): LogicalPlan = new ZOrderParser(sparkParser).parsePlan(text)

  /** Without the ids of expressions, which are new in every plan. */
  private def plain(plan: String): String = plan.replaceAll("#\\d+", "")

  private def optimize(text: String): OptimizeTable = parse(text) match {
    case o: OptimizeTable => o
    case other => fail(s"$text became $other")
  }

  private def nameOf(o: OptimizeTable): Seq[String] = o.child match {
    case u: UnresolvedTable => u.multipartIdentifier
    case PathTable(p, _) => Seq(p)
    case PathOrTable(parts) => parts
    case other => fail(other.toString)
  }

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
        ("SHOW SKIPPING FOR", 1, 17))) {
      val e = intercept[ParseException](sql(text))
      assert(TestConditions.of(e) === "PARSE_SYNTAX_ERROR", text)
      assert((e.line, e.startPosition) === ((Some(line), Some(position))), text)
    }
    val e = intercept[ParseException](sql("OPTIMIZE t WHERE p = = 1 ZORDER BY (a)"))
    assert(TestConditions.of(e) === "PARSE_SYNTAX_ERROR")
    intercept[ParseException](sql("OPTIMIZE t WHERE p = 1 GROUP BY x ZORDER BY (a)"))
  }

  test("IF NOT EXISTS stands before the words of the index") {
    for (target <- Seq("t", "db.t", "'/path'", "parquet.`/path`")) {
      intercept[ParseException](sql(s"CREATE ZORDER INDEX IF NOT EXISTS ON $target"))
    }
  }

  test("statements on a target: any form of it, keywords as names, comments") {
    val p = new ZOrderParser(sparkParser)
    for ((text, action) <- Seq(
        "RECOVER LAYOUT" -> RecoverLayout,
        "undo /* the last run */ layout" -> UndoLayout,
        "SHOW LAYOUT HISTORY" -> ShowLayoutHistory,
        "SHOW LAYOUT" -> ShowLayout(Nil),
        "VACUUM LAYOUT" -> VacuumLayout(None, dryRun = false))) {
      assert(p.parsePlan(s"$text 'a b'") === TargetStatement(
        PathTable("a b", ParquetFiles),
        action))
      assert(p.parsePlan(s"$text parquet.`/x`;") ===
        TargetStatement(PathOrTable(Seq("parquet", "/x")), action))
      for (name <- Seq("t", "layout", "history", "c.d.t", "`a.b`.retain")) {
        p.parsePlan(s"$text $name") match {
          case TargetStatement(t: UnresolvedTable, `action`) =>
            assert(t.multipartIdentifier === sparkParser.parseMultipartIdentifier(name))
          case other => fail(s"$text $name: $other")
        }
      }
    }
    for (columns <- Seq("(a, b.`c d`)", "a, b.`c d`")) {
      assert(p.parsePlan(s"show layout 'x' for $columns") ===
        TargetStatement(PathTable("x", ParquetFiles), ShowLayout(Seq(Seq("a"), Seq("b", "c d")))))
    }
    for ((clauses, action) <- Seq(
        "RETAIN 0 HOURS" -> VacuumLayout(Some(0L), dryRun = false),
        "RETAIN 168 HOURS DRY RUN" -> VacuumLayout(Some(168L), dryRun = true),
        "dry run" -> VacuumLayout(None, dryRun = true))) {
      assert(p.parsePlan(s"VACUUM LAYOUT 'x' $clauses") ===
        TargetStatement(PathTable("x", ParquetFiles), action))
    }
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

  private def withPartitions(body: String => Unit): Unit = withTableDir { dir =>
    write(shuffled(300, 1).selectExpr("*", "id % 3 p", "concat('k', id % 2) q"), dir, "p", "q")
    body(dir.getAbsolutePath)
  }

  private def partitionsOf(rows: => Array[Row]): Long =
    rows.head.getAs[Row]("metrics").getAs[Long]("partitionsOptimized")

  test("variables in WHERE and elsewhere") {
    withPartitions { path =>
      withSQLConf("my.p" -> "1", "my.column" -> "b", "my.path" -> path) {
        assert(partitionsOf(
          sql(
            "OPTIMIZE '${my.path}' WHERE p = ${my.p} ZORDER BY (a, ${my.column})").collect()) === 2)
        assert(
          partitionsOf(sql(s"OPTIMIZE '$path' FULL WHERE p = $${my.p} DRY RUN").collect()) === 2)
      }
    }
  }

  test("bind parameters in WHERE, named and positional") {
    withPartitions { path =>
      val named = s"OPTIMIZE '$path' WHERE p = :p OR q = :q ZORDER BY (a)"
      assert(partitionsOf(spark.sql(named, Map[String, Any]("p" -> 1, "q" -> "k0"))
        .collect()) === 4)
      val positional = s"OPTIMIZE '$path' WHERE p = ? AND q = ? ZORDER BY (a)"
      assert(partitionsOf(spark.sql(positional, Array[Any](2, "k1")).collect()) === 1)
      // a value is a value, never text of the statement
      assert(partitionsOf(spark.sql(
        s"OPTIMIZE '$path' WHERE q = :q ZORDER BY (a)",
        Map[String, Any]("q" -> "x' OR '1' = '1")).collect()) === 0)
      intercept[org.apache.spark.sql.AnalysisException](
        spark.sql(named, Map[String, Any]("p" -> 1)))
      intercept[org.apache.spark.sql.AnalysisException](sql(named))
      intercept[org.apache.spark.sql.AnalysisException](sql(positional))
    }
    withTable("pt") {
      shuffled(300, 1).selectExpr("*", "id % 3 p").write.format("parquet").partitionBy("p")
        .saveAsTable("pt")
      assert(partitionsOf(
        spark.sql("OPTIMIZE pt WHERE p = :x ZORDER BY a", Map[String, Any]("x" -> 1))
          .collect()) === 1)
      assert(partitionsOf(
        spark.sql("OPTIMIZE pt WHERE p <> ? ZORDER BY a", Array[Any](1)).collect()) === 2)
    }
  }

  test("EXPLAIN in every mode runs no job and touches nothing") {
    withPartitions { path =>
      val dir = new java.io.File(path)
      val before = snapshot(dir)
      for (mode <- Seq("", "EXTENDED", "FORMATTED", "CODEGEN", "COST", "LOGICAL");
        clauses <- Seq("WHERE p = 1 ZORDER BY (a, b)", "", "FULL DRY RUN", "INTO '/tmp/no'")) {
        val text = s"EXPLAIN $mode OPTIMIZE '$path' $clauses"
        var shown = ""
        val count = JobCounter.count(spark) {
          shown = sql(text).collect().map(_.getString(0)).mkString("\n")
        }
        assert(count.jobs === 0, text)
        if (mode != "CODEGEN") assert(shown.toLowerCase.contains("optimize"), s"$text: $shown")
      }
      assert(snapshot(dir) === before)
    }
    assert(parse("EXPLAIN OPTIMIZE t").isInstanceOf[ExplainCommand])
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
