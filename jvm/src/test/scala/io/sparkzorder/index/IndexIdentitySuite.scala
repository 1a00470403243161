// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.File
import java.nio.file.Files
import java.nio.file.attribute.FileTime

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.index.WholeGenerations._
import io.sparkzorder.table.stats.ColumnStats

/** What was loaded of an index that was dropped speaks for no other index of the same path, length and time. */
class IndexIdentitySuite extends AnyFunSuite {
  private val conf = new Configuration()

  private def content(least: Long): IndexContent = IndexContent.of(Seq(FileEntry(
    "a.parquet",
    10L,
    20L,
    3L,
    LeafColumns(Seq(Seq("x"))),
    Seq(LeafEntry(
      IndexedColumn(Seq("x"), IntegerLeaf(64)),
      ColumnStats(0L, least, least + 1, known = true))))))

  private def least(index: LoadedIndex): Long = index.column(0).min match {
    case LongStats(values) => values.head
    case _ => fail("no bounds")
  }

  private def withRoot(body: File => Unit): Unit = {
    val dir = Files.createTempDirectory("zorder-index").toFile
    try {
      assert(new File(dir, "_zorder").mkdir())
      body(dir)
    } finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  /** The newest generation as it were when written within one tick of the store's clock. */
  private def inOneTick(store: IndexStore): Generation = {
    val path = store.generations().head.getPath
    Files.setLastModifiedTime(new File(path.toUri.getPath).toPath, FileTime.fromMillis(1000L))
    store.newest.get
  }

  test("an index that was dropped and made again") {
    withRoot { dir =>
      val root = new Path(s"file:$dir")
      val store = new IndexStore(root, conf)
      def make(from: Long): Generation = {
        store.update(_ => (content(from), None))
        inOneTick(store)
      }
      def load(g: Generation) = new LoadedIndex(root, g, conf, 1L << 20)
      val first = make(100L)
      assert(least(load(first)) === 100L)
      store.drop()
      val second = make(200L)
      def known(g: Generation) = (g.file.getPath, g.file.getLen, g.file.getModificationTime)
      assert(known(first) === known(second), "the test needs files of one length")
      assert(least(load(second)) === 200L)
      assert(first !== second)
    }
  }

  test("parts of two files under one name are never put together") {
    withRoot { dir =>
      val root = new Path(s"file:$dir")
      val store = new IndexStore(root, conf)
      store.update(_ => (content(100L), None))
      val before = new LoadedIndex(root, inOneTick(store), conf, 1L << 20)
      assert(before.indexed.size === 1)
      store.drop()
      store.update(_ => (content(200L), None))
      inOneTick(store)
      intercept[java.io.IOException](before.column(0))
    }
  }

  test("generations of one index share its identity") {
    withRoot { dir =>
      val store = new IndexStore(new Path(s"file:$dir"), conf)
      val ids = (1L to 3L).map { i =>
        store.update(_ => (content(i), None))
        store.newest.get.identity
      }
      assert(ids.distinct.size === 1 && ids.head.nonEmpty)
      // files of others in the directory are no generations and have no say
      Files.write(new File(dir, "_zorder/_index/other").toPath, Array[Byte](1))
      assert(store.newest.get.identity === ids.head)
      assert(store.newest.map(_.file) === store.generations().headOption)
    }
  }
}
