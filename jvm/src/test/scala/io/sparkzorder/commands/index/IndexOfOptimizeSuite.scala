// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import java.io.File
import java.nio.file.Files

/** The index that OPTIMIZE leaves behind. */
class IndexOfOptimizeSuite extends IndexTestBase {

  test("default columns: the first 32, and those that order the table") {
    withTableDir { dir =>
      write(spark.range(20).selectExpr((0 until 40).map(i => s"id + $i c$i"): _*), dir)
      one(s"CREATE ZORDER INDEX ON '$dir'")
      assert(names(dir) === (0 until 32).map(i => s"c$i"))
      sql(s"OPTIMIZE '$dir' ZORDER BY (c36, c1)").collect()
      assert(names(dir).toSet === ((0 until 32) :+ 36).map(i => s"c$i").toSet)
      val refreshed = one(s"REFRESH ZORDER INDEX ON '$dir'")
      assert(refreshed.getLong(5) === 0L && names(dir).contains("c36"))
    }
  }

  test("OPTIMIZE leaves an index of what it has written, and takes out what it replaced") {
    withTableDir { dir =>
      write(shuffled(600, 3).selectExpr("*", "id % 2 p"), dir, "p")
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 8)})").collect()
      assert(entries(dir) === listed(dir))
      one(s"REFRESH ZORDER INDEX ON '$dir'")
      // one partition anew: the entries of the other one stay
      sql(s"OPTIMIZE '$dir' WHERE p = 1 ZORDER BY (b)").collect()
      assert(entries(dir) === listed(dir))
      checkState(dir)
    }
  }

  test("OPTIMIZE keeps the columns that the user named") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      one(s"CREATE ZORDER INDEX ON '$dir' (id)")
      sql(s"OPTIMIZE '$dir' ZORDER BY (a)").collect()
      assert(names(dir).toSet === Set("id", "a"))
    }
  }

  test("an index that cannot be written costs OPTIMIZE nothing") {
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a)").collect()
      storeOf(dir).drop()
      Files.write(new File(dir, "_zorder/_index").toPath, "in the way".getBytes)
      optimize(s"OPTIMIZE '$dir' FULL ZORDER BY (b)", dir)(read(dir))
    }
  }
}
