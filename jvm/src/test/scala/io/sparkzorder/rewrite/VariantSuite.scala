// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame

import io.sparkzorder.commands.OptimizeTestBase

/** Columns of the type VARIANT, as each line of Spark writes them: shredded, or in one piece. */
class VariantSuite extends OptimizeTestBase {
  // Spark's reader of shredded values runs generated code alone
  override protected def codegen: Boolean = true

  private val has = !SPARK_VERSION.startsWith("3.")
  private val shreds = has && !SPARK_VERSION.startsWith("4.0")

  private val values = Seq(
    """parse_json(concat('{"k": ', id, ', "s": "', id % 7, '", "n": {"x": [', id, ', 2], "y": null}}'))""",
    """parse_json(concat('{"k": "', id, '", "n": {"x": {"z": 1.5}, "extra": true}}'))""",
    "parse_json('null')",
    "CAST(NULL AS VARIANT)",
    "parse_json(concat('[', id, ', \"a\", {\"b\": [[1], []]}, null]'))",
    "to_variant_object(named_struct('k', id, 'd', DATE '1500-01-01', 't', timestamp_micros(id), " +
      "'c', CAST(id AS DECIMAL(20, 3)), 'b', CAST('x' AS BINARY), 'f', FLOAT(id)))",
    "CAST(id AS VARIANT)",
    "parse_json('{}')")

  private val one = values.zipWithIndex
    .map { case (v, i) => s"WHEN id % ${values.size} = $i THEN $v" }
    .mkString("CASE ", " ", " END")

  /** Each file has its own kinds of values, so that each is shredded in its own way. */
  private def rows(n: Int): DataFrame = spark.range(0, n, 1, 1).selectExpr(
    "id",
    "pmod(hash(id), 100) a",
    "pmod(hash(id, 7), 100) b",
    s"$one v",
    s"IF(id % 5 = 0, NULL, named_struct('v', ${values.head}, 'i', int(id))) s",
    s"IF(id % 6 = 0, NULL, array(${values(1)}, NULL, $one)) l",
    s"IF(id % 9 = 0, map(), map('x', ${values.head}, 'y', NULL)) m")

  private def fill(dir: File): Unit = {
    rows(400).where("id < 200").coalesce(1).write.parquet(dir.getPath)
    rows(400).where("id >= 200 AND id % 8 IN (0, 1, 5)").coalesce(1)
      .write.mode("append").parquet(dir.getPath)
    rows(400).where("id >= 200 AND id % 8 IN (2, 3, 6)").coalesce(1)
      .write.mode("append").parquet(dir.getPath)
    // as Spark 4.0 writes them
    inConf("spark.sql.variant.writeShredding.enabled" -> "false") {
      rows(400).where("id >= 200 AND id % 8 IN (4, 7)").coalesce(1)
        .write.mode("append").parquet(dir.getPath)
    }
  }

  private def isShredded(dir: File): Boolean =
    dataFiles(dir).exists(f =>
      parquetFooter(new File(new File(dir, f.folder), f.name))._1.getFileMetaData.getSchema.toString
        .contains("typed_value"))

  /** The rows are too many to be shown. */
  private def same(a: Seq[Map[Any, Int]], b: Seq[Map[Any, Int]]): Unit = {
    val equal = a.zip(b).map { case (x, y) => x == y }
    assert(equal.forall(identity), s"${equal.size} queries")
  }

  /** What queries see: the values as bytes, as text, their types, and parts of them. */
  private def seen(df: DataFrame): Seq[Map[Any, Int]] = Seq(
    bag(df),
    bag(df.selectExpr("id", "to_json(v)", "schema_of_variant(v)", "is_variant_null(v)")),
    bag(df.selectExpr(
      "id",
      "try_variant_get(v, '$.k', 'bigint')",
      "try_variant_get(v, '$.k', 'string')",
      "try_variant_get(v, '$.n.x[0]', 'int')",
      "variant_get(v, '$.d', 'date')",
      "try_variant_get(s.v, '$.s', 'string')",
      "to_json(l)",
      "to_json(m)")))

