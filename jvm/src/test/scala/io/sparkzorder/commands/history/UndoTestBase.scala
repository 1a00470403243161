// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File

import org.apache.spark.sql.Row

import io.sparkzorder.commands.FaultyTables

/** What tests of UNDO LAYOUT share: an optimized table, and what must hold after each UNDO. */
abstract class UndoTestBase extends FaultyTables {

  protected type Seen = Map[String, (Long, String)]

  /** A table of two partitions before and after an OPTIMIZE. */
  protected def withOptimized(body: (File, Seen, Seen) => Unit): Unit = withTableDir { dir =>
    write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
    val before = live(dir)
    sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect()
    body(dir, before, live(dir))
  }

  protected def undone(dir: File): Row = {
    val expected = bag(read(dir))
    val row = one(s"UNDO LAYOUT '$dir'")
    assert(bag(read(dir)) === expected)
    checkState(dir)
    row
  }

  protected def refused(dir: File, words: String*): Unit = {
    val before = snapshot(dir)
    fails("ZORDER_UNDO_REFUSED", words: _*)(sql(s"UNDO LAYOUT '$dir'"))
    assert(snapshot(dir).filter(_._2._2 != "directory") ===
      before.filter(_._2._2 != "directory"))
    checkState(dir)
  }
}
