// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Random

import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.InternalRow

import io.sparkzorder.RandomInputs
import io.sparkzorder.index.{ByteValues, FileTable, PathLookup}
import io.sparkzorder.skipping.predicate.{EntryPruner, FilePruner, KeptFiles}

/** Pruning by runs and bitmaps, against a decision for each file. */
class PrunedHeldListingSuite extends AnyFunSuite with RandomInputs {
  private val root = new Path("file:/data/sales")
  // times before 2013 tell no change of a file
  private val Time = 1700000000000L

  private def lookup(size: Int): PathLookup = {
    val paths = new ByteValues.Builder(size)
    (0 until size).foreach(i => paths.add(s"part-$i".getBytes(UTF_8)))
    val longs = Array.fill(size)(1L)
    val times = Array.fill(size)(Time)
    new PathLookup(root, FileTable(paths.result(), longs, times, longs, new Array[Int](size)))
  }

  private def status(i: Int): FileStatus =
    new FileStatus(1L, false, 1, 1L, Time, new Path(root, s"part-$i"))

  /** Bitmaps that get narrower, as groups of tests leave them. */
  private def kept(random: Random, size: Int): KeptFiles = {
    val groups = random.nextInt(4)
    val density = random.nextInt(3)
    val first = Array.tabulate((size + 63) / 64)(w =>
      if ((w + 1) * 64 > size) (1L << size) - 1 else -1L)
    val after = Iterator.iterate(first)(words =>
      words.map(w => (0 to density).foldLeft(w)((x, _) => x & random.nextLong()))).slice(
      1,
      groups + 1)
    new KeptFiles(IndexedSeq.tabulate(groups)(g => s"c$g"), after.toIndexedSeq)
  }

  test("the same files and the same counts") {
    withRandom { random =>
      for (round <- 1 to 500) {
        val size = random.nextInt(400)
        val index = lookup(size)
        val all = random.nextInt(3) match {
          case 0 => 0 until size
          case 1 => random.shuffle((0 until size + 20).toList)
          case _ => (0 until size + 20).filter(_ => random.nextInt(10) > 0)
        }
        val directories = all.grouped(1 + random.nextInt(150)).toIndexedSeq.map(part =>
          ListedDirectory(InternalRow(part.size), part.map(status).toArray))
        val held = HeldListing.forTest(directories)
        val keep = kept(random, size)
        val chosen = directories.indices.filter(_ => random.nextInt(4) > 0).toArray
        val slow = new FilePruner {
          private val walk = index.walk()
          override def prunedBy: IndexedSeq[String] = keep.prunedBy
          override def decide(file: FileStatus): Int = {
            val i = walk.find(file)
            if (i < 0) FilePruner.NoEntry else keep.decide(i)
          }
        }
        val fast = new FilePruner {
          override def prunedBy: IndexedSeq[String] = keep.prunedBy
          override def decide(file: FileStatus): Int = fail("not asked")
          override def byEntries: Option[EntryPruner] = Some(new EntryPruner("id", index, keep))
        }
        val listing = ScanListing.of(held, chosen)
        val expected = PrunedListing.of(listing.directories, Some(slow))
        val found = PrunedListing.of(listing, Some(fast))
        def files(p: PrunedListing) = p.directories.map(d =>
          d.values -> d.files.map(_.fileStatus.getPath.getName).toSeq)
        assert(files(found) === files(expected), s"round $round")
        assert(found.metrics === expected.metrics, s"round $round")
      }
    }
  }

  test("the number of files that joins prune is that of the partitions that are left") {
    def metrics(name: String, directories: (Int, Int, Int)*) = SkippingMetrics(
      IndexedSeq(name),
      directories.map { case (p, files, pruned) =>
        DirectoryMetrics(InternalRow(p), files, IndexedSeq(pruned), 0)
      })
    def first = metrics("a", (1, 4, 1), (2, 4, 0))
    def later = metrics("b", (1, 3, 2), (2, 4, 3))
    val both = first.andAtRunTime(later)
    assert((both.pruned, both.prunedAtRunTime) === ((6, Some(5))))
    val left = both.of(Iterator(InternalRow(1)))
    assert((left.pruned, left.prunedAtRunTime) === ((3, Some(2))))
    assert(later.allAtRunTime.of(Iterator(InternalRow(2))).prunedAtRunTime === Some(3))
    assert(first.of(Iterator(InternalRow(1))).prunedAtRunTime === None)
  }

  test("after an error in a search for entries, all files are read") {
    val files = Array.tabulate(5)(status)
    val held = HeldListing.forTest(IndexedSeq(ListedDirectory(InternalRow(1), files)))
    val broken = new FilePruner {
      override def prunedBy: IndexedSeq[String] = IndexedSeq("c")
      override def decide(file: FileStatus): Int = 0
      override def byEntries: Option[EntryPruner] =
        Some(new EntryPruner("broken", null, new KeptFiles(IndexedSeq("c"), IndexedSeq(Array(0L)))))
    }
    val before = IndexPruning.failureCount
    val found = PrunedListing.of(ScanListing.of(held, Array(0)), Some(broken))
    assert(found.directories.flatMap(_.files).size === 5 && found.metrics === None)
    assert(IndexPruning.failureCount === before + 1)
  }
}
