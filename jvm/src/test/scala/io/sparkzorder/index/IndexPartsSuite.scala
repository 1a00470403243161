// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import scala.util.Random

import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.tagobjects.Slow

import io.sparkzorder.FaultyFileSystem

/** An index of several parts says what an index written at once says, whatever changed it. */
class IndexPartsSuite extends IndexPartsTestBase {

  for ((times, tags) <- Seq(1 -> Nil, 4 -> Seq(Slow))) test(
    s"random changes: equal to an index that is written at once, for readers and for lookups; $times times",
    tags: _*) {
    withRandom { random =>
      for (_ <- 1 to times) withRoot { (dir, store) =>
        IndexParts.withoutSmall {
          var model = entries(random, 0, 60).map(e => e.path -> e).toMap
          var everything = model.values.toSeq
          apply(store, model.values.toSeq)
          for (step <- 1 to 25) {
            val gone = random.shuffle(model.keys.toSeq).take(random.nextInt(4)).toSet
            val again = random.shuffle(everything.map(_.path)).take(random.nextInt(4)).distinct
              .map(entry(_, random))
            val added = entries(random, 100 * step, random.nextInt(6)) ++ again
            apply(store, added, gone -- added.map(_.path))
            model = model -- gone ++ added.map(e => e.path -> e)
            everything = (everything ++ added).takeRight(300)
            check(store, model, everything)
            val parts = sizes(store.generations().head)
            assert(parts.sliding(2).forall(p => p.size < 2 || p(0) >= IndexParts.Ratio * p(1)))
            // this generation, the one before and what they stand on; nothing else stays
            assert(names(dir).size <= 2 * (parts.size + 2))
          }
        }
      }
    }
  }

  private def check(
      store: IndexStore,
      model: Map[String, FileEntry],
      ever: Seq[FileEntry]): Unit = {
    val fresh = IndexContent.of(model.values.toSeq)
    assert(plain(read(store)) === plain(fresh))
    val index = new LoadedIndex(store.root, store.newest.get, conf, 1L << 20)
    ever.foreach { e =>
      val status =
        new FileStatus(e.length, false, 1, 1L, e.modified, new Path(store.root, e.path))
      val expected = model.get(e.path).exists(m => m.length == e.length && m.modified == e.modified)
      // a guess may be any entry
      val found = Seq(0, index.table.size / 2, index.table.size).map(index.files.indexOf(status, _))
      assert(found.distinct.size === 1)
      assert((found.head >= 0) === expected, e.path)
    }
    val live = (0 until index.table.size).filter(index.table.isLive)
    assert(plain(index, live) === plain(fresh))
    assert(live.map(index.table.rows(_)).sum === 9L * model.size)
  }

  test("an append writes what was appended, and reads no bounds of other files") {
    withRoot { (dir, store) =>
      val base = apply(store, entries(new Random(1), 0, 20000))
      val opened = collection.mutable.Buffer.empty[String]
      val after = FaultyFileSystem.withHook((o, p) => if (o == "open") opened += p.getName) {
        apply(store, entries(new Random(2), 20000, 10))
      }
      assert(after.getLen * 25 < base.getLen, s"${after.getLen} of ${base.getLen} bytes")
      assert(names(dir) === Seq("_1", "_2") && sizes(after) === Seq(20000, 10))
      // the footer
      assert(opened.count(_ == "_1") === 1)
      assert(read(after).files.size === 20010)
      // a quarter of the base: written as a whole
      val many = apply(store, entries(new Random(3), 20010, 6000))
      assert(sizes(many) === Seq(26010))
      assert(names(dir) === Seq("_1", "_2", "_3"))
      apply(store, entries(new Random(4), 30000, 1))
      assert(names(dir) === Seq("_3", "_4"))
      // nothing changes: nothing is written
      assert(apply(store, Nil).getPath.getName === "_4")
    }
  }
}
