// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.sparkzorder.conf.Settings
import io.sparkzorder.index.{
  DateLeaf,
  DoubleLeaf,
  FileEntry,
  Generation,
  IndexCache,
  IndexChange,
  IndexContent,
  IndexedColumn,
  IndexStore,
  IndexValue,
  IntegerLeaf,
  LeafColumns,
  LeafEntry,
  LeafType,
  LoadedIndex,
  StringLeaf
}
import io.sparkzorder.index.WholeGenerations._
import io.sparkzorder.skipping.predicate.{FilterOnFiles, TableColumns}
import io.sparkzorder.skipping.scan.{HeldListing, ListedDirectory, PrunedListing, ScanListing}
import io.sparkzorder.table.stats.ColumnStats
import io.sparkzorder.workload.{ExcludedColumns, NotedFilters, WorkloadCapture}

/**
 * How long an index of many files takes to write, load and filter, and its memory, as plain numbers of this
 * machine (processor time of one thread). Arguments: a file for the numbers as JSON, and numbers of files.
 * The JVM of tests has the first compiler alone; in sbt,
 * `set spark41 / Test / javaOptions -= "-XX:TieredStopAtLevel=1"` gives the numbers of a driver.
 */
object SkippingBenchmark {
  private val root = new Path("file:/data/warehouse/sales")
  private val conf = new Configuration()

  def main(args: Array[String]): Unit = {
    val measured = args.drop(1).map(n => measure(n.toInt))
    val text = measured.map(_.map { case (name, numbers) =>
      s""""$name": ${numbers.map(n => f"$n%.3f").mkString("[", ", ", "]")}"""
    }.mkString("{", ", ", "}")).mkString("[", ",\n ", "]")
    println(text)
    val target = Paths.get(args.head).toAbsolutePath
    Files.createDirectories(target.getParent)
    Files.write(target, s"$text\n".getBytes(UTF_8))
  }

  private val columns = Seq("id", "amount", "day", "name")

  private def entry(i: Int): FileEntry = {
    def leaf(name: String, t: LeafType, nulls: Long, min: Any, max: Any) = LeafEntry(
      IndexedColumn(Seq(name), t),
      ColumnStats(nulls, min, max, known = true, noNaN = t.isFloating))
    val Some((low, high)) =
      IndexValue.bounds(Double.box(i % 97), Double.box(i % 97 + 3d), DoubleLeaf)
    def customer(n: Int) = f"customer-$n%06d".getBytes
    val leaves = Seq(
      leaf("id", IntegerLeaf(64), 0, i * 10L, i * 10L + 500),
      leaf("amount", DoubleLeaf, 0, low, high),
      leaf("day", DateLeaf, 3, i % 3650L, i % 3650L + 7),
      leaf("name", StringLeaf, 0, customer(i % 5000), customer(i % 5000 + 20)))
    val name =
      f"day=${i / 100}%05d/part-${i % 100}%05d-6c5e9fd0-2b6c-4a3e-9d3a-1f0e5b7c8d9a-c000.snappy.parquet"
    FileEntry(name, 1000000L + i, 1700000000000L + i, 10000L, SkippingBenchmark.shape, leaves)
  }

  private val shape = LeafColumns(columns.map(Seq(_)))

