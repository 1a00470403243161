// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.nio.file.Files

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.Row

import io.sparkzorder.TestConditions
import io.sparkzorder.commands.OptimizeTestBase

/** What protects a table by its name protects the table by its path, in every statement. */
class PathOfTableSuite extends OptimizeTestBase {

  /** A database of its own, so that the current one does not help. */
  private def withTables(body: => Unit): Unit = {
    sql("CREATE DATABASE elsewhere")
    try body
    finally sql("DROP DATABASE elsewhere CASCADE")
  }

  /** A directory with files of `format`, and a table over it that `clauses` declare. */
  private def withDeclared(clauses: String, format: String = "parquet")(
      body: File => Unit): Unit = withTableDir { dir =>
    withTables {
      shuffled(200, 2).write.format(format).save(dir.getPath)
      sql(s"CREATE TABLE elsewhere.t (id BIGINT, a INT, b INT, s STRING) $clauses LOCATION '$dir'")
      body(dir)
    }
  }

  private def error(statement: String): Option[(String, String)] =
    try {
      sql(statement).collect()
      None
    } catch {
      case e: SparkThrowable =>
        Some(TestConditions.of(e) -> e.asInstanceOf[Throwable].getMessage)
    }

  /** A statement that the table's name refuses is refused by the path as well, for the same reason. */
  private def refusedByBoth(dir: File, words: String, format: String = "parquet")(
      statements: (String => String)*): Unit = {
    val before = snapshot(dir)
    statements.foreach { of =>
      Seq("elsewhere.t", s"$format.`$dir`").foreach { target =>
        val e = error(of(target))
        assert(e.map(_._1) === Some("ZORDER_UNSUPPORTED_TABLE"), of(target))
        assert(e.get._2.contains(words), of(target))
        assert(e.get._2.contains("`elsewhere`.`t`"), of(target))
      }
      assert(snapshot(dir) === before)
    }
  }

  private def copyOf(dir: File): String = new File(dir.getParentFile, "copy").getPath

  private def rewrites(dir: File): Seq[String => String] = Seq(
    t => s"OPTIMIZE TABLE $t ZORDER BY (a, b)",
    t => s"OPTIMIZE TABLE $t",
    t => s"OPTIMIZE TABLE $t ZORDER BY (a) DRY RUN",
    t => s"OPTIMIZE TABLE $t ZORDER BY (a) INTO '${copyOf(dir)}'",
    t => s"UNDO LAYOUT $t",
    t => s"RECOVER LAYOUT $t",
    t => s"VACUUM LAYOUT $t",
    t => s"SHOW LAYOUT HISTORY $t",
    t => s"SHOW WORKLOAD $t")

  private val indexes: Seq[String => String] = Seq(
    t => s"CREATE ZORDER INDEX ON $t",
    t => s"REFRESH ZORDER INDEX ON $t",
    t => s"DROP ZORDER INDEX ON $t")

  for ((clauses, words) <- Seq(
      "USING parquet OPTIONS (datetimeRebaseMode 'LEGACY')" -> "datetimeRebaseMode",
      "USING parquet OPTIONS (int96RebaseMode 'LEGACY')" -> "int96RebaseMode",
      "USING parquet OPTIONS (pathGlobFilter '*0.parquet')" -> "pathGlobFilter",
      "USING parquet CLUSTERED BY (a) INTO 2 BUCKETS" -> "bucketed"))
    test(s"a rewrite by the path of a table: $clauses") {
      withDeclared(clauses)(dir => refusedByBoth(dir, words)(rewrites(dir): _*))
    }

  for ((clauses, words, format) <- Seq(
      ("USING csv", "csv", "parquet"),
      ("USING parquet TBLPROPERTIES ('transactional' 'true')", "transactional", "parquet"),
      (
        "USING parquet TBLPROPERTIES ('parquet.column.index.access' 'true')",
        "by the positions",
        "parquet"),
      ("USING orc OPTIONS ('orc.force.positional.evolution' 'true')", "by the positions", "orc")))
    test(s"every statement by the path of a table: $clauses") {
      withDeclared(clauses, format) { dir =>
        refusedByBoth(dir, words, format)(rewrites(dir) ++ indexes: _*)
      }
    }

