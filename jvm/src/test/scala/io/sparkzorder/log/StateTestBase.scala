// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.File
import java.nio.file.Files
import java.util.UUID

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.SparkThrowable

import io.sparkzorder.{CountingFileSystem, FaultyFileSystem, TestConditions}
import io.sparkzorder.util.Json

/** A table directory with small files of known content, without Spark. */
abstract class StateTestBase extends AnyFunSuite {
  val conf: Configuration = new Configuration()
  conf.set("fs.faulty.impl", classOf[FaultyFileSystem].getName)
  conf.set("fs.counting.impl", classOf[CountingFileSystem].getName)
  conf.set(
    "fs.AbstractFileSystem.faulty.impl",
    classOf[io.sparkzorder.FaultyAbstractFileSystem].getName)

  /** Id of a run that the test calls `name`. */
  def id(name: String): String = UUID.nameUUIDFromBytes(name.getBytes("UTF-8")).toString

  /** Of the run that most tests have. */
  val run: String = id("run")

  def withTable(body: (File, StateDirectory) => Unit): Unit = withScheme("file")(body)

  def withScheme(scheme: String)(body: (File, StateDirectory) => Unit): Unit = {
    val dir = Files.createTempDirectory("zorder-state").toFile
    try body(dir, stateOf(dir, scheme))
    finally delete(dir)
  }

  def stateOf(dir: File, scheme: String = "file"): StateDirectory =
    new StateDirectory(new Path(s"$scheme:${dir.getAbsolutePath}"), conf)

  /** True for an operation of `FaultyFileSystem` that changes something. */
  protected def isChange(operation: String): Boolean = operation != "list" && operation != "open"

  /** Runs `body` with `change` before its `k`-th change. False if `body` makes fewer changes. */
  protected def withChangeBefore(k: Int)(change: => Unit)(body: => Unit): Boolean = {
    var n = 0
    FaultyFileSystem.withHook { (operation, _) =>
      if (isChange(operation)) {
        if (n == k) change
        n += 1
      }
    }(Try(body))
    n > k
  }

  private def delete(f: File): Unit = {
    Option(f.listFiles).toSeq.flatten.foreach(delete)
    f.delete()
  }

  def put(dir: File, name: String, content: String): File = {
    val f = new File(dir, name)
    f.getParentFile.mkdirs()
    Files.write(f.toPath, content.getBytes("UTF-8"))
    f
  }

  def text(dir: File, name: String): String =
    new String(Files.readAllBytes(new File(dir, name).toPath), "UTF-8")

  /** The numbers of all records, ascending. */
  def numbers(state: StateDirectory): Seq[Long] =
    new CommitLogReader(state).ids().records.map(_._1.number)

  /** Names of the files that a reader sees, by folder. */
  def visible(dir: File, folder: String = ""): Set[String] = {
    val d = if (folder.isEmpty) dir else new File(dir, folder)
    Option(d.listFiles).toSeq.flatten.filter(_.isFile).map(_.getName)
      .filterNot(n => n.startsWith("_") || n.startsWith(".")).toSet
  }

  /**
   * A run called `name` that replaces `old` by `added` in each folder; the old files are in the table
   * and the new ones hidden beside them.
   */
  def stage(
      dir: File,
      state: StateDirectory,
      name: String,
      folders: Map[String, (Seq[String], Seq[String])]): Record = {
    state.create()
    val run = id(name)
    val intent = Json.mapper.writeValueAsString(Intent(run, folders.keys.toSeq))
    put(dir, s"_zorder/_runs/_$run", intent)
    var n = 0
    val changes = folders.toSeq.sortBy(_._1).map { case (folder, (old, added)) =>
      val replaced = old.zipWithIndex.map { case (name, i) =>
        val path = if (folder.isEmpty) name else s"$folder/$name"
        val f =
          if (new File(dir, path).exists()) new File(dir, path) else put(dir, path, s"old $path")
        n += 1
        Replaced(name, f.length, f.lastModified, s"_old_$i")
      }
      val own = if (folder.isEmpty) s"_zorder_$run" else s"$folder/_zorder_$run"
      put(dir, s"$own/_waiting", "")
      FolderChange(
        folder,
        replaced,
        added.map { name =>
          n += 1
          put(dir, s"$own/_new_$n", s"new $name")
          Added(s"_new_$n", name, s"new $name".length.toLong, 1L)
        })
    }
    Record(
      Record.Version,
      Record.Optimize,
      run,
      1000L,
      "me",
      Seq("a"),
      5000L,
      changes,
      suffix = ".parquet")
  }

  def fails(condition: String, words: String*)(body: => Any): Unit = {
    val e = intercept[Exception](body)
    e match {
      case s: SparkThrowable => assert(TestConditions.of(s) === condition)
      case other => fail(s"not a condition: $other", other)
    }
    words.foreach(w => assert(e.getMessage.contains(w)))
  }
}
