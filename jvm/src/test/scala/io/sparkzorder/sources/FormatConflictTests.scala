// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.spark.sql.types.IntegerType

import io.sparkzorder.table.OrderingColumn

/** What other writers do while OPTIMIZE has written its files; the same for each format. */
trait FormatConflictTests extends TableOfFormat { this: FormatTestBase =>

  /** Another change that does not exclude the commit, if there is one. */
  protected def allowed(): Unit = ()

  /** What is particular to the format after rows were appended meanwhile. */
  protected def checkAppended(): Unit

  test("rows that were appended meanwhile stay") {
    withTables {
      create("t", files = 2, rows = 400)
      interrupted() {
        appended(numbers(400, 500, 1))
        allowed()
      }
      assert(bag(t.select("id", "a", "b", "p", "s")) === bag(numbers(0, 500, 1)))
      assert(commits === 1 && orphans("t").isEmpty)
      checkAppended()
    }
  }

  test("a column that was renamed after it was looked up is a conflict") {
    withTables {
      create("t", files = 1, rows = 10)
      for (parts <- Seq(Seq("gone"), Seq("a", "gone"))) fails("ZORDER_CONFLICT", "gone") {
        opened.snapshot(Seq(OrderingColumn(parts, IntegerType)), None)
      }
    }
  }

  test("of two runs on the same files the first one wins") {
    withTables {
      create("t", files = 2, rows = 1000)
      fails("ZORDER_CONFLICT") {
        interrupted()(sql(s"OPTIMIZE TABLE $named FULL ZORDER BY (b, a)").collect())
      }
      val columns = sql(s"SHOW LAYOUT $named").select("column").collect().map(_.getString(0))
      assert(columns.toSeq === Seq("b", "a"))
      assert(commits === 1 && orphans("t").isEmpty)
      assert(bag(t) === bag(numbers(0, 1000, 1)))
    }
  }

  test("batches that were committed before a conflict stay") {
    withTables {
      create("t", "PARTITIONED BY (p)", files = 1, rows = 1000)
      var n = 0
      fails("ZORDER_CONFLICT", "the statement has committed 2 other batches, which stay") {
        interrupted(Map("batchSize" -> "1k")) {
          n += 1
          if (n == 3) sql(s"DELETE FROM $named WHERE p >= 2 AND id < 10")
        }
      }
      assert(commits === 2)
      assert(bag(t) === bag(numbers(0, 1000, 1).where("NOT (p >= 2 AND id < 10)")))
      assert(orphans("t").isEmpty)
    }
  }
}