  test("other names of the directory: a link, a link above it, its scheme, and dots") {
    withDeclared("USING parquet OPTIONS (datetimeRebaseMode 'LEGACY')") { dir =>
      val beside = dir.getParentFile.toPath
      val link = Files.createSymbolicLink(beside.resolve("link"), dir.toPath)
      val above = Files.createSymbolicLink(beside.resolve("above"), dir.getParentFile.toPath)
      for (path <- Seq(
          s"$link",
          s"$above/table",
          s"file:$dir",
          s"file://$dir",
          s"$dir/",
          s"$dir/../table")) {
        assert(
          error(s"OPTIMIZE '$path' ZORDER BY a").map(_._1) === Some("ZORDER_UNSUPPORTED_TABLE"),
          path)
      }
      // and the other way round
      sql(s"CREATE TABLE elsewhere.linked (id BIGINT, a INT) USING parquet " +
        s"OPTIONS (datetimeRebaseMode 'LEGACY') LOCATION '$link'")
      sql("DROP TABLE elsewhere.t")
      fails("ZORDER_UNSUPPORTED_TABLE", "`elsewhere`.`linked`")(sql(s"OPTIMIZE '$dir' ZORDER BY a"))
    }
  }

  test("any of several tables at the directory protects it, and tables elsewhere do not") {
    withDeclared("USING parquet") { dir =>
      sql(s"CREATE TABLE elsewhere.near (id BIGINT) USING parquet OPTIONS (int96RebaseMode " +
        s"'LEGACY') LOCATION '${dir}2'")
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
      sql(s"CREATE TABLE elsewhere.u (id BIGINT) USING parquet OPTIONS (int96RebaseMode 'LEGACY')" +
        s" LOCATION '$dir'")
      fails("ZORDER_UNSUPPORTED_TABLE", "`elsewhere`.`u`")(sql(s"OPTIMIZE '$dir' ZORDER BY a"))
      sql("DROP TABLE elsewhere.u")
      optimize(s"OPTIMIZE '$dir' FULL ZORDER BY a", dir)(read(dir))
    }
  }

  private def describe(rows: Array[Row]): Seq[Seq[Any]] = rows.map(_.toSeq).toSeq

  test("SHOW LAYOUT by the path counts the files that readers of the table see") {
    withDeclared("USING parquet OPTIONS (pathGlobFilter 'part-00000*')") { dir =>
      val named = sql("SHOW LAYOUT elsewhere.t FOR (a)").collect()
      assert(describe(sql(s"SHOW LAYOUT '$dir' FOR (a)").collect()) === describe(named))
    }
  }

  test("settings, columns and weights of the table are those of its path") {
    withDeclared("USING parquet TBLPROPERTIES ('zorder.columns' 'b, a', " +
      "'zorder.targetFileSize' '3k', 'zorder.retention' '5h')") { dir =>
      val row = optimize(s"OPTIMIZE '$dir'", dir)(read(dir))
      assert(row.getSeq[Row](row.fieldIndex("columns")).map(_.getString(0)) === Seq("b", "a"))
      assert(metric(row, "numFilesAdded") > 1)
      val rest = row.getAs[Row]("metrics").getAs[java.sql.Timestamp]("retainedUntil").getTime -
        System.currentTimeMillis()
      assert(rest > 4 * 3600000L && rest < 5 * 3600000L)
    }
  }

  test("two tables of one directory that want different things") {
    withDeclared("USING parquet TBLPROPERTIES ('zorder.targetFileSize' '3k')") { dir =>
      sql(s"CREATE TABLE elsewhere.u (id BIGINT, a INT) USING parquet LOCATION '$dir' " +
        "TBLPROPERTIES ('zorder.targetFileSize' '4k')")
      fails("ZORDER_INVALID_SETTING", "`elsewhere`.`t`", "`elsewhere`.`u`", "3k", "4k")(
        sql(s"OPTIMIZE '$dir' ZORDER BY a"))
      optimize("OPTIMIZE elsewhere.u ZORDER BY a", dir)(read(dir))
    }
  }
}
