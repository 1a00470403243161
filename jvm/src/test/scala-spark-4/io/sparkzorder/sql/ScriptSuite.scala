// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{AnalysisException, Row}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.{
  CompoundBody,
  LogicalPlan,
  SimpleCaseStatement,
  SingleStatement
}

import io.sparkzorder.commands.history.{UndoLayout, VacuumLayout}
import io.sparkzorder.commands.index.CreateIndex
import io.sparkzorder.table.ParquetFiles

/** Our statements in scripts, `BEGIN .. END`. */
class ScriptSuite extends ParserTestBase {

  private def scripting[T](body: => T): Unit =
    withSQLConf("spark.sql.scripting.enabled" -> "true")(body)

  private def script(text: String): CompoundBody = parse(text) match {
    case b: CompoundBody => b
    case other => fail(s"$text became $other")
  }

  private def statements(plan: LogicalPlan): Seq[LogicalPlan] = plan match {
    case s: SingleStatement => Seq(s.parsedPlan)
    case b: CompoundBody => (b.collection ++ b.handlers.map(_.body)).flatMap(statements)
    case c: SimpleCaseStatement => (c.conditionalBodies ++ c.elseBody).flatMap(statements)
    case other => other.children.flatMap(statements)
  }

  /** Without what is new in every plan: ids, labels, addresses of functions. */
  private def same(plan: LogicalPlan): String =
    plain(plan.treeString).replaceAll("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "")
      .replaceAll("Lambda[^,\\s]*", "")

  private def ours(text: String): Seq[LogicalPlan] = statements(script(text)).filter {
    case _: OptimizeTable | _: TargetStatement => true
    case _ => false
  }

  private def withTables(body: String => Unit): Unit = withTable("pt", "qt") {
    for (name <- Seq("pt", "qt")) {
      shuffled(300, 1).selectExpr("*", "id % 3 p").write.format("parquet").partitionBy("p")
        .saveAsTable(name)
    }
    body("pt")
  }

  private def history(name: String): Long = sql(s"SHOW LAYOUT HISTORY $name").count()

  /** Rows that each run has written, in ascending order; a partition has 100. */
  private def rowsOfRuns(name: String): Seq[Long] =
    sql(s"SHOW LAYOUT HISTORY $name").collect().map(_.getAs[Long]("numRows")).toSeq.sorted

  test("every statement, first, last, and between others") {
    scripting {
      val texts = Seq(
        "OPTIMIZE t",
        "OPTIMIZE TABLE t FULL WHERE p = 1 ZORDER BY (a) OPTIONS ('x' ';')",
        "SHOW LAYOUT t FOR (a)",
        "SHOW LAYOUT HISTORY t",
        "SHOW WORKLOAD t",
        "CREATE ZORDER INDEX ON t (a)",
        "REFRESH ZORDER INDEX ON t",
        "DROP ZORDER INDEX ON t",
        "RECOVER LAYOUT t",
        "UNDO LAYOUT\nt",
        "ALTER TABLE t SORT BY (a)",
        "VACUUM LAYOUT t DRY RUN",
        "EXPLAIN OPTIMIZE t",
        "SHOW SKIPPING FOR SELECT * FROM t",
        "OPTIMIZE IDENTIFIER('a' || ';b')")
      for (text <- texts) {
        val alone = same(parse(text))
        for (all <- Seq(
            s"BEGIN $text; END",
            s"begin SELECT 1; $text ; END;",
            s"BEGIN -- OPTIMIZE x;\n IF (SELECT max(optimize) FROM t) > 1 THEN $text; END IF; END")) {
          assert(statements(script(all)).map(same).contains(alone), all)
        }
      }
      val together = texts.mkString("BEGIN ", ";\n", "; END")
      assert(statements(script(together)).map(same) ===
        texts.map(t => same(parse(t))))
    }
  }

  test("in blocks, loops, branches, handlers; with labels, comments and strings") {
    scripting {
      val target = PathTable("x", ParquetFiles)
      val found = ours("""
        |BEGIN
        |  DECLARE EXIT HANDLER FOR SQLEXCEPTION UNDO LAYOUT 'x';
        |  outer_block: BEGIN
        |    DECLARE i INT DEFAULT 0;
        |    DECLARE EXIT HANDLER FOR SQLSTATE '45000' BEGIN VACUUM LAYOUT 'x'; END;
        |    optimize: WHILE i < 2 DO
        |      CREATE ZORDER INDEX ON 'x'; /* UNDO LAYOUT 'y'; */
        |      SET i = i + 1;
        |    END WHILE optimize;
        |    FOR r AS SELECT CASE WHEN true THEN optimize END, 'OPTIMIZE t;' FROM (SELECT 1 optimize)
        |    DO UNDO LAYOUT 'x'; END FOR;
        |    REPEAT UNDO LAYOUT 'x'; UNTIL true END REPEAT;
        |    l: LOOP UNDO LAYOUT 'x'; LEAVE l; END LOOP l;
        |    CASE WHEN CASE WHEN i > 1 THEN false ELSE true END THEN UNDO LAYOUT 'x';
        |      ELSE UNDO LAYOUT 'x'; END CASE;
        |    CASE i WHEN 1 THEN UNDO LAYOUT 'x'; ELSE UNDO LAYOUT 'x'; END CASE;
        |    IF i = 1 THEN UNDO LAYOUT 'x'; ELSEIF i = 2 THEN UNDO LAYOUT 'x';
        |      ELSE UNDO LAYOUT 'x'; END IF;
        |  END outer_block;
        |END""".stripMargin)
      val undone = TargetStatement(target, UndoLayout)
      assert(found.count(_ == undone) === 11)
      assert(found.filterNot(_ == undone).toSet === Set(
        TargetStatement(target, VacuumLayout(None, dryRun = false)),
        TargetStatement(target, CreateIndex(Nil, ifNotExists = false))))
    }
  }

  test("what is not ours reaches the next parser untouched") {
    scripting {
      for (text <- Seq(
          "BEGIN SELECT 1; END",
          "BEGIN\n SELECT 'OPTIMIZE t' optimize; SELECT CASE WHEN true THEN optimize END FROM t; END",
          "BEGIN CREATE TABLE t USING parquet AS SELECT 1 a SORT BY a; END")) {
        val next = recording
        val plan = new ZOrderParser(next).parsePlan(text)
        assert(same(plan) === same(sparkParser.parsePlan(text)))
        assert(next.seen.toSeq.filter(_._1 == "parsePlan").map(_._2) === Seq(text))
      }
    }
  }

  test("an error has its place in the script") {
    scripting {
      for ((text, line, column) <- Seq(
          ("BEGIN\n SELECT 1;\n OPTIMIZE t ZORDR BY (a);\nEND", 3, 12),
          ("BEGIN OPTIMIZE t WHERE p = = 1; END", 1, 27),
          ("BEGIN OPTIMIZE t;\n SELEC 1; END", 2, 7),
          ("BEGIN UNDO LAYOUT\n\nt; SELEC 1; END", 3, 9))) {
        val e = intercept[ParseException](parse(text))
        assert(e.command.contains(text), text)
        assert((e.line, e.startPosition) === ((Some(line), Some(column))), text)
      }
      // Spark's own column for this error
      val e = intercept[ParseException](sparkParser.parsePlan("BEGIN SELECT   1;\n SELEC 1; END"))
      assert((e.line, e.startPosition) === ((Some(2), Some(7))))
      withTables { _ =>
        val e = intercept[AnalysisException](
          sql("BEGIN SELECT 1;\n OPTIMIZE pt WHERE nothing = 1 ZORDER BY (a); END").collect())
        assert(e.getMessage.contains("`nothing`") && e.getMessage.contains("line 2 pos 19"), e)
      }
    }
  }

  test("scripts run: variables in WHERE, a handler") {
    scripting {
      withTables { name =>
        sql(s"BEGIN DECLARE day INT DEFAULT 1; OPTIMIZE $name WHERE p = day ZORDER BY (a); END")
          .collect()
        assert(rowsOfRuns(name) === Seq(100))
        sql("""BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION UNDO LAYOUT pt;
          | OPTIMIZE pt ZORDER BY (nothing); END""".stripMargin).collect()
        assert(history("pt") === 2)
      }
    }
  }

  test("scripts run: IDENTIFIER in loops, tables in scripts, EXECUTE IMMEDIATE", Slow) {
    scripting {
      withTables { name =>
        sql(s"BEGIN DECLARE day INT DEFAULT 1; OPTIMIZE $name WHERE p = day ZORDER BY (a); END")
          .collect()
        sql(s"""BEGIN
          | FOR r AS SELECT * FROM VALUES ('pt'), ('qt') AS names(name) DO
          |   OPTIMIZE IDENTIFIER('default.' || r.name) FULL ZORDER BY (a, id);
          | END FOR;
          |END""".stripMargin).collect()
        assert(history("pt") === 2 && history("qt") === 1)
        sql("""BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION UNDO LAYOUT qt;
          | OPTIMIZE pt ZORDER BY (nothing); END""".stripMargin).collect()
        assert(history("qt") === 2 && history("pt") === 2)
        sql("""BEGIN CREATE TABLE st (a INT) USING parquet SORT BY ZORDER (a);
          | EXECUTE IMMEDIATE 'OPTIMIZE pt FULL ZORDER BY (a)'; END""".stripMargin).collect()
        withTable("st") {
          assert(spark.catalog.tableExists("st"))
          assert(sql("SHOW TBLPROPERTIES st").collect().exists(_.getString(0).contains("zorder")))
        }
        assert(history("pt") === 3)
      }
    }
  }

  test("bind parameters in a script") {
    scripting {
      withTables { name =>
        val script =
          s"BEGIN IF :p > 0 THEN OPTIMIZE IDENTIFIER(:t) WHERE p = :p ZORDER BY (a); END IF; END"
        spark.sql(script, Map[String, Any]("p" -> 1, "t" -> name)).collect()
        assert(rowsOfRuns(name) === Seq(100))
        intercept[AnalysisException](spark.sql(script, Map[String, Any]("p" -> 1)).collect())
        // Spark knows no parameters by position in scripts
        for (script <- Seq(
            s"BEGIN OPTIMIZE $name WHERE p = ? ZORDER BY (a); END",
            s"BEGIN SELECT ?; OPTIMIZE $name ZORDER BY (a); END")) {
          val e = intercept[Exception](spark.sql(script, Array[Any](1)).collect())
          assert(e.getMessage.contains("SQL_SCRIPTING_WITH_POSITIONAL_PARAMETERS"), e)
        }
        assert(rowsOfRuns(name) === Seq(100))
      }
    }
  }

  test("parameters of EXECUTE IMMEDIATE, before and in WHERE") {
    withTables { name =>
      val text = "'OPTIMIZE IDENTIFIER(? || ?) WHERE p = ? ZORDER BY (a)'"
      sql(s"EXECUTE IMMEDIATE $text USING 'p', 't', 1").collect()
      assert(rowsOfRuns(name) === Seq(100))
      sql("EXECUTE IMMEDIATE 'OPTIMIZE IDENTIFIER(:t) WHERE p < :p ZORDER BY (a)' " +
        "USING 1 AS p, 'qt' AS t").collect()
      assert(rowsOfRuns("qt") === Seq(100))
      intercept[AnalysisException](sql(
        "EXECUTE IMMEDIATE 'OPTIMIZE IDENTIFIER(:t) WHERE p = ? ZORDER BY (a)' " +
          "USING 'pt' AS t, 1").collect())
      assert(history(name) === 1)
    }
  }

  test("commands return no rows to the caller of a script, neither Spark's nor ours") {
    scripting {
      withTables { name =>
        for (text <- Seq("SHOW TABLES", s"SHOW LAYOUT HISTORY $name", s"OPTIMIZE $name")) {
          assert(sql(s"BEGIN $text; END").collect().isEmpty, text)
        }
        assert(sql(s"BEGIN OPTIMIZE $name FULL ZORDER BY (a); SELECT 5; END").head() === Row(5))
      }
    }
  }
}
