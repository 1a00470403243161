// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import java.io.File

import org.apache.commons.io.FileUtils
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

import io.sparkzorder.workload.RecordedScans

/** What AUTO believes that another layout saves. */
class SavingsSuite extends AutoTestBase {

  private def points(n: Int) = Seq.fill(n)(Seq("a" -> ((0.3, 0.3))))

  private def keeps(row: Row, why: String): Unit = {
    assert(metric(row, "numFilesAdded") === 0, row)
    assert(reason(row).contains(why), row)
  }

  test("scans by columns that the table lacks do not make the savings larger") {
    withTableDir { dir =>
      RecordedScans.write(dir, bytesOf(dir) / 50)(points(110): _*)
      RecordedScans.write(dir, bytesOf(dir) / 50)(Seq.fill(160)(Seq("gone" -> ((0.3, 0.3)))): _*)
      keeps(auto(dir, size(dir)), "are not worth a rewrite")
    }
  }

  test("a fifth of what all scans read, also of those that no layout helps") {
    withTableDir { dir =>
      RecordedScans.write(dir, bytesOf(dir))(points(110): _*)
      RecordedScans.write(dir, bytesOf(dir))(Seq.fill(600)(Nil): _*)
      keeps(auto(dir, size(dir)), "no other layout saves a fifth of what all recorded scans read")
    }
  }

  test("in a partitioned table, a scan reads the partitions that have its values", Slow) {
    withTableDir { dir =>
      val other = new File(dir.getParentFile, "other")
      write(read(dir).selectExpr("id", "a", "id div 2500 p").repartition(4), other, "p")
      sql(s"CREATE ZORDER INDEX ON '$other'")
      // they read one of 16 partitions, and not a part of each
      RecordedScans.write(other, bytesOf(other) / 4)(Seq.fill(110)(Seq("id" -> ((0.95, 1.0)))): _*)
      keeps(auto(other, size(other)), "no other layout saves a fifth")
      RecordedScans.write(other, bytesOf(other))(points(110): _*)
      val row = auto(other, size(other))
      assert(gains(row).map(_.getString(0)).head === "a", row)
      assert(metric(row, "numFilesAdded") > 0, row)
      // a quarter of each partition for the points; cut by a, the others still read one partition
      val byA = "\\(a\\) (\\d+) MB".r.findFirstMatchIn(reason(row)).map(_.group(1).toInt)
      assert(byA.exists(mb => mb >= 8 && mb <= 13), row)
    }
  }

  test("WHERE chooses a part of the table, for which AUTO does not change the layout", Slow) {
    withTableDir { dir =>
      val other = new File(dir.getParentFile, "other")
      write(read(dir).selectExpr("id", "a", "id % 4 p"), other, "p")
      sql(s"CREATE ZORDER INDEX ON '$other'")
      record(other, "a" -> 120)
      val row = sql(s"OPTIMIZE '$other' WHERE p = 1 ZORDER BY AUTO OPTIONS (${size(other)})").head()
      keeps(row, "AUTO keeps the files as they are")
      assert(reason(row).contains("of which WHERE chooses a part"), row)
      assert(metric(auto(other, size(other)), "numFilesAdded") > 0)
    }
  }

  test("a layout by a column that the table has lost is no layout", Slow) {
    withTableDir { dir =>
      sql(s"OPTIMIZE '$dir' ZORDER BY (a) OPTIONS (${size(dir)})").collect()
      val kept = new File(dir.getParentFile, "kept")
      write(read(dir).drop("a"), kept)
      def files(of: File) = of.listFiles().filter(_.getName.endsWith(".parquet"))
      files(dir).foreach(_.delete())
      files(kept).foreach(FileUtils.copyFileToDirectory(_, dir))
      keeps(auto(dir, size(dir)), "AUTO keeps the files as they are: 0 scans")
      record(dir, "b" -> 120)
      val row = auto(dir, size(dir))
      assert(gains(row).map(_.getString(0)) === Seq("b"), row)
    }
  }
}
