// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.io.IOException
import java.nio.file.FileAlreadyExistsException

import org.scalatest.tags.Slow

import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.IntegerType

import io.sparkzorder.sources.FormatConflictTests
import io.sparkzorder.table.OrderingColumn

/** What other writers do while OPTIMIZE has written its files and not yet committed them. */
@Slow
class DeltaConflictsSuite extends DeltaTestBase with FormatConflictTests {
  private val vectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
  private val noVectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"

  private def conflicts(name: String)(change: => Unit): Unit = {
    fails("ZORDER_CONFLICT", name)(optimizeWith(name)(change))
    assert(orphans(name).isEmpty)
    assert(files(name).forall(DeltaLayouts.of(_).isEmpty))
  }

  override protected def checkAppended(): Unit = {
    assert(history("t").map(_.operation).take(2) === Seq("OPTIMIZE", "WRITE"))
    // the statement to take the run back tells that it takes back the rows, too
    fails("ZORDER_UNSUPPORTED_TABLE", "TO VERSION AS OF 0", "1 later commit of another writer")(
      sql("UNDO LAYOUT t"))
  }

  for ((kind, clauses) <- Seq("rewritten" -> noVectors, "marked" -> vectors)) {
    test(s"DELETE, UPDATE and MERGE exclude the commit, and no file is left: rows $kind") {
      withTables {
        create("t", clauses, files = 2, rows = 1000)
        conflicts("t")(sql("DELETE FROM t WHERE id % 10 = 3"))
        conflicts("t")(sql("UPDATE t SET a = -1 WHERE id = 5"))
        conflicts("t") {
          sql("""MERGE INTO t USING (SELECT 6L id) s ON t.id = s.id
            WHEN MATCHED THEN UPDATE SET a = -2""")
        }
        assert(spark.table("t").where("a = -1").count() === 1)
        assert(spark.table("t").where("a = -2").count() === 1)
        assert(spark.table("t").count() === 900)
      }
    }
  }

  test("Delta's own OPTIMIZE and ALTER exclude the commit") {
    withTables {
      create("t", files = 2, rows = 1000)
      conflicts("t")(sql("OPTIMIZE t").collect())
      conflicts("t")(sql("ALTER TABLE t ADD COLUMN more INT"))
      assert(bag(spark.table("t").drop("more")) === bag(numbers(0, 1000, 1)))
    }
  }

  test("a commit whose answer is lost has taken place, and its files stay") {
    withTables {
      create("t", files = 2, rows = 1000)
      // the log store repeats the write and finds its own file
      optimizeWith("t") {
        FaultyLogStore.afterNext = Some(p => new FileAlreadyExistsException(p.toString))
      }
      assert(FaultyLogStore.afterNext.isEmpty)
      assert(layouts("t") === 1)
      assert(bag(spark.table("t")) === bag(numbers(0, 1000, 1)))
      intercept[Exception] {
        optimizeWith("t") {
          FaultyLogStore.afterNext = Some(p => new IOException(s"no answer for $p"))
        }
      }
      assert(layouts("t") === 2)
      assert(bag(spark.table("t")) === bag(numbers(0, 1000, 1)))
    }
  }

  test("row tracking that is enabled during a run is a conflict, and rows keep their ids") {
    withTables {
      create("t", "PARTITIONED BY (p)", files = 1, rows = 1000)
      def track() = sql("ALTER TABLE t SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
      def ids = bag(spark.table("t").selectExpr("id", "_metadata.row_id"))
      val format = new DeltaFormat(log("t"), None, "t", isNamed = true)
      val listed = format.snapshot(Seq(OrderingColumn(Seq("a"), IntegerType)), None)
      var known = Map.empty[Any, Int]
      var commits = 0
      fails("ZORDER_CONFLICT", "row tracking") {
        optimizeWith("t", Map("batchSize" -> "1k")) {
          commits += 1
          if (commits == 2) {
            track()
            known = ids
          }
        }
      }
      assert(commits === 2)
      assert(known.size === 1000)
      assert(ids === known)
      assert(orphans("t").isEmpty)
      fails("ZORDER_CONFLICT", "row tracking") {
        listed.rows(SparkLine.session(spark), listed.files)
      }
      optimizeWith("t")(())
      assert(ids === known)
    }
  }
}
