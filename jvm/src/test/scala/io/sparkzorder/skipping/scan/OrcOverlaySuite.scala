// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.OrcTables

/** What a session with the extension reads from a table of ORC files that is being optimized. */
class OrcOverlaySuite extends OverlayTestBase with OrcTables {
  override protected def format: String = "orc"

  test("a path with partitions: fresh and stale, at each step", Slow) {
    withTableDir { dir =>
      write(parted(240, 2), dir, "p")
      val stale = read(dir)
      val expected = bag(read(dir))
      val filtered = bag(read(dir).where("p = 1 AND a > 300"))
      val steps = atEachStep(dir) { step =>
        check(dir, expected, s"fresh at $step")(read(dir))
        check(dir, expected, s"stale at $step")(unplanned(stale))
        check(dir, filtered, s"fresh filter at $step")(read(dir).where("p = 1 AND a > 300"))
        check(dir, filtered, s"stale filter at $step")(stale.where("p = 1 AND a > 300"))
      }
      assert(steps > 20)
      check(dir, expected, "stale after")(unplanned(stale))
    }
  }

  test("tables of the catalog, with partitions and without: fresh and stale, at each step", Slow) {
    withTable("parts", "simple") {
      withTableDir { dir =>
        write(parted(240, 2), dir, "p")
        val flat = new File(dir.getParentFile, "flat")
        write(shuffled(100, 3), flat)
        sql(s"CREATE TABLE parts USING orc LOCATION '$dir'")
        sql("MSCK REPAIR TABLE parts")
        sql(s"CREATE TABLE simple USING orc LOCATION '$flat'")
        checkCatalogTable("parts", dir, "p = 1 AND a > 300")
        checkCatalogTable("simple", flat, "a > 300")
      }
    }
  }

  test("killed at any rename: every read is whole, before and after RECOVER LAYOUT", Slow) {
    checkEveryKill(dir => s"RECOVER LAYOUT orc.`$dir`")
  }
}
