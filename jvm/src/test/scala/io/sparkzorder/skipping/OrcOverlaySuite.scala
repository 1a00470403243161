package io.sparkzorder.skipping

import java.io.File

import io.sparkzorder.commands.OrcTables

/** What a session with the extension reads from a table of ORC files that is being optimized. */
class OrcOverlaySuite extends OverlayTestBase with OrcTables {
  override protected def format: String = "orc"

  private def parted(rows: Int, files: Int) = shuffled(rows, files).selectExpr("*", "id % 3 p")

  test("a path with partitions: fresh and stale, at each step") {
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

  test("tables of the catalog, with partitions and without: fresh and stale, at each step") {
    withTable("parts", "simple") {
      withTableDir { dir =>
        write(parted(240, 2), dir, "p")
        val flat = new File(dir.getParentFile, "flat")
        write(shuffled(100, 3), flat)
        sql(s"CREATE TABLE parts USING orc LOCATION '$dir'")
        sql("MSCK REPAIR TABLE parts")
        sql(s"CREATE TABLE simple USING orc LOCATION '$flat'")
        for ((table, home) <- Seq("parts" -> dir, "simple" -> flat)) {
          def fresh() = {
            sql(s"REFRESH TABLE $table")
            spark.table(table)
          }
          val expected = bag(fresh())
          val stale = spark.table(table)
          val steps = atEachStep(home) { step =>
            check(home, expected, s"stale $table at $step")(unplanned(stale))
            check(home, expected, s"fresh $table at $step")(fresh())
          }
          assert(steps > 5)
          check(home, expected, s"stale $table after")(unplanned(stale))
        }
      }
    }
  }

  test("killed at any rename: every read is whole, before and after the recovery") {
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
      sql(s"RECOVER LAYOUT orc.`$dir`").collect()
      check(dir, expected, s"recovered, killed at $k")(read(dir))
      check(dir, expected, s"listed at the kill, killed at $k")(unplanned(half))
      sql(statement(dir)).collect()
      check(dir, expected, s"listed before, killed at $k")(unplanned(stale))
      check(dir, expected, s"after $k")(read(dir))
      k += 1
    }
    info(s"killed at each of $k renames")
    assert(k > 5)
  }
}
