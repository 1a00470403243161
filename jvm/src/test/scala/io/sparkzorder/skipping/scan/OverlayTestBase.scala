// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import scala.collection.mutable

import org.apache.spark.sql.DataFrame

import io.sparkzorder.{FaultyFileSystem, Steps}

/** Queries while OPTIMIZE stands still between any two of its steps. */
abstract class OverlayTestBase extends KilledRuns with Steps {

  /**
   * Runs OPTIMIZE and `look` before its steps from just before the commit to the end.
   *
   * @param every looks at one step of so many
   * @return the number of steps
   */
  def atEachStep(dir: File, more: String = "", every: Int = 1)(look: Int => Unit): Int = {
    val runs = committed(dir)
    var steps = 0
    var looking = false
    val failures = mutable.ArrayBuffer.empty[String]
    FaultyFileSystem.withHook { (operation, path) =>
      val name = path.toString
      val publishing = committed(dir) > runs && operation != "list"
      val committing = operation != "list" && name.contains("_commits")
      if ((publishing || committing) && !looking) {
        looking = true
        steps += 1
        try if (steps % every == 0) look(steps)
        catch { case e: Throwable => failures += s"step $steps, $operation $name: $e" }
        looking = false
      }
    }(sql(statement(dir, more)).collect())
    assert(failures === Nil)
    steps
  }

  /** Asserts the rows of a query and that it left everything in the directory as it was. */
  def check(dir: File, expected: Map[Any, Int], what: String)(rows: => DataFrame): Unit = {
    val tree = snapshot(dir)
    val seen = bag(rows)
    assert(seen == expected, s"$what: ${seen.values.sum} rows, ${expected.values.sum} expected")
    assert(snapshot(dir) === tree, s"$what: a reader wrote")
  }

  protected def parted(rows: Int, files: Int): DataFrame =
    shuffled(rows, files).selectExpr("*", "id % 3 p")

  /** Checks what queries see of a table of the catalog, listed before and after each step. */
  protected def checkCatalogTable(table: String, home: File, filter: String): Unit = {
    def fresh() = {
      sql(s"REFRESH TABLE $table")
      spark.table(table)
    }
    val expected = bag(fresh())
    val stale = spark.table(table)
    val filtered = bag(stale.where(filter))
    val steps = atEachStep(home) { step =>
      check(home, expected, s"stale $table at $step")(unplanned(stale))
      check(home, filtered, s"stale $table, filter, at $step")(stale.where(filter))
      check(home, expected, s"fresh $table at $step")(fresh())
      check(home, filtered, s"fresh $table, filter, at $step")(fresh().where(filter))
    }
    assert(steps > 5)
    check(home, expected, s"stale $table after")(unplanned(stale))
  }

  /** Kills a run at each of its renames; every read is whole before and after what recovers it. */
  protected def checkEveryKill(recovery: File => String): Unit = {
    var k = 0
    var more = true
    while (more) withTableDir { dir =>
      write(parted(120, 1), dir, "p")
      val stale = read(dir)
      val expected = bag(read(dir))
      more = killedAt(k, dir)
      val half = read(dir)
      check(dir, expected, s"fresh, killed at $k")(half)
      check(dir, expected, s"stale, killed at $k")(unplanned(stale))
      sql(recovery(dir)).collect()
      check(dir, expected, s"recovered, killed at $k")(read(dir))
      check(dir, expected, s"listed at the kill, killed at $k")(unplanned(half))
      sql(statement(dir)).collect()
      check(dir, expected, s"listed before, killed at $k")(unplanned(stale))
      check(dir, expected, s"fresh after $k")(read(dir))
      k += 1
    }
    info(s"killed at each of $k renames")
    assert(k > 5)
  }

  /** A data frame on the listing that another one already has, as one that was not planned yet. */
  def unplanned(df: DataFrame): DataFrame = df.select("*")

  def plain(dir: File): String = dir.getAbsolutePath
}
