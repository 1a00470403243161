// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.OptimizeTestBase

/** The size of files belongs to the layout, as its columns do: runs that name no size keep it. */
class SizeInForceSuite extends OptimizeTestBase {

  private def withLayout(order: String)(body: (File, String) => Unit): Unit = withTableDir { dir =>
    write(shuffled(4000, 4), dir)
    val size = sizeFor(dir, 8)
    optimize(s"OPTIMIZE '$dir' $order OPTIONS ($size)", dir)(read(dir))
    body(dir, size)
  }

  private def added(statement: String, dir: File): Long =
    metric(optimize(statement, dir)(read(dir)), "numFilesAdded")

  test("a plain run and one by the same columns rewrite nothing, FULL keeps the size") {
    withLayout("ZORDER BY (a, b)") { (dir, size) =>
      val files = dataFiles(dir).size
      assert(files > 4)
      assert(added(s"OPTIMIZE '$dir'", dir) === 0)
      assert(added(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir) === 0)
      assert(math.abs(added(s"OPTIMIZE '$dir' FULL", dir) - files) <= 2)
    }
  }

  test("the size of a copy and of new files, until somebody names another", Slow) {
    withLayout("ZORDER BY (a, b)") { (dir, size) =>
      val files = dataFiles(dir).size
      assert(math.abs(added(s"OPTIMIZE '$dir' FULL", dir) - files) <= 2)
      assert(added(s"OPTIMIZE '$dir'", dir) === 0)
      // a copy has the layout of its source
      val copy = new File(s"$dir-copy")
      sql(s"OPTIMIZE '$dir' INTO '$copy'")
      assert(math.abs(dataFiles(copy).size - files) <= 2)
      // new files are cut to the same size
      write(shuffled(4000, 1), dir)
      assert(added(s"OPTIMIZE '$dir'", dir) > 4)
      // until somebody names another
      val double = size.replaceAll("'(\\d+)'", "'999999999'")
      assert(added(s"OPTIMIZE '$dir' OPTIONS ($double)", dir) === 1)
      assert(added(s"OPTIMIZE '$dir'", dir) === 0)
      // another layout has the size of the settings
      assert(added(s"OPTIMIZE '$dir' ZORDER BY (b)", dir) === 1)
    }
  }

  test("a size of the session or of the table does not take the place of that of the layout") {
    withTable("sized") {
      sql("CREATE TABLE sized USING parquet AS " +
        "SELECT id, pmod(hash(id), 1000) a, pmod(hash(id, 7), 1000) b FROM range(0, 4000, 1, 4)")
      val dir = locationOf("sized")
      sql(s"OPTIMIZE sized ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 8)})").collect()
      sql("ALTER TABLE sized SET TBLPROPERTIES ('zorder.targetFileSize' = '200m')")
      for (target <- Seq("sized", s"'$dir'")) {
        val row = sql(s"OPTIMIZE $target").head()
        assert(metric(row, "numFilesAdded") === 0)
        assert(row.getAs[String]("reason").contains("targetFileSize in OPTIONS"), row)
      }
      sql("ALTER TABLE sized UNSET TBLPROPERTIES ('zorder.targetFileSize')")
      withSQLConf("spark.zorder.targetFileSize" -> "300m") {
        assert(metric(sql("OPTIMIZE sized").head(), "numFilesAdded") === 0)
      }
      // an undone run has no layout
      sql("UNDO LAYOUT sized")
      assert(metric(sql("OPTIMIZE sized ZORDER BY (a, b)").head(), "numFilesAdded") === 1)
    }
  }

  test("weights that differ change the layout and not its size") {
    withLayout("ZORDER BY (a, b)") { (dir, _) =>
      assert(added(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('weights' 'a:4')", dir) > 4)
    }
  }

  test("a compaction keeps the size of the compaction before it") {
    withTableDir { dir =>
      write(shuffled(8000, 16), dir)
      assert(added(s"OPTIMIZE '$dir' OPTIONS (${sizeFor(dir, 3)})", dir) > 1)
      val files = dataFiles(dir).size
      write(shuffled(10, 2), dir)
      optimize(s"OPTIMIZE '$dir'", dir)(read(dir))
      assert(files > 2 && dataFiles(dir).size > 1)
    }
  }
}
