// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.OptimizeTestBase

/** OPTIONS ('weights' ..): the layout, the record of the run, later runs, SHOW LAYOUT. */
class WeightsSuite extends OptimizeTestBase {

  private def files(row: org.apache.spark.sql.Row): Seq[Double] = gains(row).map(_.getDouble(2))
  private def ideals(row: org.apache.spark.sql.Row): Seq[Double] = gains(row).map(_.getDouble(3))

  test("a weighted layout, its ideal, and what later runs do with it", Slow) {
    withTableDir { dir =>
      write(shuffled(20000, 4).selectExpr("id", "hash(id) a", "hash(id, 1) b"), dir)
      val size = sizeFor(dir, 64)
      val first = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('weights' 'a:4', $size)",
        dir)(read(dir))
      assert(files(first)(0) < 6 && files(first)(1) > 12, first)
      assert(ideals(first)(0) < 5 && ideals(first)(1) > 12, first)

      val again = optimize(s"OPTIMIZE '$dir' OPTIONS ($size)", dir)(read(dir))
      assert(metric(again, "numFilesAdded") === 0, again)
      val shown = sql(s"SHOW LAYOUT '$dir'").collect()
      assert(
        shown.map(_.getDouble(4)).toSeq.zip(ideals(first)).forall { case (x, y) =>
          math.abs(x - y) < 0.5
        },
        shown.toSeq)

      // the same weights in other numbers, and with quotes
      val same = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('weights' '`A`: 2, b: 0.5', $size)",
        dir)(read(dir))
      assert(metric(same, "numFilesAdded") === 0, same)
      val even = optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ($size)", dir)(read(dir))
      assert(metric(even, "numFilesAdded") > 0, even)
      assert(even.getAs[String]("reason").contains("other weights"), even)
      assert(math.abs(files(even)(0) - files(even)(1)) < 4, even)
    }
  }

  test("new files: runs of a weighted layout are merged only when they must be", Slow) {
    withTableDir { dir =>
      def some(seed: Int) =
        shuffled(8000, 2).selectExpr("id", s"hash(id, $seed) a", s"hash(id, $seed, 1) b")
      write(some(0), dir)
      val size = sizeFor(dir, 64)
      val weights = s"OPTIONS ('weights' 'a:16', $size)"
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b) $weights", dir)(read(dir))
      some(1).limit(800).write.mode("append").parquet(dir.toString)
      val second = optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b) $weights", dir)(read(dir))
      assert(metric(second, "totalFilesSkipped") > 0, second)
      val third = optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b) $weights", dir)(read(dir))
      assert(metric(third, "numFilesAdded") === 0, third)
    }
  }

  test("wrong weights") {
    withTableDir { dir =>
      write(shuffled(500, 2), dir)
      for ((weights, problem) <- Seq(
          "a" -> "column:weight",
          "a:x" -> "column:weight",
          "a:0" -> "column:weight",
          "a:-1" -> "column:weight",
          "a:NaN" -> "column:weight",
          "a:1e9" -> "column:weight",
          ":1" -> "column:weight",
          "s:1" -> "not one of the ordering columns",
          "a:1,A:2" -> "twice")) {
        fails("ZORDER_INVALID_SETTING", problem)(
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('weights' '$weights')"))
      }
    }
  }

  test("weights of two columns whose names differ by case") {
    withTableDir { dir =>
      withSQLConf("spark.sql.caseSensitive" -> "true") {
        write(shuffled(500, 2).selectExpr("id", "hash(id) a", "hash(id, 1) A"), dir)
        def dry(weights: String) =
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, A) OPTIONS ('weights' '$weights') DRY RUN").head()
        assert(gains(dry("a:4, A:2")).map(_.getString(0)) === Seq("a", "A"))
        fails("ZORDER_INVALID_SETTING", "twice")(dry("a:4, a:2"))
      }
    }
  }
}
