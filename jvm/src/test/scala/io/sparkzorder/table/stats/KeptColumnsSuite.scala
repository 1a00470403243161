// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.InternalRow

import io.sparkzorder.ParquetTestFiles
import io.sparkzorder.table.{DataFile, Folder, ParquetFiles}

/** What is kept in memory of a footer. */
class KeptColumnsSuite extends AnyFunSuite {
  private val conf = new Configuration()

  private def read(columns: ColumnNames): ScannedFile = ParquetTestFiles.withWideFile(50) { file =>
    FooterReader.read(Seq(file), conf, ParquetFiles, columns).head
  }

  test("of the columns that are not asked for no statistics are kept") {
    val all = read(ColumnNames.all)
    assert(all.leaves.length === 50 && all.leaves.forall(_.known))
    val two = read(ColumnNames.of(Seq("C7", "c9", "absent")))
    val kept = two.leaves.indices.filterNot(i => two.leaves(i) eq ColumnStats.unknown)
    assert(kept === Seq(7, 9))
    for (i <- kept) assert(two.leaves(i) === all.leaves(i))
    assert(two.rows === all.rows && two.schema === all.schema)
  }
}

/**
 * Memory of 100,000 footers of 200 columns of text, of which two are kept. Arguments: files, columns. Run
 * with a heap of 1 GB. One file is read again and again, under as many statuses.
 */
object FooterMemory {
  def main(args: Array[String]): Unit = {
    val (files, columns) = (args(0).toInt, args(1).toInt)
    ParquetTestFiles.withWideFile(columns) { one =>
      val folder = new Folder(one.folder.path, InternalRow.empty)
      val listed = (0 until files).map { _ =>
        val s = one.status
        val path = new Path(s.getPath.toString)
        DataFile(
          folder,
          new FileStatus(s.getLen, false, 1, s.getBlockSize, s.getModificationTime, path))
      }
      val begun = System.nanoTime()
      val read =
        FooterReader.read(
          listed,
          new Configuration(),
          ParquetFiles,
          ColumnNames.of(Seq("c0", "c1")))
      val seconds = (System.nanoTime() - begun) / 1e9
      System.gc()
      val runtime = Runtime.getRuntime
      val used = (runtime.totalMemory - runtime.freeMemory) >> 20
      println(
        f"$files%,d footers of $columns columns: $seconds%.1f s, $used%,d MB of ${runtime.maxMemory >> 20}%,d MB in use; ${read.map(_.rows).sum}%,d rows")
    }
  }
}
