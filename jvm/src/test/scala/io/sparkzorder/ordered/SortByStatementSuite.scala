// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.{AnalysisException, Row}
import org.apache.spark.sql.catalyst.parser.ParseException

import io.sparkzorder.commands.OrderingColumns
import io.sparkzorder.errors.ZOrderException

/** CREATE TABLE ... SORT BY and ALTER TABLE ... SORT BY: what they declare and what they refuse. */
class SortByStatementSuite extends DeclaredTables {

  private def declared(table: String): Map[String, String] =
    metadata(table).properties.filter { case (k, _) => DeclaredOrder.propertyKeys.contains(k) }

  // Spark's analyzer wraps the error of a check in one of its own, with the same condition
  private def refused(condition: String)(statement: String): String =
    fails(condition)(sql(statement)).getMessage

  private val zorderOfAB = Map(
    "zorder.columns" -> "a, b",
    "zorder.order" -> "zorder",
    "sort.columns" -> "a,b",
    "sort.order" -> "ZORDER")
  private val lexicalOfAB =
    zorderOfAB + ("zorder.order" -> "lexical") + ("sort.order" -> "LEXICAL")

  test("CREATE TABLE takes the clause at any place before the query") {
    for (statement <- Seq(
        "CREATE TABLE t (a INT, b INT) USING parquet SORT BY ZORDER (a, b)",
        "create table t (a INT, b INT) sort by zorder(a,b) using parquet",
        "CREATE TABLE t (a INT, b INT) USING orc SORT /* here */ BY\n ZORDER (`a`, b) COMMENT 'SORT BY (c)'",
        "CREATE TABLE t USING parquet SORT BY ZORDER (a, b) AS SELECT 1 AS a, 2 AS b",
        "CREATE TABLE t USING parquet SORT BY ZORDER (a, b) SELECT 1 AS a, 2 AS b",
        "CREATE TABLE t SORT BY ZORDER (a, b) USING parquet AS " +
          "WITH x AS (SELECT 1 AS a, 2 AS b) SELECT * FROM x SORT BY zorder(a, b)",
        "CREATE TABLE t (a INT, b INT, p INT) USING parquet SORT BY ZORDER (a, b) " +
          "PARTITIONED BY (p) TBLPROPERTIES ('x' = '(')",
        "CREATE TABLE t (a INT, b INT) USING parquet SORT BY ZORDER (a, b); ")) {
      withTable("t") {
        sql(statement)
        assert(declared("t") === zorderOfAB, statement)
      }
    }
  }

  test("without a word the order is lexical, as in Impala; one column is LEXICAL for Impala") {
    withTable("t", "u", "w") {
      sql("CREATE TABLE t (a INT, b INT) USING parquet SORT BY (a, b)")
      assert(declared("t") === lexicalOfAB)
      sql("CREATE TABLE u (a INT, b INT) USING parquet SORT BY LEXICAL (a, b)")
      assert(declared("u") === lexicalOfAB)
      sql("CREATE TABLE w (a INT, `b,c` INT, n STRUCT<x: INT>) USING parquet SORT BY ZORDER (a)")
      assert(declared("w") === Map(
        "zorder.columns" -> "a",
        "zorder.order" -> "zorder",
        "sort.columns" -> "a",
        "sort.order" -> "LEXICAL"))
      // a name with a comma, or a field, is nothing that Impala could read
      sql("ALTER TABLE w SORT BY ZORDER (`b,c`, n.x)")
      assert(declared("w") === Map("zorder.columns" -> "`b,c`, n.x", "zorder.order" -> "zorder"))
    }
  }

