// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import java.io.File

import org.apache.commons.io.FileUtils

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables

/** Statements on an index while another session drops it. */
class IndexRacesSuite extends FaultyTables {

  private def drop(dir: File): Unit =
    FaultyFileSystem.withoutHook(FileUtils.deleteDirectory(new File(dir, "_zorder/_index")))

  private def opening(end: String)(operation: String, path: org.apache.hadoop.fs.Path): Boolean =
    operation == "open" && path.toString.endsWith(end)

  private def index(dir: File): Boolean =
    under(dir, "_index").exists(_.matches("_\\d+"))

  private def withIndex(body: File => Unit): Unit = withTableDir { dir =>
    write(shuffled(100, 3), dir)
    sql(s"CREATE ZORDER INDEX ON ${faulty(dir)} (a)").collect()
    write(shuffled(100, 1), dir)
    body(dir)
  }

  test("REFRESH of an index that is dropped before it is read makes no index of other columns") {
    withIndex { dir =>
      fails("ZORDER_INDEX_NOT_FOUND")(meanwhile(opening("/_index/_1"))(drop(dir)) {
        sql(s"REFRESH ZORDER INDEX ON ${faulty(dir)}").collect()
      })
      assert(!index(dir))
    }
  }

  test("an index that is dropped when a statement has written it is a conflict") {
    withIndex { dir =>
      fails(
        "ZORDER_CONFLICT",
        "has dropped the index")(meanwhile(opening("/_index/_2"))(drop(dir)) {
        sql(s"REFRESH ZORDER INDEX ON ${faulty(dir)}").collect()
      })
      assert(!index(dir))
      fails(
        "ZORDER_CONFLICT",
        "has dropped the index")(meanwhile(opening("/_index/_1"))(drop(dir)) {
        sql(s"CREATE ZORDER INDEX ON ${faulty(dir)}").collect()
      })
      assert(!index(dir))
    }
  }

  test("a table that is overwritten while an index is made gets no state") {
    withTableDir { dir =>
      write(shuffled(100, 3), dir)
      sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY (a)").collect()
      sql(s"DROP ZORDER INDEX ON ${faulty(dir)}").collect()
      val isWriting = (operation: String, path: org.apache.hadoop.fs.Path) =>
        operation == "create" && path.toString.contains("/_index/_tmp_")
      fails("ZORDER_STATE_LOST")(meanwhile(isWriting) {
        FaultyFileSystem.withoutHook(FileUtils.deleteDirectory(new File(dir, "_zorder")))
        throw new java.io.FileNotFoundException("the directory of the table")
      }(sql(s"CREATE ZORDER INDEX ON ${faulty(dir)}").collect()))
      assert(!new File(dir, "_zorder").exists())
    }
  }
}