  /** Numbers by name: milliseconds and bytes. */
  private def measure(files: Int): Seq[(String, Seq[Double])] = {
    val dir = Files.createTempDirectory("index").toFile
    try {
      new java.io.File(dir, "_zorder").mkdir()
      val store = new IndexStore(new Path(s"file:$dir"), conf)
      val content = IndexContent.concat(
        (0 until files).grouped(10000).map(g => IndexContent.of(g.map(entry))).toSeq)
      val (file, written) = time(store.update(_ => (content, None)).get)
      Seq(
        "files" -> Seq(files.toDouble),
        "columns" -> Seq(columns.size.toDouble),
        "write" -> Seq(written),
        "disk" -> Seq(file.getLen.toDouble / files),
        "load" -> (1 to 5).map(_ => load(file, files)),
        "heap" -> Seq(IndexCache.bytes.toDouble / files),
        "heap of paths" -> Seq(loaded(file).files.bytes.toDouble / files)) ++
        filter(file, files) ++ note(file, files) ++ append(store, files)
    } finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  /** What an update after an append of a hundred files costs. */
  private def append(store: IndexStore, files: Int): Seq[(String, Seq[Double])] = {
    val rounds = (1 to 5).map { round =>
      val added = IndexContent.of((0 until 100).map(i => entry(files + 100 * round + i)))
      time(store.change(_ => IndexChange(added, Set.empty, keepsOthers = true, None)).get)
    }
    val newest = rounds.last._1
    Seq(
      "append" -> rounds.map(_._2),
      "append disk" -> rounds.map(_._1.getLen.toDouble),
      "load of parts" -> (1 to 5).map(_ => load(newest, files)))
  }

  private def loaded(file: FileStatus): LoadedIndex =
    new LoadedIndex(
      root,
      Generation(file, ""),
      conf,
      Settings.ofSession(Settings.SkippingCacheSize))

  /** Milliseconds until the paths and the columns of the filter are in memory. */
  private def load(file: FileStatus, files: Int): Double = {
    IndexCache.clear()
    time(FilterOnFiles.compile(predicates(files), table, loaded(file), caseSensitive = false)
      .byEntries)._2
  }

  private val attributes = Seq(
    AttributeReference("id", LongType)(),
    AttributeReference("amount", DoubleType)(),
    AttributeReference("day", DateType)(),
    AttributeReference("name", StringType)())

  private def predicates(files: Int): Seq[Expression] = {
    val Seq(id, amount, day, name) = attributes
    Seq(
      GreaterThan(id, Literal(files * 5L)),
      LessThan(amount, Literal(50d)),
      EqualTo(day, Literal(1000, DateType)),
      GreaterThanOrEqual(name, Literal("customer-002500")))
  }

  /** A listing as Spark makes it. */
  private def listing(files: Int): Array[FileStatus] = Array.tabulate(files) { i =>
    val e = entry(i)
    val s = new FileStatus(e.length, false, 1, 1L, e.modified, new Path(root, e.path))
    s.getPath.hashCode
    s
  }

  private lazy val table = {
    val schema = StructType(attributes.map(a => StructField(a.name, a.dataType)))
    new TableColumns(attributes, schema, new StructType(), _ == _)
  }

  /** A listing in the directories of its files, as Spark gives it for partitions. */
  private def held(statuses: Array[FileStatus]): HeldListing = HeldListing.forTest(
    statuses.grouped(100).map(ListedDirectory(InternalRow.empty, _)).toIndexedSeq)

  /** Compiles filters, evaluates them and prunes a listing. Returns the times in milliseconds. */
  private def query(file: FileStatus, listing: HeldListing, filters: Seq[Expression], most: Int)
      : Seq[Double] = {
    val start = cpu()
    val index = loaded(file)
    val filter = FilterOnFiles.compile(filters, table, index, caseSensitive = false)
    val compiled = cpu()
    filter.byEntries.foreach(_.kept)
    val judged = cpu()
    val pruned =
      PrunedListing.of(ScanListing.of(listing, listing.directories.indices.toArray), Some(filter))
    val end = cpu()
    val kept = pruned.directories.map(_.files.size).sum
    require(kept > 0 && kept < most, s"$kept files kept")
    Seq(end - start, compiled - start, judged - compiled, end - judged).map(_ / 1e6)
  }

  private val parts = Seq("", ": compile", ": judge", ": match")

  private def rounds(name: String, n: Int)(one: => Seq[Double]): Seq[(String, Seq[Double])] = {
    // the first ones are for the compilers, which take some hundred queries
    val runs = (1 to n + 300).map(_ => one).drop(300)
    parts.zip(runs.transpose).map { case (part, numbers) => s"$name$part" -> numbers }
  }

  /** The filter of a query on a listing that Spark has just made, and on one that it holds. */
  private def filter(file: FileStatus, files: Int): Seq[(String, Seq[Double])] = {
    val n = 15
    val four = predicates(files)
    val ranges = Seq(manyRanges(files))
    val statuses = listing(files)
    val (one, other) = (held(statuses), held(listing(files)))
    // the first query on a listing finds the entries of its files
    val first = (1 to 5).map(_ => query(file, held(statuses), four, files / 100))
    val entries = one.entriesIn(
      FilterOnFiles.compile(four, table, loaded(file), caseSensitive = false).byEntries.get)
    parts.zip(first.transpose).map { case (part, numbers) => s"new listing$part" -> numbers } ++
      rounds("held listing", n)(query(file, one, four, files / 100)) ++
      rounds("two sessions", n) {
        query(file, other, four, files / 100)
        query(file, one, four, files / 100)
      } ++
      rounds("1000 ranges", 5)(query(file, one, ranges, files)) ++
      Seq("heap of a held listing" -> Seq(entries.bytes.toDouble / files))
  }

  /**
   * What the record of the workload adds to a scan: the first one of an index, further ones, and those
   * with many keys of a join.
   */
  private def note(file: FileStatus, files: Int): Seq[(String, Seq[Double])] = {
    def one(filters: Seq[Expression]): () => Double = {
      val filter = FilterOnFiles.compile(filters, table, loaded(file), caseSensitive = false)
      () =>
        time(WorkloadCapture.note(
          root,
          conf,
          NotedFilters.of(Seq(filter)),
          ExcludedColumns.none,
          None,
          None,
          1.0))._2
    }
    val four = one(predicates(files))
    val first = (1 to 20).map { _ =>
      WorkloadCapture.clear()
      four()
    }.drop(15)
    val keys = one(Seq(InSet(attributes.head, (0 until 10000).map(_ * 97L).toSet[Any])))
    for (_ <- 1 to 2000) four()
    val further = (1 to 15).map(_ => four())
    for (_ <- 1 to 300) keys()
    val ofKeys = (1 to 15).map(_ => keys())
    WorkloadCapture.clear()
    Seq("first note" -> first, "note" -> further, "note of 10000 keys" -> ofKeys)
  }

  /** 1,000 ranges of the column whose values have no order in the files. */
  private def manyRanges(files: Int): Expression = {
    val day = attributes(2)
    (0 until 1000).map { i =>
      And(
        GreaterThanOrEqual(day, Literal(i * 3, DateType)),
        LessThanOrEqual(day, Literal(i * 3 + (files & 1), DateType))): Expression
    }.reduce(Or)
  }

  // time of this thread, so that what else the machine does counts less
  private def cpu(): Long =
    java.lang.management.ManagementFactory.getThreadMXBean.getCurrentThreadCpuTime

  private def time[T](body: => T): (T, Double) = {
    val start = cpu()
    val result = body
    result -> (cpu() - start) / 1e6
  }
}
