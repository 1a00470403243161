// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import scala.util.Try

import org.apache.commons.io.FileUtils
import org.apache.hadoop.fs.Path

import org.apache.spark.SparkConf
import org.apache.spark.sql.Row

import io.sparkzorder.FaultyFileSystem

/** Tables on a file system that fails, or does something else, when a test wants it. */
trait FaultyTables extends OptimizeTestBase {

  override protected def sparkConf: SparkConf = {
    val conf = super.sparkConf.set("spark.zorder.inPlaceSchemes", "file,faulty")
    FaultyFileSystem.settings.foreach { case (k, v) => conf.set(k, v) }
    conf
  }

  def faulty(dir: File): String = s"'faulty://${dir.getAbsolutePath}'"

  /** OPTIMIZE of a directory through the file system that fails. */
  def statement(dir: File, more: String = ""): String =
    s"OPTIMIZE ${faulty(dir)} ZORDER BY (a, b) $more OPTIONS (${sizeFor(dir, 4)})"

  /** A copy of a table, `_zorder` and modification times included. */
  def withCopy[T](dir: File)(body: File => T): T = {
    val copy = new File(dir.getParentFile, s"copy-${FaultyTables.copies.incrementAndGet()}")
    FileUtils.copyDirectory(dir, copy, true)
    try body(copy)
    finally FileUtils.deleteDirectory(copy)
  }

  /** Runs what dies before the `k`-th operation that matches: that and everything later fails. */
  def killedAt[T](k: Int)(matches: (String, Path) => Boolean)(body: => T): (Try[T], Boolean) = {
    val seen = new AtomicInteger
    val result = FaultyFileSystem.withHook { (operation, path) =>
      if (seen.get > k || (matches(operation, path) && seen.getAndIncrement() >= k)) {
        throw new FaultyFileSystem.Injected(s"$operation $path")
      }
    }(Try(body))
    (result, seen.get > k)
  }

  /** Runs a statement on a faulty path, and something else once, when an operation matches. */
  def meanwhile[T](matches: (String, Path) => Boolean)(change: => Unit)(body: => T): T = {
    val once = new AtomicBoolean
    val result = FaultyFileSystem.withHook { (operation, path) =>
      if (matches(operation, path) && once.compareAndSet(false, true)) change
    }(body)
    assert(once.get, "the hook did not run")
    result
  }

  /** True for a rename by which a committed run is published. */
  def isPublishing(operation: String, path: Path): Boolean =
    operation == "rename" && path.getName != "_waiting" &&
      !Seq("_commits", "_runs", "_index", "_grid", "_trial").exists(path.toString.contains)

  /** True when OPTIMIZE lists its inputs again, just before it commits. */
  def relisting(dir: File)(operation: String, path: Path): Boolean =
    operation == "list" && s"${path.toUri.getPath}/".startsWith(s"${dir.getAbsolutePath}/") &&
      !path.toUri.getPath.contains("/_zorder") && hidden(dir, "_new_").nonEmpty

  /** The data files with modification times and digests. */
  def live(dir: File): Map[String, (Long, String)] =
    userFiles(dir).filter { case (path, _) =>
      path.endsWith(".parquet") && !path.contains("/.") &&
      !path.startsWith(".")
    }

  def one(statement: String): Row = {
    val rows = sql(statement).collect()
    assert(rows.length === 1)
    rows.head
  }

  /** Lets some hours pass since each run of a table was made and published. */
  def longAgo(dir: File, hours: Int): Unit = {
    val past = System.currentTimeMillis() - hours * 3600000L
    new File(dir, "_zorder/_commits").listFiles.foreach { f =>
      if (f.getName.matches("_\\d+")) {
        val record = new String(Files.readAllBytes(f.toPath), UTF_8)
        Files.write(
          f.toPath,
          record.replaceFirst("\"createdMs\":\\d+", "\"createdMs\":" + past).getBytes(UTF_8))
      }
      assert(f.setLastModified(past))
    }
  }

  def under(dir: File, path: String): Seq[String] =
    Option(new File(dir, s"_zorder/$path").list).toSeq.flatten.sorted

  /** The bag of two tables together. */
  def sum(a: Map[Any, Int], b: Map[Any, Int]): Map[Any, Int] =
    (a.keySet ++ b.keySet).map(k => k -> (a.getOrElse(k, 0) + b.getOrElse(k, 0))).toMap
}

private object FaultyTables {
  val copies = new AtomicInteger
}
