// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import io.sparkzorder.conf.RelationConf

/** Which reads the records of OPTIMIZE change, and what they cost the others. */
class OverlayScopeSuite extends OverlayTestBase with AdaptiveSparkPlanHelper {

  private def flat(rows: Int, files: Int) = shuffled(rows, files)

  test("files that were named one by one are read as they are") {
    withTableDir { dir =>
      write(flat(100, 2), dir)
      val file = dir.listFiles.filter(_.getName.endsWith(".parquet")).head
      val named = read(file)
      val expected = bag(read(file))
      assert(killedAt(0, dir))
      check(dir, expected, "named file")(unplanned(named))
      sql(statement(dir)).collect()
      intercept[Exception](unplanned(named).collect())
    }
  }

  test("switched off, and formats and tables that are not ours") {
    withTableDir { dir =>
      write(flat(200, 4), dir)
      val expected = bag(read(dir))
      assert(killedAt(6, dir))
      check(dir, expected, "on")(read(dir))
      withSQLConf("spark.zorder.skipping.enabled" -> "false") {
        check(dir, expected, "without skipping")(read(dir))
      }
      withSQLConf("spark.zorder.enabled" -> "false") {
        assert(bag(read(dir)) !== expected)
        assert(indexes(read(dir)).forall(!_.isInstanceOf[ZOrderFileIndex]))
      }
      assert(indexes(read(dir)).forall(_.isInstanceOf[ZOrderFileIndex]))
      val json = new File(dir.getParentFile, "json")
      flat(10, 1).write.json(plain(json))
      withSQLConf("spark.sql.sources.useV1SourceList" -> "json,parquet") {
        assert(indexes(spark.read.json(plain(json))).forall(!_.isInstanceOf[ZOrderFileIndex]))
      }
    }
  }

  private def indexes(df: org.apache.spark.sql.DataFrame) = {
    val found = collect(df.queryExecution.executedPlan) { case s: FileSourceScanExec =>
      s.relation.location
    }
    assert(found.nonEmpty)
    found
  }

  test("one table twice in a query is one exchange; cached rows stay; file columns work") {
    withTableDir { dir =>
      write(parted(120, 2), dir, "p")
      val df = read(dir)
      val counts = df.groupBy("a").count()
      val joined = counts.as("x").join(counts.as("y"), "a")
      joined.collect()
      assert(collect(joined.queryExecution.executedPlan) { case r: ReusedExchangeExec => r }
        .nonEmpty)
      val cached = read(dir).cache()
      val expected = bag(cached)
      val names = df.select("_metadata.file_path").distinct().count()
      assert(names === dataFiles(dir).size)
      val one = dataFiles(dir).head
      val ofFile = s"_metadata.file_name = '${one.name}' AND p = ${one.folder.drop(2)}"
      assert(read(dir).where(ofFile).count() === one.rows)
      assert(indexes(read(dir).where(ofFile)).size === 1)
      sql(statement(dir)).collect()
      check(dir, expected, "cached")(cached)
      cached.unpersist()
      val after = dataFiles(dir).head
      assert(read(dir).where(s"_metadata.file_name = '${after.name}'").count() === after.rows)
    }
  }

  test("no state costs next to nothing") {
    withTableDir { dir =>
      write(flat(10, 1), dir)
      val index = indexes(read(dir)).head.asInstanceOf[ZOrderFileIndex]
      def median(body: => Any): Double = {
        val times = (0 until 200).map { _ =>
          val start = System.nanoTime()
          body
          (System.nanoTime() - start) / 1e6
        }
        times.sorted.apply(100)
      }
      median(index.listFiles(Nil, Nil))
      val relation = relationOf(read(dir))
      val conf = new RelationConf(relation)
      def fresh = new ZOrderFileIndex(index.delegate, relation, new TableRoots(None, conf), conf)
      val ours = median(fresh.listFiles(Nil, Nil))
      val theirs = median(index.delegate.listFiles(Nil, Nil))
      info(f"a listing without state: $ours%.3f ms, by Spark alone $theirs%.3f ms")
      assert(fresh.listFiles(Nil, Nil) === index.delegate.listFiles(Nil, Nil))
    }
  }

  private def relationOf(df: org.apache.spark.sql.DataFrame) =
    collect(df.queryExecution.executedPlan) { case s: FileSourceScanExec => s.relation }.head
}
