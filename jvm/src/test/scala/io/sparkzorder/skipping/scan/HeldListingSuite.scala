// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame

import io.sparkzorder.skipping.SkippingTestBase

/** Queries on one data frame after another: what was found out for its listing holds for it alone. */
class HeldListingSuite extends SkippingTestBase {

  /** Ten files of ten values each. */
  private def withTens(body: (File, DataFrame) => Unit): Unit = withTableDir { dir =>
    spark.range(0, 100, 1, 10).selectExpr("id i").write.parquet(dir.getPath)
    createIndex(dir)
    body(dir, read(dir))
  }

  private def count(df: DataFrame, i: Int): Long = df.where(s"i = $i").count()

  test("every query of a data frame keeps the same files") {
    withTens { (_, df) =>
      for (_ <- 1 to 2; i <- Seq(5, 95)) {
        assert(keptFiles(df.where(s"i = $i")) === 1)
        assert(count(df, i) === 1)
      }
    }
  }

  test("a listing that was made again is looked at anew") {
    withTens { (dir, df) =>
      assert(count(df, 5) === 1)
      assert(count(df, 95) === 1)
      val one = matching(df.where("i = 5")).head
      val other = matching(df.where("i = 95")).head
      overwrite(dir, one, by = other)
      val location = scanOf(df.where("i = 95")).relation.location
      location.refresh()
      assert(count(df, 95) === 2)
      assert(count(df, 5) === 0)
      // a new generation of the index knows the file
      sql(s"REFRESH ZORDER INDEX ON '$dir'").collect()
      assert(keptFiles(df.where("i = 95")) === 2)
      assert(keptFiles(df.where("i = 5")) === 0)
      assert(count(df, 95) === 2)
      // and one that has it no more does not
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      assert(keptFiles(df.where("i = 95")) === 10)
      assert(count(df, 95) === 2)
    }
  }

  test("a listing that was right after one run is not after the next") {
    withTableDir { dir =>
      write(shuffled(800, 6), dir)
      def rows(df: DataFrame) = bag(df.where("a < 500"))
      val expected = rows(read(dir))
      val statement = s"OPTIMIZE '$dir' FULL ZORDER BY (a, b)"
      sql(s"$statement OPTIONS (${sizeFor(dir, 4)})").collect()
      val df = read(dir)
      for (_ <- 1 to 2) assert(rows(df) === expected)
      sql(s"$statement OPTIONS (${sizeFor(dir, 6)})").collect()
      for (_ <- 1 to 2) assert(rows(df) === expected)
      sql(s"UNDO LAYOUT '$dir'").collect()
      for (_ <- 1 to 2) assert(rows(df) === expected)
      val before = count(df.selectExpr("a i"), 1234567)
      sql("SELECT 0L id, 1234567 a, 0L b, 's' s").write.mode("append").parquet(dir.getPath)
      scanOf(df.where("a = 1")).relation.location.refresh()
      assert(count(df.selectExpr("a i"), 1234567) === before + 1)
    }
  }

  test("a table by partitions: each folder by itself, whichever of them are read", Slow) {
    withTableDir { dir =>
      write(shuffled(3000, 6).selectExpr("*", "id % 3 p"), dir, "p")
      def rows(df: DataFrame, p: String) = bag(df.where(s"a < 500 AND $p"))
      val filters = Seq("p = 1", "p > 0", "true", "p = 2", "p < 2", "true")
      val expected = filters.map(rows(read(dir), _))
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 9)})").collect()
      val df = read(dir)
      for (_ <- 1 to 2; (p, e) <- filters.zip(expected)) assert(rows(df, p) === e, p)
      sql(s"OPTIMIZE '$dir' FULL WHERE p = 1 ZORDER BY (b) OPTIONS (${sizeFor(dir, 9)})").collect()
      for (_ <- 1 to 2; (p, e) <- filters.zip(expected)) assert(rows(df, p) === e, p)
    }
  }
}
