// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.util.concurrent.{Callable, CountDownLatch, Executors}
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.{Abortable, FSDataOutputStream, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

import io.sparkzorder.{FaultyFileSystem, StoreFileSystem}
import io.sparkzorder.log.StateTestBase

class ExclusiveFileSuite extends StateTestBase {

  test("of many threads exactly one creates the file, and it has its whole content") {
    // on the scheme `faulty`, Hadoop checks and renames in two steps, so this race is run on local
    // disk only
    val threads = 8
    val pool = Executors.newFixedThreadPool(threads)
    try withTable { (dir, state) =>
        state.create()
        for (round <- 1 to 50) {
          val start = new CountDownLatch(1)
          val tries = (0 until threads).map { t =>
            new Callable[Boolean] {
              override def call(): Boolean = {
                start.await()
                val content = (s"$t" * 1000).getBytes("UTF-8")
                ExclusiveFile.create(state.fs, state.record(round.toLong), s"run$t", content, conf)
              }
            }
          }
          val running = tries.map(t => pool.submit(t))
          start.countDown()
          val won = running.map(_.get())
          assert(won.count(identity) === 1)
          assert(text(dir, s"_zorder/_commits/_$round") === s"${won.indexOf(true)}" * 1000)
        }
        val left = new java.io.File(dir, "_zorder/_commits").list().toSeq
        assert(left.toSet === (1 to 50).map("_" + _).toSet)
      }
    finally pool.shutdown()
  }

  test("by rename without overwrite on other file systems") {
    withScheme("faulty") { (dir, state) =>
      state.create()
      val path = new Path(state.home, "_commits/_1")
      assert(ExclusiveFile.create(state.fs, path, "a", "one".getBytes, conf))
      assert(!ExclusiveFile.create(state.fs, path, "b", "two".getBytes, conf))
      assert(text(dir, "_zorder/_commits/_1") === "one")
      assert(new java.io.File(dir, "_zorder/_commits").list().toSeq === Seq("_1"))
    }
  }

  test("on S3, by a client that cannot send a condition, as Spark 3.5 and 4.0 have it") {
    withTable { (_, state) =>
      state.create()
      val s3 = new ExclusiveFileSuite.OldS3
      s3.initialize(java.net.URI.create("s3a:///"), conf)
      val path = new Path(s3.getUri.toString + new Path(state.home, "one").toUri.getPath)
      assert(ExclusiveFile.create(s3, path, "a", "one".getBytes, conf))
      assert(!ExclusiveFile.create(s3, path, "b", "two".getBytes, conf))
      assert(ObjectStore.whyUnsafe(s3, path.getParent).isDefined)
    }
  }

  /** A store that opens a new writer by `open`, which gets the writer of [[StoreFileSystem]]. */
  private class OpeningStore(open: (=> FSDataOutputStream) => FSDataOutputStream)
      extends StoreFileSystem {
    initialize(java.net.URI.create("gs:///"), conf)
    override def create(
        path: Path,
        overwrite: Boolean,
        bufferSize: Int,
        replication: Short,
        blockSize: Long,
        progress: Progressable): FSDataOutputStream =
      open(super.create(path, overwrite, bufferSize, replication, blockSize, progress))
  }

  /** A store in which the given request for a new writer fails, if there is one. */
  private def store(failing: Option[Int] = None): StoreFileSystem = {
    val opened = new AtomicInteger
    new OpeningStore(writer =>
      if (failing.contains(opened.getAndIncrement())) throw new java.io.IOException("503 SlowDown")
      else writer)
  }

  test("the trial of a store: a failure that is no refusal tells nothing about the store") {
    withTable { (dir, _) =>
      val directory = new Path(s"gs:$dir")
      assert(ObjectStore.whyUnsafe(store(), directory) === None)
      for (lies <- Seq(true, false)) {
        StoreFileSystem.lies = lies
        try {
          // the second writer is answered 503, or its connection is reset
          FaultyFileSystem.failing(1)((o, _) => o == "put") {
            intercept[FaultyFileSystem.Injected](ObjectStore.whyUnsafe(store(), directory))
          }
          for (k <- 0 to 1) {
            val e = intercept[java.io.IOException](
              ObjectStore.whyUnsafe(store(failing = Some(k)), directory))
            assert(e.getMessage === "503 SlowDown")
          }
          assert(ObjectStore.whyUnsafe(store(), directory).isDefined === lies)
        } finally StoreFileSystem.lies = false
      }
      assert(Option(dir.list).toSeq.flatten === Nil)
    }
  }

  test("the trial of a store leaves no writer open") {
    val left = new AtomicInteger
    class Writer extends java.io.OutputStream with Abortable {
      private var isOpen = true
      private def end(): Unit = if (isOpen) {
        isOpen = false
        val _ = left.decrementAndGet()
      }
      override def write(b: Int): Unit = ()
      override def close(): Unit = end()
      override def abort(): Abortable.AbortableResult = {
        end()
        null
      }
    }
    def opened() = {
      val _ = left.incrementAndGet()
      new FSDataOutputStream(new Writer, null)
    }
    def store(isThere: => Boolean) = new OpeningStore(_ => opened()) {
      override def exists(path: Path): Boolean = isThere
    }
    withTable { (dir, _) =>
      val directory = new Path(s"gs:$dir")
      assert(ObjectStore.whyUnsafe(store(isThere = true), directory).get.contains("complete"))
      assert(left.get === 0)
      intercept[java.io.IOException](
        ObjectStore.whyUnsafe(store(throw new java.io.IOException("503 SlowDown")), directory))
      assert(left.get === 0)
    }
  }

  test("how the clients of stores report that an object exists") {
    def caused(by: Throwable) =
      new java.io.IOException("Upload failed", new RuntimeException(by))
    for (status <- Seq(409, 412)) {
      assert(StoreAnswer.isRefusal(new ExclusiveFileSuite.OfS3(status)))
      assert(StoreAnswer.isRefusal(caused(new ExclusiveFileSuite.OfGcs(status))))
    }
    assert(StoreAnswer.isRefusal(new ExclusiveFileSuite.RemoteFileChangedException))
    assert(StoreAnswer.isRefusal(caused(new ExclusiveFileSuite.RemoteFileChangedException)))
    assert(StoreAnswer.isRefusal(new org.apache.hadoop.fs.FileAlreadyExistsException("of ABFS")))
    assert(StoreAnswer.isRefusal(new java.nio.file.FileAlreadyExistsException("x")))
    for (status <- Seq(403, 404, 500, 503)) {
      assert(!StoreAnswer.isRefusal(new ExclusiveFileSuite.OfS3(status)))
      assert(!StoreAnswer.isRefusal(caused(new ExclusiveFileSuite.OfGcs(status))))
    }
    assert(!StoreAnswer.isRefusal(new java.io.IOException("Connection reset, request 412")))
  }

  test("how the clients of stores report that the user has no permission") {
    def caused(status: Int) = new java.io.IOException(
      "Error accessing gs://b/t",
      new RuntimeException(new ExclusiveFileSuite.OfGcs(status)))
    assert(Directories.isDenied(caused(403)))
    assert(!Directories.isDenied(new java.io.IOException("rateLimitExceeded", caused(403))))
    assert(!Seq(401, 404, 412, 500, 503).exists(status => Directories.isDenied(caused(status))))
    assert(!Directories.isDenied(new java.io.IOException("Error 403")))
  }

  test("no checksum files") {
    withTable { (dir, state) =>
      state.create()
      ExclusiveFile.write(state.fs, new Path(state.home, "_x"), "1".getBytes)
      ExclusiveFile.write(state.fs, new Path(state.home, "_x"), "22".getBytes)
      assert(text(dir, "_zorder/_x") === "22")
      assert(new java.io.File(
        dir,
        "_zorder").list().toSet === Set("_commits", "_runs", "_README", "_x"))
    }
  }

  test("a failure to write the temporary file leaves no record") {
    withScheme("faulty") { (dir, state) =>
      state.create()
      val (_, failed) = io.sparkzorder.FaultyFileSystem.failing(0)((o, _) => o == "rename") {
        intercept[java.io.IOException](
          ExclusiveFile.create(state.fs, state.record(1), "a", "one".getBytes, conf))
      }
      assert(failed)
      assert(new java.io.File(dir, "_zorder/_commits").list().toSeq.asJava.isEmpty)
    }
  }

  test("a content that cannot be written is an error, and no empty record") {
    withScheme("faulty") { (dir, state) =>
      state.create()
      // as with a quota: the file can be created, but there is no space for its content
      class Full extends java.io.IOException("no room")
      val full = new io.sparkzorder.FaultyFileSystem {
        override def createNonRecursive(
            path: Path,
            permission: FsPermission,
            overwrite: Boolean,
            bufferSize: Int,
            replication: Short,
            blockSize: Long,
            progress: Progressable): FSDataOutputStream = {
          super.create(path, overwrite).close()
          throw new Full
        }
      }
      full.initialize(state.fs.getUri, conf)
      intercept[Full](ExclusiveFile.create(full, state.record(1), "a", "one".getBytes, conf))
      intercept[Full](ExclusiveFile.write(full, new Path(state.home, "_x"), "1".getBytes))
      assert(new java.io.File(dir, "_zorder/_commits").list().toSeq === Nil)
    }
  }
}

private object ExclusiveFileSuite {

  /** S3 as local files. */
  class OldS3 extends RawLocalFileSystem {
    override def getUri: java.net.URI = java.net.URI.create("s3a:///")
    override def getScheme: String = "s3a"
  }

  class RemoteFileChangedException extends java.io.IOException("of S3A, for 412")

  class OfS3(val statusCode: Int) extends java.io.IOException(s"AWSServiceIOException: $statusCode")

  class OfGcs(status: Int) extends RuntimeException(s"GoogleJsonResponseException: $status") {
    def getStatusCode: Int = status
  }
}
