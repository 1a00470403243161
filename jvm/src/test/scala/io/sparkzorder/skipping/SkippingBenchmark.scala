package io.sparkzorder.skipping

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.sparkzorder.index.{
  DateLeaf,
  DoubleLeaf,
  FileEntry,
  Generation,
  IndexCache,
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
import io.sparkzorder.skipping.predicate.{FilterOnFiles, TableColumns}
import io.sparkzorder.table.stats.ColumnStats

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
        "load" -> (1 to 5).map(_ => load(file)),
        "heap" -> Seq(IndexCache.bytes.toDouble / files)) ++ filter(file, files)
    } finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  private def load(file: FileStatus): Double = {
    IndexCache.clear()
    val index = new LoadedIndex(root, Generation(file, ""), conf, Long.MaxValue)
    time {
      index.files
      index.indexed.indices.foreach(index.column)
    }._2
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

  /** The filter of a query on a listing that Spark has just made, and on one that it holds. */
  private def filter(file: FileStatus, files: Int): Seq[(String, Seq[Double])] = {
    val schema = StructType(attributes.map(a => StructField(a.name, a.dataType)))
    val table = new TableColumns(attributes, schema, new StructType(), _ == _)
    def query(statuses: Array[FileStatus]): Seq[Double] = {
      val start = cpu()
      val index = new LoadedIndex(root, Generation(file, ""), conf, Long.MaxValue)
      val keep = FilterOnFiles.compile(predicates(files), table, index, caseSensitive = false)
      val compiled = cpu()
      keep(statuses(0))
      val judged = cpu()
      val kept = statuses.filter(keep)
      val end = cpu()
      require(kept.length < files / 100, s"${kept.length} files kept")
      Seq(end - start, compiled - start, judged - compiled, end - judged).map(_ / 1e6)
    }
    def rounds(name: String, n: Int)(statuses: => Array[FileStatus]) = {
      // the first ones are for the compilers
      val runs = (1 to n + 10).map(_ => query(statuses)).drop(10)
      Seq("", ": compile", ": judge", ": match").zip(runs.transpose).map { case (part, numbers) =>
        s"$name$part" -> numbers
      }
    }
    val n = if (files > 200000) 5 else 15
    val held = listing(files)
    def again(s: FileStatus) =
      new FileStatus(s.getLen, false, 1, 1L, s.getModificationTime, s.getPath)
    rounds("new listing", n)(held.map(again)) ++ rounds("held listing", n)(held)
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
