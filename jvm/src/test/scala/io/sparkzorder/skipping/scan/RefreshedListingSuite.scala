// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{ExplainMode, FileSourceScanExec, SQLExecution}

/**
 * INSERT refreshes the listing of a table in place, also that of data frames that were made before. They
 * read the new rows, unless Spark alone would not.
 */
class RefreshedListingSuite extends ScanTestBase {

  test("a data frame of a bucketed table that was explained before an INSERT") {
    withTable("b") {
      sql("CREATE TABLE b (k INT, a INT) USING parquet CLUSTERED BY (k) INTO 2 BUCKETS")
      sql("INSERT INTO b VALUES (1, 1), (2, 2)")
      val df = spark.table("b").where("a = 1")
      df.queryExecution.explainString(ExplainMode.fromString("simple"))
      sql("INSERT INTO b VALUES (3, 1)")
      assert(df.collect().length === 2)
    }
  }

  test("reads before and after an INSERT under one execution id, as in foreachBatch") {
    withTable("t") {
      sql("CREATE TABLE t (a INT) USING parquet")
      sql("INSERT INTO t VALUES (1)")
      val context = spark.sparkContext
      context.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, "4711")
      try {
        val base = spark.table("t")
        // `rdd` begins no execution of its own
        val first = base.where("a = 1")
        assert(first.rdd.count() === 1)
        sql("INSERT INTO t VALUES (1)")
        assert(base.where("a = 1").rdd.count() === 2)
        assert(first.rdd.count() === 1)
      } finally context.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, null)
    }
  }

  test(
    "all scans of one execution read the files of the first one, though the table changes meanwhile") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, b INT) USING parquet")
      sql("INSERT INTO t VALUES (1, 1), (1, 2)")
      val first = spark.table("t").where("a = 1")
      val second = spark.table("t").where("a = 1 AND b > 0")
      val query = first.union(second).queryExecution
      def files(of: DataFrame): Seq[String] =
        of.queryExecution.sparkPlan.collect { case scan: FileSourceScanExec =>
          scan.relation.location.listFiles(Nil, scan.dataFilters)
            .flatMap(_.files.map(_.getPath.getName))
        }.flatten
      val before = SQLExecution.withNewExecutionId(query) {
        val before = files(first)
        // another query of the same session and the same table begins and ends
        assert(spark.table("t").count() === 2)
        sql("INSERT OVERWRITE t VALUES (1, 3)")
        assert(spark.table("t").count() === 1)
        assert(files(second) === before)
        before
      }
      assert(files(second) !== before)
    }
  }

  testParts(
    "a run that is committed between two scans of one execution brings no rows to the second one")(
    checkCommitted(isAppended = true))(checkCommitted(isAppended = false))

  private def checkCommitted(isAppended: Boolean): Unit = {
    withTableDir { dir =>
      sql("SELECT int(id) a, int(id) b FROM range(0, 400, 1, 4)").write.parquet(dir.getPath)
      val base = read(dir)
      val (first, second) = (base.where("a >= 0"), base.where("a >= 0 AND b >= 0"))
      def rows(of: DataFrame): Long = of.queryExecution.sparkPlan.collect {
        case scan: FileSourceScanExec =>
          scan.relation.location.listFiles(Nil, scan.dataFilters)
            .flatMap(_.files.map(_.getPath)).map { file =>
              if (new File(file.toUri).exists()) read(new File(file.toUri)).count() else 100L
            }.sum
      }.sum
      SQLExecution.withNewExecutionId(first.union(second).queryExecution) {
        assert(rows(first) === 400)
        if (isAppended) {
          sql("SELECT int(id + 400) a, int(id) b FROM range(0, 100, 1, 1)").write.mode("append")
            .parquet(dir.getPath)
        }
        sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)")
        assert(rows(second) === 400)
      }
      assert(read(dir).count() === (if (isAppended) 500 else 400))
      // without a run between the scans, the new files are read as ever
      assert(base.where("b >= 0").count() === (if (isAppended) 500 else 400))
    }
  }
}
