// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.{AnalysisException, DataFrame, Row}
import org.apache.spark.sql.execution.command.ExplainCommand

import io.sparkzorder.{JobCounter, TestConditions}

/** OPTIMIZE with variables and bind parameters, and EXPLAIN of it, on partitioned directories. */
class OptimizeParametersSuite extends ParserTestBase {

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

  test("a statement whose keyword comes from a variable") {
    withPartitions { path =>
      withSQLConf("my.statement" -> s"OPTIMIZE '$path' WHERE p = 1") {
        assert(partitionsOf(sql("${my.statement} ZORDER BY (a)").collect()) === 2)
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
      intercept[AnalysisException](
        spark.sql(named, Map[String, Any]("p" -> 1)))
      intercept[AnalysisException](sql(named))
      intercept[AnalysisException](sql(positional))
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

  test("parameters in the query of SHOW SKIPPING") {
    // before Spark 4.1, the analyzer binds parameters, and it does not look into this query
    assume(!Seq("3.5", "4.0").exists(SPARK_VERSION.startsWith))
    withTable("pt") {
      sql("CREATE TABLE pt USING parquet AS SELECT id a FROM range(4)")
      def predicate(shown: DataFrame): String = shown.head().getAs[String]("predicate")
      sql("CREATE ZORDER INDEX ON pt").collect()
      val query = "SHOW SKIPPING FOR SELECT * FROM pt WHERE a BETWEEN"
      val expected = predicate(sql(s"$query 2 AND 3"))
      assert(predicate(spark.sql(
        s"$query :x AND :y",
        Map[String, Any]("x" -> 2, "y" -> 3))) === expected)
      assert(predicate(spark.sql(s"$query ? AND ?", Array[Any](2, 3))) === expected)
    }
  }

  test("an error about a parameter or a column has the position in the statement") {
    withTable("pt") {
      sql("CREATE TABLE pt USING parquet PARTITIONED BY (p) AS SELECT id a, id % 2 p FROM range(4)")
      for {
        clause <- Seq("", "OR p = :x ")
        (text, line, position) <- Seq(
          (s"OPTIMIZE pt WHERE nope = 1 ${clause}ZORDER BY a", 1, 18),
          (s"OPTIMIZE pt\nWHERE p = 1\n  AND nope = 1 $clause", 3, 6))
      } {
        val e = intercept[AnalysisException](spark.sql(text, Map[String, Any]("x" -> 1)).collect())
        assert(TestConditions.of(e).startsWith("UNRESOLVED_COLUMN"), text)
        assert((e.line, e.startPosition) === ((Some(line), Some(position))), e.getMessage)
      }
      for (text <- Seq("OPTIMIZE pt WHERE p = :y ZORDER BY (a)", "OPTIMIZE pt\nWHERE\np = :y")) {
        val e = intercept[AnalysisException](spark.sql(text, Map[String, Any]("x" -> 1)))
        assert(TestConditions.of(e) === "UNBOUND_SQL_PARAMETER")
        assert(!e.getMessage.contains("SELECT"), e.getMessage)
      }
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
}
