// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.{File, PrintWriter}
import java.nio.file.Files
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.{FileStatus, FSDataInputStream, Path}
import org.scalatest.DoNotDiscover

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.StateTestBase

/** The test file system, which besides sees each look at the status of one file. */
class CountingFileSystem extends FaultyFileSystem {
  override protected def hasOwners: Boolean = false

  // Hadoop's local file system looks at each file that it lists
  private val inside = ThreadLocal.withInitial[java.lang.Boolean](() => false)

  private def within[T](body: => T): T =
    if (inside.get) body
    else {
      inside.set(true)
      try body
      finally inside.set(false)
    }

  override def getFileStatus(path: Path): FileStatus = {
    if (!inside.get) FaultyFileSystem.before("status", path)
    within(super.getFileStatus(path))
  }
  override def listStatus(path: Path): Array[FileStatus] = within(super.listStatus(path))
  override def rename(from: Path, to: Path): Boolean = within(super.rename(from, to))
  override def mkdirs(path: Path): Boolean = within(super.mkdirs(path))
  override def delete(path: Path, all: Boolean): Boolean = within(super.delete(path, all))
  override def open(path: Path, size: Int): FSDataInputStream = within(super.open(path, size))
}

/** A committed run over tiny files, and what publishing it takes. */
@DoNotDiscover
private final class PublishedTable extends StateTestBase {
  conf.set("fs.faulty.impl", classOf[CountingFileSystem].getName)

  def measure(scheme: String, pauseMs: Long, files: Int, folders: Int): PublishCost = {
    var cost: PublishCost = null
    withScheme(scheme) { (dir, state) =>
      val each = files / folders
      val names =
        (0 until each).map(i => s"a$i") -> (0 until math.max(1, each / 10)).map(i => s"n$i")
      val record = stage(dir, state, "run", (0 until folders).map(f => s"p=$f" -> names).toMap)
      assert(state.createRecord(1, record))
      val watch = new RenameWatch(pauseMs)
      val begun = System.nanoTime()
      FaultyFileSystem.withHook(watch.see(_, _))(new Publisher(state).publish(1, record))
      val millis = (System.nanoTime() - begun) / 1000000L
      assert(state.isDone(1) && visible(dir, "p=0") == names._2.toSet)
      cost = PublishCost(
        if (scheme == "file") "local disk" else s"$pauseMs ms a call",
        files,
        folders,
        watch.calls,
        millis,
        pauseMs,
        watch.gaps)
    }
    cost
  }
}

/** Counts calls, delays them, and notes per folder when files leave it and when others appear. */
private final class RenameWatch(pauseMs: Long) {
  private val count = new AtomicInteger
  private val left = new ConcurrentHashMap[Path, AtomicLong]
  private val back = new ConcurrentHashMap[Path, AtomicLong]

  def see(operation: String, path: Path): Unit = {
    count.incrementAndGet()
    val now = System.nanoTime()
    if (pauseMs > 0) Thread.sleep(pauseMs)
    if (operation == "rename") {
      val directory = path.getParent
      if (directory.getName.startsWith("_zorder_")) {
        note(left, directory.getParent, now)((a, b) => math.min(a, b))
      } else note(back, directory, System.nanoTime())((a, b) => math.max(a, b))
    }
  }

  private def note(to: ConcurrentHashMap[Path, AtomicLong], folder: Path, time: Long)(
      better: (Long, Long) => Long): Unit = {
    val _ = to.computeIfAbsent(folder, _ => new AtomicLong(time)).updateAndGet(t => better(t, time))
  }

  def calls: Int = count.get

  /** Milliseconds of each folder from the first file that leaves to the last that appears. */
  def gaps: Seq[Double] = left.asScala.toSeq.flatMap { case (folder, from) =>
    Option(back.get(folder)).map(to => (to.get - from.get) / 1e6)
  }.sorted
}

private final case class PublishCost(
    where: String,
    files: Int,
    folders: Int,
    calls: Int,
    millis: Long,
    pauseMs: Long,
    gaps: Seq[Double]) {

  private def seconds(ms: Double) = f"${ms / 1000}%.1f"

  def row: String = {
    val alone = if (pauseMs > 0) seconds(calls.toDouble * pauseMs) else ""
    val faster = if (pauseMs > 0) f"${calls.toDouble * pauseMs / millis}%.1f" else ""
    val (median, most) =
      if (gaps.isEmpty) ("", "") else (f"${gaps(gaps.size / 2)}%.0f", f"${gaps.last}%.0f")
    s"| $where | ${PublishCost.number(files)} | ${PublishCost.number(folders)} | " +
      s"${if (calls > 0) PublishCost.number(calls) else ""} | ${seconds(millis.toDouble)} | $alone | " +
      s"$faster | $median | $most |"
  }
}

private object PublishCost {
  def number(n: Int): String = f"$n%,d"

  val head: String =
    "| where | files | folders | calls | seconds | seconds one by one | times faster | " +
      "gap of a folder, median ms | longest |\n|---|---|---|---|---|---|---|---|---|"
}

/**
 * What publishing a run takes, by the number of files that it replaces and of their folders: on local
 * disk, and where each call to the file system takes 5 ms. The new files are a tenth. Prints a table;
 * `make bench-publish` runs it. Arguments: a file for the table, the largest and the smallest number of
 * files, and `file` for local disk alone.
 */
object PublishBenchmark {
  def main(args: Array[String]): Unit = {
    val most = args.lift(1).fold(100000)(_.toInt)
    val least = args.lift(2).fold(0)(_.toInt)
    val places = Seq("file" -> 0L, "faulty" -> 0L, "faulty" -> 5L)
    val sizes = for {
      files <- Seq(1000, 10000, 100000) if files >= least && files <= most
      folders <- Seq(1, 1000, 10000) if folders <= files
    } yield (files, folders)
    val table = new PublishedTable
    table.measure("file", 0L, 1000, 10)
    val rows = for {
      (scheme, pauseMs) <- places if args.lift(3).forall(_ == scheme)
      (files, folders) <- sizes
    } yield {
      val cost = table.measure(scheme, pauseMs, files, folders)
      println(cost.row)
      cost.row
    }
    args.headOption.foreach { name =>
      val file = new File(name).getAbsoluteFile
      Files.createDirectories(file.getParentFile.toPath)
      val out = new PrintWriter(file, "UTF-8")
      try for (row <- PublishCost.head +: rows) out.println(row)
      finally out.close()
    }
  }
}
