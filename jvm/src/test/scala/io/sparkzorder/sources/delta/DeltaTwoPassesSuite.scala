// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import org.scalatest.tags.Slow

import io.sparkzorder.sources.FormatTwoPassesTests

/** Delta tables with a folder above `batchSize`. */
@Slow
class DeltaTwoPassesSuite extends DeltaTestBase with FormatTwoPassesTests {
  // Delta's own runs have no columns
  override protected def removedByCommits: Seq[Long] =
    history("t").filter(c =>
      c.operation == "OPTIMIZE" && c.operationParameters("zOrderBy").contains("a"))
      .map(_.operationMetrics.get("numRemovedBytes").toLong)

  override protected def marking: String =
    "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
  override protected def rewriting: String =
    "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"

  override protected def compact(): Unit = { val _ = sql("OPTIMIZE t").collect() }

  test(
    "columns are mapped to other names, paths have random prefixes, and statistics are missing") {
    withTables {
      withSQLConf("spark.databricks.delta.stats.collect" -> "false") {
        create(
          "t",
          "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.randomizeFilePrefixes' = 'true')",
          files = 8)
      }
      val bytes = files("t").map(_.size).sum
      val options = Map("targetFileSize" -> s"${bytes / 40}", "batchSize" -> s"${bytes / 5}")
      var done = 0
      intercept[IllegalStateException](interrupted(options) {
        done += 1
        if (done == 3) throw new IllegalStateException("stop")
      })
      assert(files("t").flatMap(DeltaLayouts.dealt(_)).map(_.region).distinct.size > 3)
      sql("ALTER TABLE t RENAME COLUMN a TO c")
      val rows = bag(spark.table("t"))
      val list = options.map { case (k, v) => s"$k = '$v'" }.mkString(", ")
      val row = sql(s"OPTIMIZE TABLE t ZORDER BY (c, b) OPTIONS ($list)").head()
      assert(row.getAs[String]("reason").contains("goes on"))
      assert(bag(spark.table("t")) === rows)
      assert(!files("t").exists(DeltaLayouts.dealt(_).exists(_.region > 0)))
      assert(metric(sql(s"OPTIMIZE TABLE t OPTIONS ($list)").head(), "numBatches") === 0)
    }
  }

  test("the number of rows of two passes is counted where Delta does not know it") {
    withTables {
      withSQLConf("spark.databricks.delta.stats.collect" -> "false") {
        create("t", files = 8)
      }
      val bytes = files("t").map(_.size).sum
      val options = s"OPTIONS (targetFileSize = '${bytes / 40}', batchSize = '${bytes / 5}')"
      val row = sql(s"OPTIMIZE TABLE t ZORDER BY (a, b) $options").head()
      assert(metric(row, "numRows") === spark.table("t").count())
    }
  }

  test("VACUUM leaves plans; RESTORE to a state between the passes goes on; a clone begins anew") {
    withTables {
      create("t", files = 8, rows = 8000)
      val bytes = files("t").map(_.size).sum
      val options = s"OPTIONS (targetFileSize = '${bytes / 40}', batchSize = '${bytes / 5}')"
      val rows = bag(spark.table("t"))
      val statement = s"OPTIMIZE TABLE t ZORDER BY (a, b) $options"
      sql(statement).collect()
      val between = history("t").count(_.operation == "OPTIMIZE") / 2
      sql(s"RESTORE TABLE t TO VERSION AS OF $between")
      assert(files("t").exists(DeltaLayouts.dealt(_).isDefined))
      withSQLConf("spark.databricks.delta.retentionDurationCheck.enabled" -> "false") {
        sql("VACUUM t RETAIN 0 HOURS")
      }
      sql("CREATE TABLE copy SHALLOW CLONE t")
      for (name <- Seq("t", "copy")) {
        sql(s"OPTIMIZE TABLE $name ZORDER BY (a, b) $options").collect()
        assert(bag(spark.table(name)) === rows)
        assert(!files(name).exists(DeltaLayouts.dealt(_).exists(_.region > 0)))
      }
    }
  }
}
