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

  private def pages(rows: Long, u: FileUnits): Long = (rows + u.pageRows - 1) / u.pageRows

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

  test("whatever the file: powers of two, row groups of whole pages, Parquet's own limit") {
    withRandom { random =>
      for (_ <- 0 until 2000) {
        val limit = 1 + random.nextInt(30000)
        val mean = 1 + random.nextInt(3000000)
        val planned = units(mean.toDouble, limit, 1.0 + random.nextInt(2000))
        val rows = 1L + random.nextInt(3000000)
        val own = planned.fitted(rows)
        assert(own.pageRows >= 1 && own.pageRows <= limit)
        assert(own.rowGroupRows % own.pageRows === 0 || own.rowGroupRows > rows / 2)
        val exact = pages(rows, own)
        val power = Iterator.iterate(1L)(_ * 2).find(_ >= exact).get
        // a page has up to one row more than its share, which may save the last pages
        assert((power - exact) * own.pageRows <= power + own.pageRows, s"$rows rows, $own")
      }
    }
  }
}
