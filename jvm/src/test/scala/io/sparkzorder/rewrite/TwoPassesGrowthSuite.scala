// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.log.Record

/** A table without partitions grows beyond a batch, with an OPTIMIZE after each append. */
class TwoPassesGrowthSuite extends TwoPassesTestBase {
  private val appends = 16
  private val rowsOfAppend = 600
  private val filesOfAppend = 6

  /** @param parts of the final table that fit into a batch, one of so many */
  private def grow(dir: File, kind: String, parts: Int): Sizes = {
    var sizes = Sizes(0L, 0L)
    var excesses = Seq.empty[Double]
    for (i <- 0 until appends) {
      write(rows(kind, i * rowsOfAppend, rowsOfAppend, filesOfAppend), dir)
      if (i == 0) {
        val bytes = dataFiles(dir).map(_.length).sum
        sizes = Sizes(bytes / filesOfAppend, bytes * appends / parts)
      }
      val expected = bag(read(dir))
      run(dir, sizes)
      assert(bag(read(dir)) === expected)
      excesses :+= excess(dir)
    }
    val all = records(dir).map(_.cost.get.inputBytes)
    val inTwo = records(dir).filter(_.level == Record.Dealt).map(_.plan).distinct.size
    val bytes = dataFiles(dir).map(_.length).sum
    info(
      f"$kind, a batch of 1/$parts: each byte was written ${all.sum.toDouble / bytes}%.2f times, " +
        f"$inTwo merges in two passes, largest shuffle ${all.max.toDouble / sizes.batch}%.2f batches, " +
        f"excess: mean ${excesses.sum / excesses.size}%.2f, largest ${excesses.max}%.2f")
    assert(all.max <= 1.3 * sizes.batch)
    assert(metric(run(dir, sizes), "numBatches") === 0)
    checkClean(dir, bag(read(dir)))
    sizes
  }

  for {
    (kind, most) <- Seq("uniform" -> 2.4, "time" -> 2.0)
    parts <- Seq(1, 4, 8)
  } test(s"$kind appends, a batch of 1/$parts of the table: every shuffle is bounded", Slow) {
    withTableDir { dir =>
      grow(dir, kind, parts)
      assert(excess(dir) <= most, told(dir))
    }
  }

  for ((appends, tags) <- Seq(2 -> Nil, 12 -> Seq(Slow))) test(
    s"a merge that two passes cannot lay out is left: new files are laid out all the same, $appends appends",
    tags: _*) {
    withTableDir { dir =>
      write(rows("uniform", files = 12), dir)
      val sizes = sizesOf(dir)
      // one shuffle, by a larger batch
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) ${sizes.inOne}").collect()
      val small = sizes.target * 2
      for (i <- 0 until appends) {
        write(rows("uniform", rowsOfTable + 250 * i, 250, 1), dir)
        val expected = bag(read(dir))
        withSQLConf("spark.zorder.batchSize" -> small.toString) {
          val row = sql(s"OPTIMIZE '$dir'").head()
          assert(metric(row, "numFilesRemoved") >= 1)
        }
        assert(bag(read(dir)) === expected)
      }
      assert(records(dir).drop(1).forall(_.cost.get.inputBytes <= 1.3 * small), told(dir))
      checkClean(dir, bag(read(dir)))
    }
  }
}
