// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.analysis.UnresolvedTable

import io.sparkzorder.commands.history._
import io.sparkzorder.commands.index.{CreateIndex, DropIndex}
import io.sparkzorder.commands.layout.ShowLayout
import io.sparkzorder.table.ParquetFiles

/** The statements whose first clause is a target, other than OPTIMIZE. */
class TargetStatementSuite extends ParserTestBase {

  test("IF EXISTS and IF NOT EXISTS before the words of the index and after them") {
    val target = PathTable("x", ParquetFiles)
    for ((statement, action) <- Seq(
        "CREATE ZORDER INDEX ON" -> CreateIndex(Nil, ifNotExists = false),
        "CREATE IF NOT EXISTS ZORDER INDEX ON" -> CreateIndex(Nil, ifNotExists = true),
        "create zorder index if not exists on" -> CreateIndex(Nil, ifNotExists = true),
        "DROP ZORDER INDEX ON" -> DropIndex(ifExists = false),
        "DROP IF EXISTS ZORDER INDEX ON" -> DropIndex(ifExists = true),
        "drop zorder index /* too */ if exists on" -> DropIndex(ifExists = true))) {
      assert(parse(s"$statement 'x'") === TargetStatement(target, action))
    }
    for (statement <-
        Seq("CREATE IF NOT EXISTS ZORDER INDEX ON", "CREATE ZORDER INDEX IF NOT EXISTS ON")) {
      assert(parse(s"$statement 'x' (a, b.`if`)") ===
        TargetStatement(target, CreateIndex(Seq(Seq("a"), Seq("b", "if")), ifNotExists = true)))
      for (name <- Seq("t", "c.d.t", "`if`.exists", "zorder.index")) {
        parse(s"$statement $name") match {
          case TargetStatement(t: UnresolvedTable, CreateIndex(Nil, true, _), _) =>
            assert(t.multipartIdentifier === sparkParser.parseMultipartIdentifier(name))
          case other => fail(s"$statement $name: $other")
        }
      }
    }
  }

  test("the predicate of PUBLISH LAYOUT is an expression of the plan, so that Spark binds its parameters") {
    parse("PUBLISH LAYOUT 'x' WHERE p = :day") match {
      case s @ TargetStatement(_, PublishLayout(None), Some(where)) =>
        assert(s.expressions === Seq(where))
      case other => fail(other.toString)
    }
  }

  test("a name in double quotes, where the session reads it as an identifier") {
    withSQLConf(
      "spark.sql.ansi.enabled" -> "true",
      "spark.sql.ansi.doubleQuotedIdentifiers" -> "true") {
      for (name <- Seq("t", "a b", "a.b", "/x")) {
        parse(s"""SHOW LAYOUT "$name"""") match {
          case TargetStatement(t: UnresolvedTable, _, _) =>
            assert(t.multipartIdentifier === Seq(name))
          case other => fail(s"$name: $other")
        }
        assert(parse(s"SHOW LAYOUT '$name'") ===
          TargetStatement(PathTable(name, ParquetFiles), ShowLayout(Nil)))
        assert(nameOf(optimize(s"""OPTIMIZE "$name" ZORDER BY (a)""")) === Seq(name))
      }
    }
    assert(parse("SHOW LAYOUT \"t\"") ===
      TargetStatement(PathTable("t", ParquetFiles), ShowLayout(Nil)))
  }

  test("statements on a target: any form of it, keywords as names, comments") {
    val p = new ZOrderParser(sparkParser)
    for ((text, action) <- Seq(
        "RECOVER LAYOUT" -> RecoverLayout(),
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
          case TargetStatement(t: UnresolvedTable, `action`, _) =>
            assert(t.multipartIdentifier === sparkParser.parseMultipartIdentifier(name))
          case other => fail(s"$text $name: $other")
        }
      }
    }
    assert(p.parsePlan("recover layout 'abandon' abandon") === TargetStatement(
      PathTable("abandon", ParquetFiles),
      RecoverLayout(abandon = true)))
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
}
