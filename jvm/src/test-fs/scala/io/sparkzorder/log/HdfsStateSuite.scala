// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.nio.file.Files
import java.util.concurrent.{Callable, CountDownLatch, Executors}

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileContext, Options, Path}
import org.scalatest.{Args, Status}
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.filesystems.HdfsCluster
import io.sparkzorder.log.publish.Publisher
import io.sparkzorder.util.{ExclusiveFile, Paths}

/** What the protocol takes for granted of a file system, asked of HDFS, many at once. */
class HdfsStateSuite extends AnyFunSuite {
  private var cluster: HdfsCluster = _
  private var tables = 0
  private val threads = 6
  private val run = "00000000-0000-4000-8000-000000000001"

  override def run(testName: Option[String], args: Args): Status = {
    cluster = new HdfsCluster(Files.createTempDirectory("zorder-hdfs").toFile)
    try HdfsCluster.as(HdfsCluster.alice)(super.run(testName, args))
    finally cluster.close()
  }

  private val conf = new Configuration()

  /** A table directory, and its state as several clients see it. */
  private def withStates(body: (Path, Seq[StateDirectory]) => Unit): Unit = {
    tables += 1
    val dir = new Path(s"${cluster.uri}/user/alice/state$tables")
    // a client of its own for each, as in applications of their own
    val clients = Seq.fill(threads) {
      val own = new Configuration()
      own.setBoolean("fs.hdfs.impl.disable.cache", true)
      new StateDirectory(dir, own)
    }
    clients.head.create()
    body(dir, clients)
  }

  /** Runs all at once; the results in their order. */
  private def atOnce[T](bodies: Seq[() => T]): Seq[Try[T]] = {
    val pool = Executors.newFixedThreadPool(bodies.size)
    val start = new CountDownLatch(1)
    try {
      val running = bodies.map { body =>
        pool.submit(new Callable[Try[T]] {
          override def call(): Try[T] = {
            start.await()
            Try(body())
          }
        })
      }
      start.countDown()
      running.map(_.get())
    } finally pool.shutdown()
  }

  private def names(dir: Path): Set[String] =
    cluster.superuser.listStatus(dir).map(_.getPath.getName).toSet

  private def put(state: StateDirectory, path: Path, text: String): Unit = {
    val out = state.fs.create(path)
    out.write(text.getBytes("UTF-8"))
    out.close()
  }

  private def text(path: Path): String = {
    val in = cluster.superuser.open(path)
    try new String(org.apache.commons.io.IOUtils.toByteArray(in), "UTF-8")
    finally in.close()
  }

  test("of many clients exactly one creates a record, and it has its whole content") {
    withStates { (_, states) =>
      for (number <- 1L to 30L) {
        val tries = atOnce(states.zipWithIndex.map { case (s, i) =>
          () => {
            val content = (s"$i" * 1000).getBytes("UTF-8")
            ExclusiveFile.create(s.fs, s.record(number), s"run$i", content, conf)
          }
        })
        assert(tries.map(_.get).count(identity) === 1, tries)
        assert(text(states.head.record(number)) === s"${tries.indexWhere(_.get)}" * 1000)
      }
      val records = names(states.head.record(1).getParent)
      assert(records === (1 to 30).map("_" + _).toSet)
    }
  }

  test("a mark that many make at once is no error for any of them") {
    withStates { (dir, states) =>
      for (round <- 1 to 30) {
        val mark = new Path(dir, s"_mark$round")
        val content = if (round % 2 == 0) "a run" else ""
        val tries = atOnce(states.map(s =>
          () =>
            ExclusiveFile.write(s.fs, mark, content.getBytes("UTF-8"))))
        tries.foreach(t => assert(t.isSuccess, t))
        assert(text(mark) === content)
      }
    }
    withStates((_, states) => atOnce(states.map(s => () => s.create())).foreach(_.get))
  }

  test("renames: never onto a file, never into a missing directory; times stay") {
    withStates { (dir, states) =>
      val fs = states.head.fs
      val (one, two) = (new Path(dir, "one"), new Path(dir, "two"))
      put(states.head, one, "1")
      put(states.head, two, "2")
      assert(!fs.rename(one, two))
      intercept[FileAlreadyExistsException](
        FileContext.getFileContext(dir.toUri, conf).rename(one, two, Options.Rename.NONE))
      assert(!Try(fs.rename(one, new Path(dir, "missing/one"))).getOrElse(false))
      assert((text(one), text(two)) === (("1", "2")))
      fs.setTimes(one, 123456789L, -1L)
      assert(fs.rename(one, new Path(dir, "three")))
      assert(fs.getFileStatus(new Path(dir, "three")).getModificationTime === 123456789L)
    }
  }

  /** A committed run that replaces two files by two in each of three folders. */
  private def committed(dir: Path, state: StateDirectory): Record = {
    val changes = Seq("", "p=1", "p=größe x").map { folder =>
      val path = Paths.folder(dir, folder)
      val replaced = Seq("old1", "old2").map { name =>
        put(state, new Path(path, name), s"$folder $name")
        val s = state.fs.getFileStatus(new Path(path, name))
        Replaced(name, s.getLen, s.getModificationTime, s"_old_$name")
      }
      put(state, new Path(state.own(folder, run), "_waiting"), "")
      val added = Seq("new1", "new2").map { name =>
        val staged = s"_new_$name"
        put(state, new Path(state.own(folder, run), staged), s"$folder $name")
        Added(staged, name, s"$folder $name".getBytes("UTF-8").length.toLong, 1L)
      }
      FolderChange(folder, replaced, added)
    }
    val record = Record(
      Record.Version,
      Record.Optimize,
      run,
      1L,
      "me",
      Seq("a"),
      5000L,
      changes,
      suffix = ".parquet")
    assert(state.createRecord(1L, record))
    record
  }

  test("several publish one run at once") {
    for (round <- 1 to 10) withStates { (dir, states) =>
      val record = committed(dir, states.head)
      val tries = atOnce(states.map(s => () => new Publisher(s).publish(1L, record)))
      tries.foreach(t => assert(t.isSuccess, s"round $round: $t"))
      for (change <- record.changes) {
        val folder = Paths.folder(dir, change.folder)
        val data = names(folder).filterNot(n => n.startsWith("_") || n.startsWith("p="))
        assert(data === Set("new1", "new2"), s"round $round")
        assert(text(new Path(folder, "new1")) === s"${change.folder} new1")
        assert(names(states.head.own(change.folder, run)) === Set(
          "_finished",
          "_old_old1",
          "_old_old2"))
      }
      assert(states.head.isDone(1L))
    }
  }

  test("a rename that is done is found done, whoever did it") {
    withStates { (dir, states) =>
      val record = committed(dir, states.head)
      new Publisher(states.head).publish(1L, record)
      val after = states.map(s => Try(new Publisher(s).publish(1L, record)))
      after.foreach(_.get)
      assert(TableLog.read(states.last).unfinished.asJava.isEmpty)
    }
  }
}
