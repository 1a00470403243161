package io.sparkzorder.skipping

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.sparkzorder.index._

/**
 * How long an index of many files takes to write, load and filter, and its memory: printed, as plain
 * numbers of this machine (processor time of one thread). Arguments: numbers of files. The JVM of tests
 * has the first compiler alone; in sbt,
 * `set spark41 / Test / javaOptions -= "-XX:TieredStopAtLevel=1"` gives the numbers of a driver.
 */
object SkippingBenchmark {
  private val root = new Path("file:/data/warehouse/sales")
  private val conf = new Configuration()

  def main(args: Array[String]): Unit =
    (if (args.isEmpty) Array("100000", "1000000") else args).foreach(n => measure(n.toInt))

  private val columns = Seq("id", "amount", "day", "name")

  private def entry(i: Int): FileEntry = {
    val leaves = Seq(
      LeafEntry(
        IndexedColumn(Seq("id"), IntegerLeaf(64)),
        0,
        Some((i * 10L, i * 10L + 500)),
        false),
      LeafEntry(
        IndexedColumn(Seq("amount"), DoubleLeaf),
        0,
        IndexValue.bounds(Double.box(i % 97), Double.box(i % 97 + 3d), DoubleLeaf),
        true),
      LeafEntry(IndexedColumn(Seq("day"), DateLeaf), 3, Some((i % 3650L, i % 3650L + 7)), false),
      LeafEntry(
        IndexedColumn(Seq("name"), StringLeaf),
        0,
        Some((f"customer-${i % 5000}%06d".getBytes, f"customer-${i % 5000 + 20}%06d".getBytes)),
        false))
    val name =
      f"day=${i / 100}%05d/part-${i % 100}%05d-6c5e9fd0-2b6c-4a3e-9d3a-1f0e5b7c8d9a-c000.snappy.parquet"
    FileEntry(name, 1000000L + i, 1700000000000L + i, 10000L, SkippingBenchmark.shape, leaves)
  }

  private val shape = FileShape(columns.map(Seq(_)))

  private def measure(files: Int): Unit = {
    println(s"\n$files files, ${columns.size} columns")
    val dir = Files.createTempDirectory("index").toFile
    try {
      new java.io.File(dir, "_zorder").mkdir()
      val store = new IndexStore(new Path(s"file:$dir"), conf)
      val content = IndexContent.concat(
        (0 until files).grouped(10000).map(g => IndexContent.of(g.map(entry))).toSeq)
      val file = time("write")(store.update(_ => (content, None)).get)
      println(f"  size in bytes a file: ${file.getLen.toDouble / files}%.1f")
      load(file, files)
      filter(file, files)
    } finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  private def load(file: FileStatus, files: Int): Unit = {
    for (round <- 1 to 3) {
      IndexCache.clear()
      val index = new LoadedIndex(root, file, conf, Long.MaxValue)
      time(s"load, round $round") {
        index.files
        index.indexed.indices.foreach(index.column)
      }
    }
    println(f"  heap in bytes a file: ${IndexCache.bytes.toDouble / files}%.1f")
  }

  private def filter(file: FileStatus, files: Int): Unit = {
    val attributes = Seq(
      AttributeReference("id", LongType)(),
      AttributeReference("amount", DoubleType)(),
      AttributeReference("day", DateType)(),
      AttributeReference("name", StringType)())
    val schema = StructType(attributes.map(a => StructField(a.name, a.dataType)))
    val tableColumns = new TableColumns(attributes, schema, new StructType(), _ == _)
    val Seq(id, amount, day, name) = attributes
    val predicate = Seq[Expression](
      GreaterThan(id, Literal(files * 5L)),
      LessThan(amount, Literal(50d)),
      EqualTo(day, Literal(1000, DateType)),
      GreaterThanOrEqual(name, Literal("customer-002500")))
    val statuses = (0 until files).map { i =>
      val e = entry(i)
      val s = new FileStatus(e.length, false, 1, 1L, e.modified, new Path(root, e.path))
      // as Spark's listing has done
      s.getPath.hashCode
      s
    }.toArray
    for (round <- 1 to 12) {
      val index = new LoadedIndex(root, file, conf, Long.MaxValue)
      var kept = 0
      val start = cpu()
      val keep = FilterOnFiles.compile(predicate, tableColumns, index, caseSensitive = false)
      val compiled = cpu()
      keep(statuses(0))
      val judged = cpu()
      statuses.foreach(s => if (keep(s)) kept += 1)
      val end = cpu()
      if (round % 4 == 0) {
        println(f"  filter, round $round%2d: compile ${(compiled - start) / 1e6}%.2f ms, " +
          f"judge ${(judged - compiled) / 1e6}%.2f ms, look up ${(end - judged) / 1e6}%.2f ms, " +
          f"kept $kept")
      }
    }
  }

  // time of this thread, so that what else the machine does counts less
  private def cpu(): Long =
    java.lang.management.ManagementFactory.getThreadMXBean.getCurrentThreadCpuTime

  private def time[T](what: String)(body: => T): T = {
    val start = cpu()
    val result = body
    println(f"  $what: ${(cpu() - start) / 1e6}%.1f ms")
    result
  }
}
