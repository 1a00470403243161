// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.ZOrderSessionSuite
import io.sparkzorder.table.DataFile
import io.sparkzorder.util.ModificationTimes

/** Files whose name, length and time do not tell one content from another are never found in an index. */
class TellsChangesSuite extends ZOrderSessionSuite {

  test("times that archives and images give to all files") {
    // file systems without times, Nix, TAR of Gradle, ZIP, Gradle, and Bazel
    val constants =
      Seq(
        0L,
        1000L,
        86400000L,
        315532800000L,
        315532800000L + 8 * 3600000L,
        318211200000L,
        946684800000L)
    for (time <- constants) {
      assert(!ModificationTimes.tellChanges(time), time)
    }
    for (time <- Seq(1356998400000L, 1700000000000L, System.currentTimeMillis())) {
      assert(ModificationTimes.tellChanges(time), time)
    }
  }

  test(
    "equal names, lengths and times in two partitions: a renamed partition could go unseen") {
    withTempDir { dir =>
      val fs = new Path(dir.toURI).getFileSystem(spark.sessionState.newHadoopConf())
      def written(partition: String, from: Int, milliseconds: Int): DataFile = {
        val folder = new Path(s"$dir/$partition")
        spark.range(from, from + 10, 1, 1).write.option("compression", "none").parquet(s"$folder")
        val made = fs.listStatus(folder).find(_.getPath.getName.endsWith(".parquet")).get
        val to = new Path(folder, "part-0.parquet")
        assert(fs.rename(made.getPath, to))
        DataFile.alone(
          new FileStatus(made.getLen, false, 1, 1L, 1700000000000L + milliseconds, to))
      }
      def times(files: DataFile*): Seq[Long] =
        IndexBuild.withoutTwins(files.toIndexedSeq).map(_.modified)
      val (a, b) = (written("p=1", 0, 0), written("p=2", 100, 0))
      assert(a.length === b.length)
      val (c, d) = (written("p=3", 200, 7), written("p=4", 300, 8))
      // also beside files whose times differ
      val later = 1700000000007L
      assert(times(a, b, c, d) === Seq(0L, 0L, later, later + 1))
      assert(times(a, c) === Seq(1700000000000L, later))
      // a task that closes all its files at once may do so within a millisecond
      assert(times(c, written("p=5", 400, 7)) === Seq(0L, 0L))
    }
  }
}
