// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.{AnalysisException, Row}

/** `IDENTIFIER(expression)` as the target of our statements. */
class IdentifierClauseSuite extends ParserTestBase {

  private def partitionsOf(rows: Array[Row]): Long =
    rows.head.getAs[Row]("metrics").getAs[Long]("partitionsOptimized")

  private def withPartitions(body: => Unit): Unit = withTable("pt") {
    shuffled(300, 1).selectExpr("*", "id % 3 p").write.format("parquet").partitionBy("p")
      .saveAsTable("pt")
    body
  }

  test("every statement takes IDENTIFIER as its target") {
    withPartitions {
      val target = "IDENTIFIER(concat('default', '.', substr('(pt)', 2, 2)))"
      assert(partitionsOf(
        sql(s"OPTIMIZE TABLE $target WHERE p = 1 ZORDER BY (a)").collect()) === 1)
      assert(sql(s"SHOW LAYOUT $target FOR (a)").count() >= 1)
      assert(sql(s"SHOW LAYOUT HISTORY $target").count() === 1)
      sql(s"SHOW WORKLOAD $target").collect()
      sql(s"DROP ZORDER INDEX IF EXISTS ON $target")
      sql(s"CREATE ZORDER INDEX ON $target (a)")
      sql(s"REFRESH ZORDER INDEX ON identifier /* here */ ('pt')")
      sql(s"DROP ZORDER INDEX ON $target")
      sql(s"VACUUM LAYOUT $target DRY RUN").collect()
      sql(s"UNDO LAYOUT $target").collect()
      sql(s"RECOVER LAYOUT $target").collect()
      sql(s"ALTER TABLE $target SORT BY (a)")
      assert(sql("SHOW TBLPROPERTIES pt").collect().exists(_.getString(0).contains("zorder")))
      assert(sql(s"EXPLAIN OPTIMIZE $target ZORDER BY (a)").head().getString(0).contains("pt"))
    }
  }

  test("a new table by IDENTIFIER, with SORT BY") {
    withTable("st") {
      sql("CREATE TABLE IDENTIFIER('s' || 't') (a INT) USING parquet SORT BY ZORDER (a)")
      assert(sql("SHOW TBLPROPERTIES st").collect().exists(_.getString(0).contains("zorder")))
    }
  }

  test("bind parameters, directories, and a table that is named identifier") {
    withPartitions {
      assert(partitionsOf(
        spark.sql(
          "OPTIMIZE IDENTIFIER(:t) WHERE p = :p ZORDER BY (a)",
          Map[String, Any]("t" -> "pt", "p" -> 1)).collect()) === 1)
      assert(partitionsOf(
        spark.sql(
          "OPTIMIZE IDENTIFIER(? || 't') FULL WHERE p = ? ZORDER BY (a)",
          Array[Any]("p", 2))
          .collect()) === 1)
    }
    withTableDir { dir =>
      write(shuffled(300, 1), dir)
      assert(sql(s"OPTIMIZE IDENTIFIER('parquet.`$dir`') ZORDER BY (a)").count() === 1)
    }
    for (name <- Seq("identifier", "identifier.t", "`identifier`")) {
      assert(nameOf(optimize(s"OPTIMIZE $name ZORDER BY (identifier)")) ===
        sparkParser.parseMultipartIdentifier(name))
    }
  }

  test("what is no name") {
    for (no <- Seq("NULL", "'a b c'", "1", "'nowhere'")) {
      intercept[AnalysisException](sql(s"OPTIMIZE IDENTIFIER($no) ZORDER BY (a)").collect())
    }
    for (text <- Seq(
        "OPTIMIZE IDENTIFIER() ZORDER BY (a)",
        "OPTIMIZE IDENTIFIER('a' ZORDER BY (a)",
        "OPTIMIZE IDENTIFIER('a')) ZORDER BY (a)")) {
      intercept[AnalysisException](parse(text))
    }
  }
}
