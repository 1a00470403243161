package io.sparkzorder.formats.iceberg

/** OPTIMIZE of Iceberg tables: rows, files, snapshots and the result row. */
class IcebergOptimizeSuite extends IcebergTestBase {
  private val small = "OPTIONS (targetFileSize = '4k')"

  test("a table is laid out in one commit of Iceberg") {
    withDatabase {
      create("t")
      val before = files("t")
      val row = optimized("t", s"ZORDER BY (a, b) $small")
      val after = files("t")
      assert(metric(row, "numFilesRemoved") === before.size)
      assert(metric(row, "numFilesAdded") === after.size)
      assert(metric(row, "numRows") === 8000)
      assert(metric(row, "shuffleBytes") > 0)
      assert(after.map(_.recordCount).sum === 8000)
      val commit = table("t").currentSnapshot
      assert(commit.operation === "replace")
      assert(commit.summary.get("zorder-columns") === "a, b")
      assert(snapshots("t").size === 2)
      println(row)
    }
  }
}
