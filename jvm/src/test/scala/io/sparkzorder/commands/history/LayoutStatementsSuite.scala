// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.types.{ArrayType, StructField}

import io.sparkzorder.commands.OptimizeTestBase

/** What the statements on a target have in common: their columns, their targets, their refusals. */
class LayoutStatementsSuite extends OptimizeTestBase {

  private val statements = Seq(
    "RECOVER LAYOUT %s",
    "UNDO LAYOUT %s",
    "VACUUM LAYOUT %s",
    "VACUUM LAYOUT %s RETAIN 24 HOURS DRY RUN",
    "SHOW LAYOUT HISTORY %s")

  test("the columns are as documented") {
    withTableDir { dir =>
      write(shuffled(50, 2), dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a")
      assert(columns(s"RECOVER LAYOUT '$dir'") === Seq(
        "path STRING NOT NULL",
        "runsRecovered BIGINT NOT NULL",
        "filesAdded BIGINT NOT NULL",
        "filesRemoved BIGINT NOT NULL"))
      assert(columns(s"SHOW LAYOUT HISTORY '$dir'") === Seq(
        "number BIGINT NOT NULL",
        "run STRING NOT NULL",
        "time TIMESTAMP NOT NULL",
        "user STRING NOT NULL",
        "operation STRING NOT NULL",
        "columns ARRAY<STRING> NOT NULL",
        "filesRemoved BIGINT NOT NULL",
        "filesAdded BIGINT NOT NULL",
        "bytesRemoved BIGINT NOT NULL",
        "bytesAdded BIGINT NOT NULL",
        "numRows BIGINT NOT NULL",
        "status STRING NOT NULL",
        "undoPossible BOOLEAN NOT NULL",
        "retainedBytes BIGINT NOT NULL",
        "retainedUntil TIMESTAMP"))
      assert(columns(s"VACUUM LAYOUT '$dir' DRY RUN") === Seq(
        "path STRING NOT NULL",
        "kind STRING NOT NULL",
        "files BIGINT NOT NULL",
        "bytes BIGINT NOT NULL",
        "since TIMESTAMP NOT NULL",
        "removed BOOLEAN NOT NULL"))
      assert(columns(s"UNDO LAYOUT '$dir'") === Seq(
        "path STRING NOT NULL",
        "runUndone STRING NOT NULL",
        "filesAdded BIGINT NOT NULL",
        "filesRemoved BIGINT NOT NULL",
        "bytesAdded BIGINT NOT NULL",
        "bytesRemoved BIGINT NOT NULL",
        "numRows BIGINT NOT NULL",
        "retainedUntil TIMESTAMP NOT NULL"))
    }
  }

  private def columns(statement: String): Seq[String] = sql(statement).schema.fields.toSeq.map {
    case StructField(name, t, nullable, _) =>
      assert(!t.isInstanceOf[ArrayType] || !t.asInstanceOf[ArrayType].containsNull)
      s"$name ${t.sql}${if (nullable) "" else " NOT NULL"}"
  }

  test("a name and a quoted path are one table")(checkTargets(dir => Seq("t", s"'$dir'")))

  test("each name, a path in back-quotes and a quoted path are one table", Slow)(
    checkTargets(dir =>
      Seq("t", "default.t", "spark_catalog.default.t", s"parquet.`$dir`", s"'$dir'")))

  private def checkTargets(of: File => Seq[String]): Unit = {
    withTable("t") {
      withTableDir { dir =>
        write(shuffled(50, 2), dir)
        sql(s"CREATE TABLE t USING parquet LOCATION '$dir'")
        val original = dataFiles(dir)
        val targets = of(dir)
        for (target <- targets) {
          sql("OPTIMIZE t FULL ZORDER BY a")
          assert(sql(s"SHOW LAYOUT HISTORY $target").head().getAs[Boolean]("undoPossible"))
          assert(sql(s"RECOVER LAYOUT $target").head().getString(0).endsWith(dir.getPath))
          sql(s"UNDO LAYOUT $target")
          assert(dataFiles(dir) === original)
          assert(sql(s"VACUUM LAYOUT $target RETAIN 24 HOURS").count() === 0)
        }
        assert(sql("SHOW LAYOUT HISTORY t").count() === 2 * targets.size)
      }
    }
  }

  private def refused(condition: String, words: String*)(target: String): Unit =
    statements.foreach(s => fails(condition, words: _*)(sql(s.format(target)).collect()))

  test("targets that are none of ours") {
    refused("TABLE_OR_VIEW_NOT_FOUND")("no_such_table")
    refused("ZORDER_PATH_NOT_A_TABLE", "does not exist")("'/no/such/path'")
    refused("ZORDER_PATH_NOT_A_TABLE", "root")("'/'")
    withTable("csv") {
      withTempView("v") {
        shuffled(5, 1).write.format("csv").saveAsTable("csv")
        refused("ZORDER_UNSUPPORTED_TABLE", "format csv")("csv")
        shuffled(5, 1).createOrReplaceTempView("v")
        statements.foreach(s => intercept[Exception](sql(s.format("v"))))
      }
    }
    withTableDir { dir =>
      write(shuffled(10, 1), dir)
      refused("ZORDER_PATH_NOT_A_TABLE", "it is a file")(s"'$dir/${dataFiles(dir).head.name}'")
      assert(new File(dir, "_delta_log").mkdir())
      refused("ZORDER_UNSUPPORTED_TABLE", "Delta")(s"'$dir'")
    }
  }

  test("file systems on which no file is replaced in place") {
    withTableDir { dir =>
      write(shuffled(10, 1), dir)
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY a").collect()
      withSQLConf("spark.zorder.inPlaceSchemes" -> "hdfs") {
        for (s <- Seq("UNDO", "PUBLISH")) {
          fails("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "'file'")(sql(s"$s LAYOUT '$dir'").collect())
        }
        // nothing is renamed by these
        sql(s"RECOVER LAYOUT '$dir'").collect()
        sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
        assert(sql(s"SHOW LAYOUT HISTORY '$dir'").count() === 1)
      }
    }
  }

  test("the commands show what they are, and nothing runs before they do") {
    val plan = spark.sessionState.sqlParser.parsePlan("VACUUM LAYOUT '/x' RETAIN 3 HOURS DRY RUN")
    val analyzed = spark.sessionState.analyzer.execute(plan)
    assert(analyzed.simpleString(10) === "VacuumLayout parquet.`/x` RETAIN 3 HOURS DRY RUN")
  }
}
