// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite.orc

import java.io.File

import org.apache.orc.IntegerColumnStatistics
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

import io.sparkzorder.commands.OrcTables

/** OPTIMIZE of tables of ORC files: their layout becomes what it is for Parquet. */
class OptimizeOrcSuite extends OrcTables {

  override protected def codegen: Boolean = true

  test("files of a point query are as few as for Parquet, by ORC's own statistics", Slow) {
    withTableDir { dir =>
      write(shuffled(16000, 8), dir)
      val result = optimizeOrc(dir, s"ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 16)})")
      val values = (0L until 1000L by 37L)
      val gains = result.getAs[scala.collection.Seq[Row]]("columns")
      gains.foreach { g =>
        val ideal = g.getAs[Double]("ideal")
        val read = perPoint(dir, g.getAs[String]("name"), values)
        info(s"$g, counted $read")
        assert(read < 1.35 * ideal)
        assert(math.abs(read - g.getAs[Double]("filesPerPointQueryAfter")) < 0.2 * ideal)
        assert(g.getAs[Double]("filesPerPointQueryBefore") > 7.9)
      }
      val shown = sql(s"SHOW LAYOUT orc.`$dir` FOR (a, b)").collect()
      shown.foreach { r =>
        assert(r.getAs[Double]("excess") < 1.4)
        assert(r.getAs[Row]("rowGroups").getAs[Long]("count") >= dataFiles(dir).size)
        assert(r.getAs[Row]("pages").getAs[Long]("count") >= dataFiles(dir).size)
        assert(r.getAs[Double]("nullShare") === 0.0)
        assert(r.isNullAt(r.fieldIndex("warning")))
      }
    }
  }

  private def perPoint(dir: File, column: String, values: Seq[Long]): Double = {
    val ranges = orcFiles(dir).map(withOrc(_) { r =>
      val s = r.getStatistics()(r.getSchema.findSubtype(column).getId)
        .asInstanceOf[IntegerColumnStatistics]
      (s.getMinimum, s.getMaximum)
    })
    values.map(v => ranges.count { case (a, b) => a <= v && v <= b }).sum.toDouble / values.size
  }

  test("stripes and strides of a larger file are judged by the row index") {
    withTableDir { dir =>
      write(shuffled(24000, 2), dir)
      withSQLConf("orc.row.index.stride" -> "1000") {
        optimizeOrc(dir, "ZORDER BY (a, b)")
      }
      assert(dataFiles(dir).size === 1)
      val (stripes, stride) =
        withOrc(orcFiles(dir).head)(r => (r.getStripes.size, r.getRowIndexStride))
      assert(stride <= 1100)
      val shown = sql(s"SHOW LAYOUT orc.`$dir` FOR (a)").head()
      val pages = shown.getAs[Row]("pages")
      assert(shown.getAs[Row]("rowGroups").getAs[Long]("count") === stripes)
      assert(pages.getAs[Long]("count") >= 24000 / stride)
      info(s"$stripes stripes, strides of $stride rows: $pages")
      assert(pages.getAs[Double]("perPointQuery") < 0.45 * pages.getAs[Long]("count"))
    }
  }

  test("partitions: a second run rewrites nothing, new files are merged") {
    withTableDir { dir =>
      val rows = shuffled(2000, 2).selectExpr("*", "if(id % 2 = 0, NULL, id % 2) p")
      write(rows, dir, "p")
      val size = sizeFor(dir, 6)
      val first = optimizeOrc(dir, s"ZORDER BY (a, b) OPTIONS ($size)")
      assert(metric(first, "partitionsOptimized") === 2)
      assert(metric(sql(s"OPTIMIZE orc.`$dir` OPTIONS ($size)").head(), "numFilesRemoved") === 0)
      write(rows.where("p = 1 AND id < 200"), dir, "p")
      val third = optimizeOrc(dir, s"OPTIONS ($size)")
      assert(metric(third, "partitionsOptimized") === 1)
      assert(third.getAs[String]("reason").contains("new"))
    }
  }

