// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.execution.datasources.PartitionDirectory

import io.sparkzorder.index.ListedEntries
import io.sparkzorder.skipping.predicate.KeptFiles

/**
 * Prunes a listing whose entries in the index are known. Files that are pruned are counted in
 * bitmaps and not looked at.
 *
 * @param entries of the files in the index
 * @param kept the entries that the filters keep
 */
private final class PrunedHeldListing(
    held: HeldListing,
    entries: ListedEntries,
    kept: KeptFiles) {
  private val after = kept.after.toArray
  private val prunedInDirectory = new Array[Int](after.length)

  /** @param chosen positions of the directories that are read */
  def of(chosen: Array[Int]): PrunedListing = {
    val (directories, metrics) = chosen.toSeq.map(prune).unzip
    PrunedListing(directories, Some(SkippingMetrics(kept.prunedBy, metrics)))
  }

  private def prune(d: Int): (PartitionDirectory, DirectoryMetrics) = {
    val directory = held.directories(d)
    java.util.Arrays.fill(prunedInDirectory, 0)
    var (left, noEntry) = (0, 0)
    foreachRun(d) { (_, entry, size) =>
      if (entry < 0) noEntry += size
      else {
        var before = size
        var k = 0
        while (k < after.length) {
          val now = KeptFiles.count(after(k), entry, entry + size)
          prunedInDirectory(k) += before - now
          before = now
          k += 1
        }
        left += before
      }
    }
    val count = left + noEntry
    val files =
      if (count == directory.files.length) directory else directory.copy(files = keptOf(d, count))
    (
      files.toSpark,
      DirectoryMetrics(
        directory.values,
        directory.files.length,
        prunedInDirectory.toIndexedSeq,
        noEntry))
  }

  private def keptOf(d: Int, count: Int): Array[FileStatus] = {
    val files = held.directories(d).files
    val out = new Array[FileStatus](count)
    if (count > 0) {
      val words = after.last
      var n = 0
      foreachRun(d) { (position, entry, size) =>
        if (entry < 0) {
          System.arraycopy(files, position, out, n, size)
          n += size
        } else {
          var i = KeptFiles.next(words, entry, entry + size)
          while (i < entry + size) {
            out(n) = files(position + i - entry)
            n += 1
            i = KeptFiles.next(words, i + 1, entry + size)
          }
        }
      }
    }
    out
  }

  /** Calls `body` with the position, the first entry and the size of each run of a directory. */
  private def foreachRun(d: Int)(body: (Int, Int, Int) => Unit): Unit = {
    var r = entries.firstRun(d)
    while (r < entries.firstRun(d + 1)) {
      body(entries.positions(r), entries.entries(r), entries.sizes(r))
      r += 1
    }
  }
}
