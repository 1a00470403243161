// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.commands.OptimizeTestBase

/** The ordering columns of OPTIMIZE: which ones are found, by which names, and which are refused. */
class OptimizeColumnsSuite extends OptimizeTestBase {

  override protected def codegen: Boolean = true

  test("without ZORDER BY: the table's layout before the property zorder.columns") {
    withTable("t") {
      shuffled(500, 3).write.format("parquet").saveAsTable("t")
      val dir = locationOf("t")
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'a , `b`')")
      def columns(statement: String) = gains(optimize(statement, dir)(spark.table("t")))
        .map(_.getString(0))
      assert(columns("OPTIMIZE t") === Seq("a", "b"))
      assert(columns("OPTIMIZE t ZORDER BY (s)") === Seq("s"))
      assert(columns("OPTIMIZE t") === Seq("s"))
      withTable("u") {
        shuffled(500, 3).write.format("parquet").saveAsTable("u")
        sql("ALTER TABLE u SET TBLPROPERTIES ('zorder.columns' = 'a, nope')")
        fails("ZORDER_COLUMN_NOT_FOUND", "`nope`")(sql("OPTIMIZE u"))
      }
    }
  }

  test("nested fields and odd names") {
    withTableDir { dir =>
      val odd = Seq(
        "with.dot",
        "with-dash",
        "with space",
        "select",
        "größe",
        "日本",
        "back`tick",
        "`",
        "1st",
        "x,y;{}()\t=",
        "🎈",
        "'q'",
        "\"dq\"",
        "%s",
        "$x",
        "id.a",
        "id.a.b")
      val df = shuffled(200, 2).selectExpr(
        Seq("id", "named_struct('b', a, 'C', named_struct('d.e', b)) st") ++
          odd.zipWithIndex.map { case (n, i) =>
            s"pmod(hash(id, $i), 100) `${n.replace("`", "``")}`"
          }: _*)
      write(df, dir)
      val row = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (st.b, ST.c.`d.e`) OPTIONS (${sizeFor(dir, 4)})",
        dir)(read(dir))
      assert(gains(row).map(_.getString(0)) === Seq("st.b", "st.C.`d.e`"))
      val names = odd.map(n => s"`${n.replace("`", "``")}`")
      val all = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (${names.mkString(", ")})",
        dir)(read(dir))
      assert(gains(all).size === odd.size)
      // the columns of the layout are found again
      val again = sql(s"OPTIMIZE '$dir'").head()
      assert(gains(again).map(_.getString(0)) === gains(all).map(_.getString(0)))
      fails("ZORDER_COLUMN_NOT_FOUND", "st.nope")(sql(s"OPTIMIZE '$dir' ZORDER BY st.nope"))
      fails("ZORDER_COLUMN_NOT_FOUND", "id.x")(sql(s"OPTIMIZE '$dir' ZORDER BY id.x"))
      fails("ZORDER_COLUMN_NOT_ORDERABLE", "`st`", "STRUCT", "one of its fields")(
        sql(s"OPTIMIZE '$dir' ZORDER BY st"))
      fails("ZORDER_COLUMN_DUPLICATED", "st.b")(sql(s"OPTIMIZE '$dir' ZORDER BY st.b, ST.B"))
    }
  }

  test("both case sensitivities") {
    withTableDir { dir =>
      withSQLConf(SQLConf.CASE_SENSITIVE.key -> "true") {
        write(shuffled(400, 2).selectExpr("id", "a", "b A"), dir)
        val row = optimize(s"OPTIMIZE '$dir' ZORDER BY (A, a)", dir)(read(dir))
        assert(gains(row).map(_.getString(0)) === Seq("A", "a"))
        fails("ZORDER_COLUMN_NOT_FOUND", "`ID`")(sql(s"OPTIMIZE '$dir' ZORDER BY ID"))
      }
      fails("ZORDER_INCOMPATIBLE_SCHEMAS", "caseSensitive")(sql(s"OPTIMIZE '$dir' ZORDER BY a"))
    }
    withTableDir { dir =>
      write(shuffled(400, 2), dir)
      val row = optimize(s"OPTIMIZE '$dir' ZORDER BY (ID, A)", dir)(read(dir))
      assert(gains(row).map(_.getString(0)) === Seq("id", "a"))
      fails("ZORDER_COLUMN_DUPLICATED", "`a`")(sql(s"OPTIMIZE '$dir' ZORDER BY (a, A)"))
    }
  }

  test("columns that are refused") {
    withTableDir { dir =>
      write(
        shuffled(100, 1).selectExpr(
          "*",
          "array(a) arr",
          "map(a, b) m",
          "named_struct('l', array(a)) st",
          "id % 2 p"),
        dir,
        "p")
      val before = snapshot(dir)
      fails("ZORDER_COLUMN_NOT_FOUND", "`nope`", "`arr`")(sql(s"OPTIMIZE '$dir' ZORDER BY nope"))
      fails("ZORDER_COLUMN_IS_PARTITION_COLUMN", "`P`")(sql(s"OPTIMIZE '$dir' ZORDER BY (a, P)"))
      fails("ZORDER_COLUMN_NOT_ORDERABLE", "ARRAY<INT>")(sql(s"OPTIMIZE '$dir' ZORDER BY arr"))
      fails("ZORDER_COLUMN_NOT_ORDERABLE", "st.l", "ARRAY")(sql(s"OPTIMIZE '$dir' ZORDER BY st.l"))
      fails("ZORDER_COLUMN_NOT_ORDERABLE", "MAP<")(sql(s"OPTIMIZE '$dir' ZORDER BY m"))
      fails("ZORDER_TOO_MANY_COLUMNS", "64", "63", dir.getPath)(
        sql(s"OPTIMIZE '$dir' ZORDER BY ${(1 to 64).map("c" + _).mkString(", ")}"))
      assert(snapshot(dir) === before)
    }
  }
}
