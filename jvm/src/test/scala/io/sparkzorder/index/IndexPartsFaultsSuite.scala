// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.{File, IOException}
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.{Random, Try}

import org.scalatest.tagobjects.Slow

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.errors.ZOrderException

/** Crashes, lost files, and several writers and readers at once. */
class IndexPartsFaultsSuite extends IndexPartsTestBase {

  test("a crash at each step leaves the index of before or after in force") {
    IndexParts.withoutSmall {
      var (k, more) = (0, true)
      while (more) {
        withRoot { (dir, store) =>
          val (a, b, c) = (
            entries(new Random(1), 0, 40),
            entries(new Random(2), 40, 3),
            entries(new Random(3), 50, 4))
          apply(store, a)
          apply(store, b)
          val reader = store.newest.get
          val (result, failed) =
            FaultyFileSystem.failing(k)((o, _) => o != "list" && o != "open")(Try(apply(
              store,
              c,
              Set(a.head.path))))
          more = failed
          val before = plain(IndexContent.of(a ++ b))
          val after = plain(IndexContent.of(a.tail ++ b ++ c))
          val now = plain(read(store))
          assert(now === after || (result.isFailure && now === before), s"step $k: $result")
          // who read the generation before can go on
          assert(plain(read(reader.file)) === before)
          // the next update does not stumble over what is left, and clears it away
          apply(store, c, Set(a.head.path))
          apply(store, entries(new Random(4), 60, 1))
          assert(plain(read(store)).size === 47)
          assert(names(dir).filterNot(_.startsWith("_tmp_")).size <= 6)
        }
        k += 1
      }
      assert(k > 3)
    }
  }

  test("an index that cannot be read at the moment is neither replaced nor cleared away") {
    IndexParts.withoutSmall {
      withRoot { (dir, store) =>
        apply(store, entries(new Random(1), 0, 40))
        apply(store, entries(new Random(2), 40, 3))
        val (before, there) = (plain(read(store)), names(dir))
        val errors = Seq[IOException](
          new org.apache.hadoop.security.AccessControlException("Permission denied"),
          new java.net.SocketTimeoutException("too late"),
          new java.net.ConnectException("refused"),
          // as a disk says that a file may not be read, or that its server has restarted
          new java.io.FileNotFoundException("_1 (Keine Berechtigung)"),
          new java.io.FileNotFoundException("_1 (Stale file handle)"),
          // as HDFS's BlockMissingException and the errors of S3A
          new IOException("no block") {},
          new IOException("Filesystem closed"))
        for (e <- errors; part <- Seq("_1", "_2")) {
          val thrown = intercept[ZOrderException](FaultyFileSystem.withHook { (operation, path) =>
            if (operation == "open" && path.getName == part) throw e
          }(apply(store, entries(new Random(3), 50, 4))))
          assert(thrown.getMessage.contains("ZORDER_STATE_UNREADABLE"))
          assert(names(dir) === there)
          assert(plain(read(store)) === before)
        }
        // without a part the rest is worth nothing
        assert(new File(dir, "_zorder/_index/_1").delete())
        apply(store, entries(new Random(3), 50, 4))
        assert(plain(read(store)).size === 4)
      }
    }
  }

  test("an index that is dropped while a generation is written is made again; just after it, it is gone") {
    withRoot { (dir, store) =>
      val (a, b) = (entries(new Random(1), 0, 40), entries(new Random(2), 40, 3))
      apply(store, a)
      // the first rename gives the new generation its name
      val once = new AtomicBoolean
      FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "rename" && path.getName == "_2" && once.compareAndSet(false, true)) {
          FaultyFileSystem.withoutHook(store.drop())
        }
      }(apply(store, b))
      assert(once.get)
      assert(plain(read(store)) === plain(IndexContent.of(b)))
      // the second listing is that of the clean-up
      var lists = -1
      val written = FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "rename" && path.getName == "_2") lists = 0
        if (operation == "list" && path.getName == "_index" && lists >= 0) {
          lists += 1
          if (lists == 2) FaultyFileSystem.withoutHook(store.drop())
        }
      }(apply(store, a))
      assert(lists >= 2)
      assert(written.getPath.getName === "_2")
      assert(!store.exists)
      assert(org.apache.commons.io.FileUtils.deleteQuietly(new File(dir, "_zorder")))
      val lost = intercept[ZOrderException](apply(store, a))
      assert(lost.getMessage.contains("ZORDER_STATE_LOST"))
      assert(!new File(dir, "_zorder").exists())
    }
  }

  test("writers at once: everybody's files are there, and no part is missing") {
    IndexParts.withoutSmall {
      withRoot { (_, store) =>
        apply(store, entries(new Random(1), 0, 50))
        val added = (0 until 8).map(i => entries(new Random(i), 100 + 10 * i, 3))
        val threads = added.map(e => new Thread(() => { val _ = apply(store, e) }))
        threads.foreach(_.start())
        threads.foreach(_.join())
        val paths = read(store).files
        assert((0 until paths.size).map(paths.path).toSet.size === 50 + 24)
      }
    }
  }

  for ((rounds, tags) <- Seq(2 -> Nil, 6 -> Seq(Slow))) test(
    s"a session that reads while others update and drop: an index of some moment, or none; $rounds rounds",
    tags: _*) {
    IndexParts.withoutSmall {
      withRoot { (dir, store) =>
        val stop = new AtomicBoolean
        val writer = new Thread(() =>
          try {
            for (round <- 1 to rounds) {
              apply(store, entries(new Random(round), 0, 40))
              (1 to 15).foreach(i =>
                apply(store, entries(new Random(i), 100 * i, 2), Set(s"p=${i % 3}/part-$i")))
              store.drop()
            }
          } finally stop.set(true))
        writer.start()
        var (whole, failed) = (0, 0)
        while (!stop.get) {
          Try(storeOf(dir).newest.map { g =>
            val c = new LoadedIndex(store.root, g, conf, 0L)
            val files = c.table
            c.indexed.indices.foreach(n => assert(c.column(n).nulls.length === files.size))
            (0 until files.size).count(files.isLive)
          }) match {
            // 40, then 2 more and 1 less with each step
            case scala.util.Success(Some(n)) => assert(n >= 40 && n <= 55); whole += 1
            case scala.util.Success(None) => failed += 1
            case scala.util.Failure(_: IOException | _: RuntimeException) => failed += 1
            case scala.util.Failure(e) => throw e
          }
        }
        writer.join()
        assert(whole > 0)
        info(s"$whole whole, $failed without an index")
      }
    }
  }

  test("a part that was replaced or lost is an error of reading; an update starts anew") {
    IndexParts.withoutSmall {
      withRoot { (dir, store) =>
        apply(store, entries(new Random(1), 0, 40))
        val file = apply(store, entries(new Random(2), 40, 2))
        val base = new File(dir, "_zorder/_index/_1").toPath
        val bytes = Files.readAllBytes(base)
        withRoot { (other, foreign) =>
          apply(foreign, entries(new Random(1), 0, 40))
          Files.copy(
            new File(other, "_zorder/_index/_1").toPath,
            base,
            java.nio.file.StandardCopyOption.REPLACE_EXISTING)
        }
        intercept[IOException](read(file))
        Files.delete(base)
        intercept[IOException](read(file))
        Files.write(base, bytes)
        assert(read(file).files.size === 42)
        Files.delete(base)
        assert(sizes(apply(store, entries(new Random(3), 50, 2))) === Seq(2))
      }
    }
  }
}
