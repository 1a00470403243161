// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs

class FileUnitsSuite extends AnyFunSuite with RandomInputs {

  private def units(rows: Double, maxPageRows: Int, bytesPerRow: Double = 100): FileUnits = {
    val conf = new Configuration(false)
    conf.setInt("parquet.page.row.count.limit", maxPageRows)
    FileUnits.of(rows, bytesPerRow, conf)
  }

  test("a file of about the planned size gets the planned number of equal pages") {
    val planned = units(500000, 20000)
    for (rows <- Seq(400000L, 470001L, 500000L, 512345L, 600000L)) {
      val own = planned.fitted(rows)
      assert(own.pageRows === (rows + 31) / 32)
      assert(own.rowGroupRows === 8 * own.pageRows)
      assert(own.rowGroupBytes === planned.rowGroupBytes)
    }
  }

  test("a much larger or smaller file gets twice or half as many") {
    val planned = units(500000, 20000)
    assert(planned.fitted(700000).pageRows === (700000 + 63) / 64)
    assert(planned.fitted(300000).pageRows === (300000 + 15) / 16)
    assert(planned.fitted(1).pageRows === 1)
  }

  test("a file a little too large for its pages gets one more, small one") {
    val planned = units(8000, 500)
    assert(planned.fitted(8000).pageRows === 500 && planned.fitted(8100).pageRows === 500)
    assert(planned.fitted(9000).pageRows === (9000 + 31) / 32)
  }

  test("a limit of 0 limits nothing, as if it were not set") {
    val conf = new Configuration(false)
    val without = FileUnits.of(500000, 100, conf)
    for (key <- Seq("parquet.page.row.count.limit", "parquet.block.size")) conf.setInt(key, 0)
    assert(FileUnits.of(500000, 100, conf) === without)
    conf.setLong("orc.stripe.size", 0L)
    assert(FileUnits.ofOrc(500000, 100, conf) ===
      FileUnits.ofOrc(500000, 100, new Configuration(false)))
  }

  test("whatever the file: powers of two, and Parquet's own limit") {
    withRandom { random =>
      for (_ <- 0 until 2000) {
        val limit = 1 + random.nextInt(30000)
        val mean = 1 + random.nextInt(3000000)
        val planned = units(mean.toDouble, limit, 1.0 + random.nextInt(2000))
        val rows = 1L + random.nextInt(3000000)
        val own = planned.fitted(rows)
        assert(own.pageRows >= 1 && own.pageRows <= limit)
        val share = (rows + planned.pagesOf(rows) - 1) / planned.pagesOf(rows)
        assert(Integer.bitCount(planned.pagesOf(rows)) === 1)
        assert(own.pageRows === math.min(limit.toLong, share) && share <= 1.1 * limit + 1)
        assert(own.rowGroupRows % share === 0 || own.rowGroupRows >= share, s"$rows rows, $own")
      }
    }
  }
}