  test("in place, with verify=full", Slow) {
    assume(has)
    withTableDir { dir =>
      fill(dir)
      assert(isShredded(dir) === shreds)
      val before = seen(read(dir))
      optimize(
        s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 3)}, 'verify' 'full')",
        dir)(read(dir))
      same(seen(read(dir)), before)
      assert(bag(read(dir).where("s.v IS NULL").select("id")).size === 80)
    }
  }

  test("files of a later INSERT, another order and UNDO", Slow) {
    assume(has)
    withTableDir { dir =>
      fill(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 3)})").collect()
      // files of a later INSERT are shredded again
      rows(450).where("id >= 400").coalesce(1).write.mode("append").parquet(dir.getPath)
      val more = seen(read(dir))
      optimize(s"OPTIMIZE '$dir' FULL ZORDER BY (b, a)", dir)(read(dir))
      same(seen(read(dir)), more)
      sql(s"UNDO LAYOUT '$dir'").collect()
      same(seen(read(dir)), more)
    }
  }

  test("INTO a directory, and a declared order that deals rows to cells", Slow) {
    assume(has)
    withTable("t") {
      withTableDir { dir =>
        fill(dir)
        val before = seen(read(dir))
        val copy = new File(dir.getParentFile, "copy")
        sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$copy'").collect()
        same(seen(read(copy)), before)
        same(seen(read(dir)), before)
        sql("CREATE TABLE t (id LONG, a INT, b INT, v VARIANT, s STRUCT<v: VARIANT, i: INT>, " +
          "l ARRAY<VARIANT>, m MAP<STRING, VARIANT>) USING parquet SORT BY ZORDER (a, b)")
        // Spark's own writer, which may put the same value into other bytes
        def text = seen(sql("SELECT * FROM t")).tail
        sql(s"INSERT INTO t SELECT * FROM parquet.`$dir`")
        same(text, before.tail)
        optimize(s"OPTIMIZE TABLE t OPTIONS (${sizeFor(locationOf("t"), 3)})", locationOf("t"))(
          sql("SELECT * FROM t"))
        sql(s"INSERT INTO t SELECT * FROM parquet.`$dir`")
        same(text, before.tail.map(_.map { case (k, n) => k -> 2 * n }))
        optimize("OPTIMIZE TABLE t FULL", locationOf("t"))(sql("SELECT * FROM t"))
        sql("CREATE ZORDER INDEX IF NOT EXISTS ON t").collect()
        assert(bag(sql("SELECT id FROM t WHERE a = 7")) ===
          bag(sql("SELECT id FROM t WHERE a + 0 = 7")))
      }
    }
  }

  test(
    "some parts of values in filters, where a skipping index knows the parts of shredded values")(
    checkParts(Set(0, 2), Seq("true")))

  test(
    "parts of values in filters, where a skipping index knows the parts of shredded values",
    Slow)(
    checkParts(_ => true, Seq("true", "false")))

  private def checkParts(which: Int => Boolean, pushes: Seq[String]): Unit = {
    assume(has)
    withTableDir { dir =>
      fill(dir)
      def found = Seq(
        "variant_get(s.v, '$.k', 'bigint') = 77",
        "try_variant_get(v, '$.k', 'bigint') > 300",
        "try_variant_get(v, '$.n.extra', 'boolean')",
        "variant_get(v, '$.d', 'date') < DATE '2000-01-01'",
        "try_variant_get(v, '$.gone', 'int') IS NULL",
        "v IS NULL",
        "is_variant_null(v)").zipWithIndex.filter(f => which(f._2)).map(_._1).flatMap(f =>
        pushes.map(pushed =>
          inConf("spark.sql.variant.pushVariantIntoScan" -> pushed)(
            bag(read(dir).where(f).select("id")))))
      val before = found
      assert(before.forall(_.nonEmpty))
      sql(s"CREATE ZORDER INDEX ON '$dir'").collect()
      same(found, before)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 3)})").collect()
      same(found, before)
    }
  }
}
