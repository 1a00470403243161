// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.io.File

import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.{OptimizeTestBase, TableState}
import io.sparkzorder.rewrite.RewriteRunner
import io.sparkzorder.sources.{BatchPlan, FormatFile, OptimizeClauses}
import io.sparkzorder.table.{ParquetFiles, PathTarget}

/** The count of rows that all tables have between the writing of their new files and the commit. */
class GuardSuite extends OptimizeTestBase {

  /** Runs OPTIMIZE as if one of the new files were not there. */
  private def runWithout(dir: File, columns: Seq[Seq[String]], into: Option[String]) = {
    val user = SparkLine.session(spark)
    val clauses = OptimizeClauses(columns = columns, into = into)
    val table = new TableState(user, PathTarget(dir.getPath, ParquetFiles))
    val run = new RewriteRunner(user, new PlainFormat(table, into), None, clauses) {
      override protected def guard(batch: BatchPlan, written: IndexedSeq[FormatFile]): Unit = {
        super.guard(batch, written)
        super.guard(batch, written.drop(1))
      }
    }
    run.run()
  }

  for (columns <- Seq(Seq(Seq("a"), Seq("b")), Nil); copy <- Seq(false, true)) {
    val how =
      (if (columns.isEmpty) "compacted" else "ordered") + (if (copy) " copy" else " in place")
    test(s"a table with fewer rows is not committed: $how") {
      withTableDir { dir =>
        write(shuffled(300, 3), dir)
        val out = new File(dir.getParentFile, "out")
        val before = userFiles(dir)
        fails("ZORDER_VERIFICATION_FAILED", "0 rows were written for 300") {
          runWithout(dir, columns, if (copy) Some(out.getPath) else None)
        }
        assert(userFiles(dir) === before)
        assert(runDirectories(dir) === Nil)
        checkState(dir)
        assert(!out.exists() || out.list().isEmpty)
      }
    }
  }
}
