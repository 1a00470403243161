// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{AnalysisException, DataFrame, Row}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.util.StatementText

/** [[ZOrderTable]] sends its statements to the extension and returns their results. */
class ZOrderTableSuite extends OptimizeTestBase {

  private def table(dir: File): ZOrderTable = ZOrderTable.forPath(spark, dir.toString)

  private def bare(name: String): OptimizeBuilder = ZOrderTable.forName(spark, name).optimize()

  test("an OPTIMIZE in the making is its statement; every clause is quoted and in its place") {
    assert(bare("shop.`odd.name`").toString === "OPTIMIZE TABLE `shop`.`odd.name`")
    assert(bare("`a``b`").toString === "OPTIMIZE TABLE `a``b`")
    val all = bare("t").dryRun().option("verify", "full").option("allowTypeChange", true)
      .option("sampleRows", 1000L).option("verify", "footer").into("/it's \\here").full()
      .where("p = 1 OR p = 2").where("q = 3")
    assert(all.toString === "OPTIMIZE TABLE `t` FULL WHERE (p = 1 OR p = 2) AND (q = 3) " +
      "INTO '/it\\'s \\\\here' OPTIONS ('allowTypeChange' 'true', 'sampleRows' '1000', " +
      "'verify' 'footer') DRY RUN")
  }

  test("where backslashes escape nothing, a literal has its text or is refused") {
    def literal(text: String) = StatementText.string(text, verbatim = true)
    withSQLConf(StatementText.VerbatimLiterals -> "true") {
      val texts =
        Seq("", "it's", "C:\\x", "it's C:\\x", "say \"x\"", "it\\'s", "\\\"", "two\\\\")
      assert(sql(texts.map(literal).mkString("SELECT ", ", ", "")).head().toSeq === texts)
      for (text <- Seq("end\\", "'\"", "\\\\'\""))
        intercept[IllegalArgumentException](literal(text))
      withTableDir { dir =>
        write(shuffled(20, 1), dir)
        val target = new File(dir.getParentFile, "it's here")
        table(dir).optimize().into(target.getPath).option("verify", "full").executeZOrderBy("a")
        assert(bag(spark.read.parquet(target.getPath)) === bag(table(dir).toDF))
      }
    }
  }

  test("a comment ends with its predicate; a setting counts once, in any case of letters") {
    val noted = bare("t").where("p = 1 -- one").where("q -- two").dryRun().toString
    assert(noted === "OPTIMIZE TABLE `t` WHERE (p = 1 -- one\n) AND (q -- two\n) DRY RUN")
    intercept[IllegalArgumentException](bare("t").where(" \n"))
    val twice = bare("t").option("verify", "full").option("VERIFY", "footers").toString
    assert(twice === "OPTIMIZE TABLE `t` OPTIONS ('VERIFY' 'footers')")
  }

  test("a builder can be built upon twice") {
    val base = bare("t").where("p = 1")
    assert(base.full().toString !== base.toString)
    assert(base.toString === "OPTIMIZE TABLE `t` WHERE p = 1")
  }

  test("wrong values are refused before anything runs, and name themselves") {
    val t = ZOrderTable.forName(spark, "no_such_table")
    def refused(word: String)(call: => Any): Unit =
      assert(intercept[IllegalArgumentException](call).getMessage.contains(word))
    refused("limit must be at least 1, but is 0")(t.history(0))
    refused("hours must be at least 0, but is -1")(t.vacuum(-1))
    refused("executeZOrderBy needs at least one column")(t.optimize().executeZOrderBy())
    refused("where is empty")(t.publish(" "))
    refused("as an argument or as an option")(
      t.createIndex(Nil, Map("VALUES" -> "a"), Seq("b")))
    refused("directory is empty")(t.optimize().into(""))
    refused("path is empty")(ZOrderTable.forPath(spark, ""))
    refused("a name is empty")(ZOrderTable.forName(spark, ""))
    for (wrong <- Seq("a..b", "a.", "`a", "`a`b")) {
      intercept[AnalysisException](ZOrderTable.forName(spark, wrong))
      intercept[AnalysisException](t.layout(wrong))
    }
  }

  test("OPTIMIZE by path: the rows stay, the metrics are true; history and UNDO") {
    withTableDir { dir =>
      write(shuffled(500, 3), dir)
      val original = dataFiles(dir)
      val rows = bag(table(dir).toDF)
      val result = table(dir).optimize().option("targetFileSize", "4k").executeZOrderBy("a", "b")
      assert(bag(table(dir).toDF) === rows)
      checkMetrics(result.head(), dir, original, dataFiles(dir))
      checkState(dir)
      assert(names(table(dir).layout()) === Seq("a", "b"))
      table(dir).undo()
      assert(dataFiles(dir) === original)
      assert(table(dir).history().count() === 2)
    }
  }