  test("partitions; a second run rewrites nothing, new files are merged, FULL rewrites all", Slow) {
    withTableDir { dir =>
      val rows = shuffled(6000, 3).selectExpr("*", "if(id % 4 = 0, NULL, id % 4) p")
      write(rows, dir, "p")
      val size = sizeFor(dir, 12)
      val first = optimizeOrc(dir, s"ZORDER BY (a, b) OPTIONS ($size)")
      assert(metric(first, "partitionsOptimized") === 4)
      val second = optimizeOrc(dir, s"OPTIONS ($size)")
      assert(metric(second, "numFilesRemoved") === 0)
      assert(second.getAs[String]("reason").contains("already"))
      write(rows.where("p = 1 AND id < 600"), dir, "p")
      val third = optimizeOrc(dir, s"OPTIONS ($size)")
      assert(metric(third, "partitionsOptimized") === 1)
      assert(third.getAs[String]("reason").contains("new"))
      val some = optimizeOrc(dir, s"FULL WHERE p = 2 ZORDER BY (a, b) OPTIONS ($size)")
      assert(metric(some, "partitionsOptimized") === 1)
      val files = dataFiles(dir).size
      val all = optimizeOrc(dir, s"FULL ZORDER BY (b, a) OPTIONS ($size)")
      assert(metric(all, "numFilesRemoved") === files)
      val tree = snapshot(dir)
      val dry = sql(s"OPTIMIZE orc.`$dir` FULL ZORDER BY (a) DRY RUN").head()
      assert(dry.getAs[Boolean]("dryRun") && snapshot(dir) === tree)
    }
  }

  test("zeros with and without a sign, in another order") {
    withTableDir { dir =>
      write(spark.range(3).selectExpr("2 - id a", "array(0D, -0D, 5D)[int(id)] d").coalesce(1), dir)
      optimizeOrc(dir, "FULL ZORDER BY (a)")
      optimizeOrc(dir, "FULL ZORDER BY (d)")
    }
  }

  test(
    "compaction keeps the order of rows; WHERE on data columns chooses files by their bounds",
    Slow) {
    withTableDir { dir =>
      (0 until 6).foreach(i => write(spark.range(i * 100L, i * 100L + 100, 1, 1).toDF("id"), dir))
      val some = optimizeOrc(dir, "WHERE id < 250 ZORDER BY (id)")
      assert(metric(some, "numFilesRemoved") === 3)
      optimizeOrc(dir, "FULL ZORDER BY (id)")
      sql(s"UNDO LAYOUT orc.`$dir`").collect()
      sql(s"UNDO LAYOUT orc.`$dir`").collect()
      assert(dataFiles(dir).size === 6)
    }
    withTableDir { dir =>
      (0 until 6).foreach(i => write(spark.range(i * 100L, i * 100L + 100, 1, 1).toDF("id"), dir))
      val names = dataFiles(dir).map(_.name).toList
      val inOrder = names.flatMap(n => spark.read.orc(s"$dir/$n").collect().map(_.getLong(0)))
      assert(metric(optimizeOrc(dir, ""), "numFilesAdded") === 1)
      val file = dataFiles(dir).head.name
      assert(spark.read.orc(s"$dir/$file").collect().map(_.getLong(0)).toSeq === inOrder)
    }
  }

  test("INTO, history, UNDO, VACUUM and RECOVER", Slow) {
    withTableDir { dir =>
      write(shuffled(3000, 4).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      // without checksums of local disks, which are not made anew
      def own = userFiles(dir).filterNot(_._1.endsWith(".crc"))
      val before = own
      val copy = new File(dir.getParentFile, "copy")
      sql(s"OPTIMIZE orc.`$dir` ZORDER BY (a, b) INTO '$copy'").collect()
      assert(own === before && bag(read(copy)) === expected)
      assert(dataFiles(copy).forall(_.name.endsWith(".orc")))
      optimizeOrc(dir, "ZORDER BY (a, b)")
      assert(sql(s"SHOW LAYOUT HISTORY orc.`$dir`").collect().length === 1)
      assert(sql(s"RECOVER LAYOUT orc.`$dir`").head().getLong(1) === 0)
      sql(s"UNDO LAYOUT orc.`$dir`").collect()
      assert(own === before && bag(read(dir)) === expected)
      val removed = sql(s"VACUUM LAYOUT orc.`$dir` RETAIN 0 HOURS").collect()
      assert(removed.exists(_.getAs[Boolean]("removed")))
      assert(bag(read(dir)) === expected)
    }
  }
}
