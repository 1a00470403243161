// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import org.apache.hadoop.fs.FileStatus

/**
 * Which entries of an index the files of a listing have. A listing mostly has the order of the
 * index, so the files are held as runs: consecutive files of one directory with consecutive entries.
 *
 * @param firstRun for each directory the position of its first run, and the number of all runs
 * @param positions for each run the position of its first file in the directory
 * @param entries for each run the entry of its first file, or -1 if its files have no entries
 * @param sizes for each run the number of its files
 */
private[sparkzorder] final class ListedEntries private (
    val firstRun: Array[Int],
    val positions: Array[Int],
    val entries: Array[Int],
    val sizes: Array[Int]) {

  /** Bytes of memory. */
  def bytes: Long = 4L * (firstRun.length + 3L * positions.length)
}

private[sparkzorder] object ListedEntries {

  /** @param directories the files of each directory of a listing */
  def of(lookup: PathLookup, directories: IndexedSeq[Array[FileStatus]]): ListedEntries = {
    val firstRun = new Array[Int](directories.size + 1)
    val (positions, entries, sizes) =
      (Array.newBuilder[Int], Array.newBuilder[Int], Array.newBuilder[Int])
    val walk = lookup.walk()
    var runs = 0
    directories.indices.foreach { d =>
      firstRun(d) = runs
      val files = directories(d)
      var (start, first) = (0, 0)
      def end(until: Int): Unit = if (until > start) {
        positions += start
        entries += first
        sizes += until - start
        runs += 1
      }
      var i = 0
      while (i < files.length) {
        val entry = walk.find(files(i))
        val goesOn =
          i > start && (if (entry < 0) first < 0 else first >= 0 && entry == first + i - start)
        if (!goesOn) {
          end(i)
          start = i
          first = entry
        }
        i += 1
      }
      end(files.length)
    }
    firstRun(directories.size) = runs
    new ListedEntries(firstRun, positions.result(), entries.result(), sizes.result())
  }
}