  test("ALTER TABLE declares anew and takes back") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT) USING parquet SORT BY LEXICAL (b)")
      assert(sql("ALTER TABLE t SORT BY ZORDER (a, b)").collect() === Array.empty)
      assert(declared("t") === zorderOfAB)
      sql("alter table default.t sort by (a, b);")
      assert(declared("t") === lexicalOfAB)
      sql("ALTER TABLE t SORT BY ()")
      assert(declared("t") === Map.empty)
      sql("ALTER TABLE t SORT BY ()")
      assert(declared("t") === Map.empty)
    }
  }

  test("ALTER TABLE takes back what saveAsTable has kept of the writer's options") {
    withTable("t") {
      rows.write.option("zorder.columns", "a").option("compression", "zstd").saveAsTable("t")
      assert(DeclaredOrder.of(metadata("t")).isDefined)
      sql("ALTER TABLE t SORT BY ()")
      assert(DeclaredOrder.of(metadata("t")) === None)
      assert(metadata("t").storage.properties.get("compression") === Some("zstd"))
      assert(spark.table("t").count() === 500)
      // the session had the table in memory
      rows.createOrReplaceTempView("src")
      val plan = sql("EXPLAIN EXTENDED INSERT INTO t SELECT * FROM src").head().getString(0)
      assert(!plan.contains("- Sort ["), plan)
    }
  }

  test("SHOW CREATE TABLE, DESCRIBE EXTENDED and SHOW LAYOUT tell the declared order") {
    withTable("t", "u") {
      sql("CREATE TABLE t (a INT, b INT, c INT) USING parquet SORT BY ZORDER (a, b)")
      val create = sql("SHOW CREATE TABLE t").head().getString(0)
      assert(create.contains("'zorder.columns' = 'a, b'"))
      assert(create.contains("'zorder.order' = 'zorder'"))
      // the text makes a table of the same order
      sql(create.replace("default.t ", "default.u "))
      assert(declared("u") === zorderOfAB)
      val described = sql("DESCRIBE EXTENDED t").collect().map(_.toString).mkString
      assert(described.contains("zorder.columns=a, b"))
      sql("INSERT INTO t VALUES (1, 2, 3)")
      assert(sql("SHOW LAYOUT t").collect().map(_.getAs[String]("column")) === Array("a", "b"))
    }
  }

  test("CREATE TABLE LIKE takes a declaration of its own") {
    withView("v")(withTable("t", "u", "w") {
      sql("CREATE TABLE t (a INT, b INT) USING parquet SORT BY LEXICAL (b)")
      sql("CREATE TABLE u LIKE t SORT BY ZORDER (a, b)")
      assert(declared("u") === zorderOfAB)
      sql("CREATE TEMPORARY VIEW v AS SELECT 1 AS a")
      sql("CREATE TABLE w LIKE v SORT BY (a)")
      assert(declared("w")("zorder.columns") === "a")
    })
    withTable("t", "p") {
      sql("CREATE TABLE t (a INT, b INT) USING csv")
      refused("ZORDER_SORT_BY_UNSUPPORTED")("CREATE TABLE n LIKE t SORT BY (a)")
      sql("CREATE TABLE p LIKE t USING orc SORT BY (a)")
      refused("ZORDER_COLUMN_NOT_FOUND")("CREATE TABLE n LIKE p SORT BY (nope)")
      refused("ZORDER_SORT_BY_UNSUPPORTED")("CREATE TABLE n LIKE p USING csv SORT BY (a)")
      assert(intercept[AnalysisException](sql("CREATE TABLE n LIKE nope SORT BY (a)")).getMessage
        .contains("nope"))
    }
  }

  test("EXPLAIN of a CREATE TABLE with the clause") {
    withTable("t") {
      val plan = sql("EXPLAIN CREATE TABLE t USING parquet SORT BY (a) AS SELECT 1 AS a").head()
      assert(plan.getString(0).contains("sort: the order is LEXICAL (a)"), plan)
      assert(!spark.catalog.tableExists("t"))
    }
  }

  test("columns that cannot be in a declared order") {
    withTable("t") {
      val create = "CREATE TABLE t (a INT, m MAP<INT, INT>, n STRUCT<x: INT>, p INT) USING parquet"
      val by = "PARTITIONED BY (p)"
      assert(
        refused("ZORDER_COLUMN_IS_PARTITION_COLUMN")(s"$create SORT BY (a, p) $by").contains("p"))
      refused("ZORDER_COLUMN_DUPLICATED")(s"$create SORT BY (a, A)")
      refused("ZORDER_COLUMN_NOT_ORDERABLE")(s"$create SORT BY (m)")
      refused("ZORDER_COLUMN_NOT_ORDERABLE")(s"$create SORT BY (n)")
      refused("ZORDER_COLUMN_NOT_FOUND")(s"$create SORT BY (nope)")
      refused("ZORDER_COLUMN_NOT_FOUND")(
        "CREATE TABLE t USING parquet SORT BY (nope) AS SELECT 1 AS a")
      refused("ZORDER_COLUMN_NOT_FOUND")(s"$create TBLPROPERTIES ('zorder.columns' = 'nope')")
      assert(!spark.catalog.tableExists("t"))
      sql(s"$create SORT BY (a, n.x) $by")
      refused("ZORDER_COLUMN_IS_PARTITION_COLUMN")("ALTER TABLE t SORT BY (p)")
      refused("ZORDER_COLUMN_DUPLICATED")("ALTER TABLE t SORT BY (a, a)")
      refused("ZORDER_COLUMN_NOT_ORDERABLE")("ALTER TABLE t SORT BY (m)")
      refused("ZORDER_COLUMN_NOT_FOUND")("ALTER TABLE t SORT BY (nope)")
    }
  }

  test("tables that cannot have a declared order") {
    withTable("t") {
      refused("ZORDER_SORT_BY_UNSUPPORTED")("CREATE TABLE t (a INT) USING csv SORT BY (a)")
      refused("ZORDER_SORT_BY_UNSUPPORTED")("CREATE TABLE t (a INT) USING csv SORT BY ZORDER AUTO")
      sql("CREATE TABLE t (a INT) USING json")
      refused("ZORDER_SORT_BY_UNSUPPORTED")("ALTER TABLE t SORT BY (a)")
    }
    withTempDir { dir =>
      refused("ZORDER_SORT_BY_UNSUPPORTED")(s"ALTER TABLE parquet.`$dir` SORT BY (a)")
    }
    withView("v") {
      sql("CREATE VIEW v AS SELECT 1 AS a")
      assert(intercept[AnalysisException](sql("ALTER TABLE v SORT BY (a)")) != null)
    }
    assert(intercept[ZOrderException](
      io.sparkzorder.commands.SortByCheck.refuseFormat("t", "delta")).getMessage
      .contains("CLUSTER BY"))
    assert(intercept[ZOrderException](
      io.sparkzorder.commands.SortByCheck.refuseFormat("t", "iceberg")).getMessage
      .contains("WRITE ORDERED BY"))
  }

  test("syntax errors point to their place") {
    def error(statement: String) = intercept[ParseException](sql(statement))
    assert(error("CREATE TABLE t (a INT) SORT BY a").getMessage.contains("SORT BY a"))
    assert(error(
      "CREATE TABLE t (a INT) SORT BY (a) SORT BY (a)").getMessage.contains("duplicate clause"))
    val e = error("CREATE TABLE t (a INT) SORT BY (a) USING parquet NONSENSE")
    assert(e.getMessage.contains("NONSENSE") && e.getMessage.contains("SORT BY (a)"))
    assert(error("ALTER TABLE t SORT BY").getMessage.contains("SORT BY"))
    error("CREATE VIEW t SORT BY (a) AS SELECT 1 AS a")
    error("CREATE TABLE t (a INT) USING parquet SORT BY ZORDER (a")
  }

  test("bound parameters and the query's own SORT BY") {
    withTable("t") {
      spark.sql(
        "CREATE TABLE t USING parquet SORT BY ZORDER (a, b) AS SELECT :x AS a, 2 AS b SORT BY (a)",
        Map("x" -> 1)).collect()
      assert(declared("t") === zorderOfAB)
      assert(sql("SELECT * FROM t").head().getInt(0) === 1)
    }
    withTable("t") {
      sql("CREATE TABLE t USING parquet AS SELECT 1 AS a, 2 AS b SORT BY (a)")
      assert(declared("t") === Map.empty)
    }
  }

  test("names that are reserved words keep their order, in sessions that reserve them") {
    withTable("t")(withSQLConf(
      "spark.sql.ansi.enabled" -> "true",
      "spark.sql.ansi.enforceReservedKeywords" -> "true") {
      sql("CREATE TABLE t (`user` INT, `order` INT) USING parquet SORT BY ZORDER (`user`, `order`)")
      sql("INSERT INTO t SELECT id % 7, id % 5 FROM range(200)")
      sql("CREATE ZORDER INDEX ON t").collect()
      val row = sql("OPTIMIZE TABLE t OPTIONS ('targetFileSize' '1k')").head()
      assert(row.getAs[Seq[Row]]("columns").map(_.getString(0)) === Seq("user", "order"))
      assert(sql("SHOW LAYOUT t").collect().map(_.getAs[String]("column")).toSet ===
        Set("user", "order"))
      val shown = sql("SHOW SKIPPING FOR SELECT * FROM t WHERE `user` = 3").head()
      assert(shown.getAs[Long]("filesKept") < shown.getAs[Long]("files"))
    })
  }

  test("SORT BY () removes our declaration also where CLUSTER BY was") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT) USING parquet " +
        "TBLPROPERTIES ('clusteringColumns' = '[]')")
      sql("ALTER TABLE t SORT BY ZORDER (a, b)")
      sql("ALTER TABLE t SORT BY ()")
      sql("ALTER TABLE t SORT BY ()")
      assert(declared("t") === Map.empty)
      sql("ALTER TABLE t SET TBLPROPERTIES ('clusteringColumns' = '[[\"a\"]]')")
      refused("ZORDER_SORT_BY_UNSUPPORTED")("ALTER TABLE t SORT BY ()")
    }
  }

  test("names without quotes are read as Delta's history has them") {
    assert(OrderingColumns.parsed(Seq("my-col", "user", "n.`a.b`")) ===
      Seq(Seq("my-col"), Seq("user"), Seq("n", "a.b")))
  }

  test("AUTO takes the place of CLUSTER BY: writes have no order") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT) USING parquet " +
        "TBLPROPERTIES ('clusteringColumns' = '[[\"a\"],[\"b\"]]')")
      assert(DeclaredOrder.of(metadata("t")).isDefined)
      sql("ALTER TABLE t SORT BY ZORDER AUTO")
      assert(DeclaredOrder.of(metadata("t")) === None)
      val plan = sql("EXPLAIN EXTENDED INSERT INTO t VALUES (1, 2), (2, 1)").head().getString(0)
      assert(!plan.contains("- Sort ["), plan)
    }
  }

  test("an order comes from the properties of a table or from its options, not from both") {
    withTable("t") {
      rows.write.option("zorder.columns", "a, b").option("zorder.order", "lexical")
        .saveAsTable("t")
      assert(DeclaredOrder.of(metadata("t")).map(_.clause) === Some("LEXICAL (a, b)"))
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'v, b')")
      assert(DeclaredOrder.of(metadata("t")).map(_.clause) === Some("ZORDER (v, b)"))
      val plan = sql("EXPLAIN EXTENDED INSERT INTO t SELECT * FROM t").head().getString(0)
      assert(plan.contains("zorder_by_value"), plan)
      sql("ALTER TABLE t UNSET TBLPROPERTIES ('zorder.columns')")
      // as Impala declares it
      sql("ALTER TABLE t SET TBLPROPERTIES ('sort.columns' = 'v,a', 'sort.order' = 'ZORDER')")
      assert(DeclaredOrder.of(metadata("t")).map(_.clause) === Some("ZORDER (v, a)"))
    }
  }

  test("properties of Impala and of Spark's CLUSTER BY are read") {
    def of(properties: (String, String)*) = DeclaredOrder.of(properties.toMap)
    assert(of("sort.columns" -> "a,b", "sort.order" -> "ZORDER") ===
      Some(DeclaredOrder(Seq(Seq("a"), Seq("b")), lexical = false)))
    assert(of("sort.columns" -> "a,b") ===
      Some(DeclaredOrder(Seq(Seq("a"), Seq("b")), lexical = true)))
    assert(of("clusteringColumns" -> """[["a"],["n","x"]]""") ===
      Some(DeclaredOrder(Seq(Seq("a"), Seq("n", "x")), lexical = false)))
    assert(of("sort.columns" -> "c", "zorder.columns" -> "a, `b.c`.d") ===
      Some(DeclaredOrder(Seq(Seq("a"), Seq("b.c", "d")), lexical = false)))
    assert(of("sort.columns" -> "") === None)
    assert(of() === None)
    assert(intercept[ZOrderException](of("clusteringColumns" -> "[")).getMessage.nonEmpty)
  }
}