  test(
    "OPTIMIZE by path: dry runs, then all statements on the state of the table",
    Slow) {
    withTableDir { dir =>
      write(shuffled(500, 5), dir)
      val original = dataFiles(dir)
      val rows = bag(table(dir).toDF)

      val planned = table(dir).optimize().dryRun().executeZOrderBy("a", "b").head()
      assert(planned.getAs[Boolean]("dryRun") && dataFiles(dir) === original)

      val result = table(dir).optimize().option("targetFileSize", "4k").executeZOrderBy("a", "b")
      assert(bag(table(dir).toDF) === rows)
      checkMetrics(result.head(), dir, original, dataFiles(dir))
      checkState(dir)

      assert(names(table(dir).detail()) === Seq("a", "b"))
      assert(names(table(dir).layout()) === Seq("a", "b"))
      assert(names(table(dir).layout("b")) === Seq("b"))
      // OPTIMIZE has made an index
      sql(s"DROP ZORDER INDEX ON '$dir'")
      assert(table(dir).createIndex("a").head().getAs[Long]("files") === dataFiles(dir).size)
      assert(intercept[IllegalArgumentException](
        table(dir).sortBy("sideways", Seq("a"))).getMessage.contains("zorder or lexical"))
      sql(s"DROP ZORDER INDEX ON '$dir'")
      val values = table(dir).createIndex(Seq("a"), Map.empty[String, String], Seq("b", "id"))
      assert(values.head().getSeq[Row](7).map(_.getString(0)) === Seq("b", "id"))
      sql(s"DROP ZORDER INDEX ON '$dir'")
      val readsInt96 = table(dir).createIndex(Seq("a"), Map("int96" -> "read"))
      assert(readsInt96.head().getAs[scala.collection.Seq[String]]("columns").contains("a"))
      intercept[AnalysisException](table(dir).createIndex(Nil, Map("int97" -> "read")))
      assert(table(dir).recover().head().getAs[Long]("runsRecovered") === 0)

      val compacted = table(dir).optimize().dryRun().executeCompaction().head()
      assert(compacted.getAs[Seq[Row]]("columns").map(_.getString(0)) === Seq("a", "b"))

      table(dir).undo()
      assert(dataFiles(dir) === original)
      assert(table(dir).history().count() === 2)
      assert(table(dir).history(1).head().getAs[Long]("number") === 2)
    }
  }

  private def names(layout: DataFrame): Seq[String] =
    layout.select("column").collect().map(_.getString(0)).toSeq

  test("VACUUM: dry runs remove nothing, the retention is what is named") {
    withTableDir { dir =>
      write(shuffled(100, 3), dir)
      table(dir).optimize().executeZOrderBy("a")
      def retained: Boolean = dir.list().exists(_.startsWith("_zorder_"))
      assert(table(dir).vacuum().count() === 0)
      assert(table(dir).vacuum(hours = 24, dryRun = true).count() === 0)
      assert(table(dir).vacuum(dryRun = true).count() === 0)
      assert(table(dir).vacuum(0, dryRun = true).count() > 0 && retained)
      assert(table(dir).vacuum(0).count() > 0 && !retained)
    }
  }

  test("INTO leaves the source alone") {
    withTableDir { dir =>
      withTempDir { parent =>
        write(shuffled(100, 3), dir)
        val before = snapshot(dir)
        val copy = new File(parent, "it's elsewhere")
        table(dir).optimize().into(copy.toString).executeZOrderBy("a")
        assert(snapshot(dir) === before)
        assert(bag(table(copy).toDF) === bag(table(dir).toDF))
      }
    }
  }

  test("a session without the extension says what to add; a wrong WHERE is Spark's own error") {
    withTableDir { dir =>
      write(shuffled(10, 1), dir)
      intercept[ParseException](table(dir).optimize().where("p = = 1").executeCompaction())
      val without = SparkLine.session(spark).newSession()
      without.conf.set("spark.zorder.enabled", "false")
      // the session has our functions, so the error must not say that the extension is missing
      intercept[ParseException](ZOrderTable.forPath(without, dir.toString).detail())
      // Spark 4.2 knows functions by three names
      val functions = without.sessionState.functionRegistry
      functions.listFunction().filter(_.funcName == "interleave_bits").foreach(
        functions.dropFunction)
      fails("ZORDER_EXTENSION_MISSING", "SHOW LAYOUT", "spark.sql.extensions") {
        ZOrderTable.forPath(without, dir.toString).detail()
      }
    }
  }

  test("the example of the Scaladoc is the one that runs here") {
    assert(lines("main", "{{{", "}}}") === lines("test", "// begin", "// end"))
    withDatabase("shop") {
      sql("CREATE DATABASE shop")
      sql(
        "CREATE TABLE shop.sales USING parquet PARTITIONED BY (day) AS SELECT id AS customer_id, " +
          "id % 7 AS sold_at, '2026-01-01' AS day FROM range(100)")
      example()
      assert(spark.table("shop.sales").count() === 100)
      val runs = ZOrderTable.forName(spark, "shop.sales").history().select("operation").collect()
      assert(runs.map(_.getString(0)).toSeq === Seq("undo", "optimize"))
    }
  }

  private def example(): Unit = {
    // begin
    val sales = ZOrderTable.forName(spark, "shop.sales")
    sales.optimize().where("day = '2026-01-01'").executeZOrderBy("customer_id", "sold_at")
    sales.layout("customer_id", "sold_at").show()
    sales.history(5).show()
    sales.undo()
    // end
  }

  /** The lines of the Scaladoc, or of this file, between two given lines. */
  private def lines(folder: String, begin: String, end: String): Seq[String] = {
    val name = if (folder == "main") "ZOrderTable" else "ZOrderTableSuite"
    val file = new File(s"jvm/src/$folder/scala/io/sparkzorder/$name.scala")
    val text = new String(Files.readAllBytes(file.toPath), UTF_8).split('\n')
      .map(_.trim.stripPrefix("*").trim).toSeq
    text.dropWhile(_ != begin).drop(1).takeWhile(_ != end)
  }
}
