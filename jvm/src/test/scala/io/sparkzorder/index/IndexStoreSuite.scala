// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.File
import java.math.BigInteger
import java.nio.file.Files

import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs
import io.sparkzorder.index.WholeGenerations._
import io.sparkzorder.table.stats.ColumnStats
import io.sparkzorder.util.RawFiles

/** What is written is read again; one generation after the other; nothing half-written is ever seen. */
class IndexStoreSuite extends AnyFunSuite with RandomInputs {
  private val conf = new Configuration()

  private val types: Seq[LeafType] =
    Seq(8, 16, 32, 64).map(IntegerLeaf(_)) ++
      (for (m <- Seq(true, false); u <- Seq(true, false)) yield TimestampLeaf(m, u)) ++
      Seq(
        BooleanLeaf,
        FloatLeaf,
        DoubleLeaf,
        DateLeaf,
        DecimalLeaf(9, 2),
        DecimalLeaf(18, 18),
        DecimalLeaf(19, 0),
        DecimalLeaf(38, 10),
        StringLeaf,
        BinaryLeaf,
        Int96Leaf)

  private def withRoot(body: (File, IndexStore) => Unit): Unit = {
    val dir = Files.createTempDirectory("zorder-index").toFile
    assert(new File(dir, "_zorder").mkdir())
    try body(dir, new IndexStore(new Path(s"file:$dir"), conf))
    finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  private def bounds(t: LeafType, random: Random): (Any, Any) = t match {
    case BooleanLeaf => (0L, 1L)
    case FloatLeaf | DoubleLeaf =>
      val two = Seq.fill(2)(random.nextFloat() * 100 - 50).sorted
      IndexValue.bounds(Float.box(two.head), Float.box(two.last), t).get
    case d: DecimalLeaf if !d.inLongs =>
      val n = new BigInteger(60, random.self)
      (IndexValue.wide(n.negate).get, IndexValue.wide(n).get)
    case _ if t.inLongs => (-random.nextInt(100).toLong, random.nextInt(100).toLong)
    case _ => (s"a${random.nextInt(9)}".getBytes("UTF-8"), "z~é".getBytes("UTF-8"))
  }

  private def entries(random: Random, n: Int): Seq[FileEntry] = {
    val shape = LeafColumns(types.indices.map(i => Seq(s"c$i")) :+ Seq("other"))
    (0 until n).map { i =>
      val leaves = types.zipWithIndex.filter(_ => random.nextInt(5) > 0).map { case (t, c) =>
        val known = t.hasBounds && random.nextInt(4) > 0
        val (min, max) = if (known) bounds(t, random) else (null, null)
        LeafEntry(
          IndexedColumn(Seq(s"c$c"), t),
          ColumnStats(
            random.nextInt(4) - 1L,
            min,
            max,
            known,
            noNaN = known && t.isFloating && random.nextBoolean()))
      }
      FileEntry(s"p=é%20 $i/part $i.parquet", i, i * 7L, 100L + i, shape, leaves)
    }
  }

  /** All of it as plain values. */
  private def plain(c: IndexContent): Any = {
    def ends(v: ColumnValues, b: StatValues) = v.flags.toSeq.zipWithIndex.map { case (f, i) =>
      if ((f & ColumnValues.Bounded) == 0) None
      else b match {
        case LongStats(l) => Some(l(i))
        case ByteStats(x) => Some(x(i).toSeq)
        case NoStats => fail("bounded without bounds")
      }
    }
    val f = c.files
    val rows = (0 until f.size).map(i =>
      (f.path(i), f.lengths(i), f.modified(i), f.rows(i), c.shapes(f.shapeOf(i))))
    val columns = c.columns.map { case (column, v) =>
      column -> ((v.nulls.toSeq, v.flags.toSeq, ends(v, v.min), ends(v, v.max)))
    }
    (rows, columns.toMap)
  }

  private def write(store: IndexStore, content: IndexContent): FileStatus =
    store.update(_ => (content, None)).get

  private def put(file: FileStatus, bytes: Array[Byte]): Unit = {
    val _ = Files.write(new File(file.getPath.toUri.getPath).toPath, bytes)
  }

  private def read(file: FileStatus): IndexContent = new IndexReader(file, conf).content()

  test("every type comes back as it was written") {
    withRandom { random =>
      withRoot { (_, store) =>
        val content = IndexContent.of(entries(random, 70))
        val file = write(store, content)
        assert(plain(read(file)) === plain(content))
        assert(file.getPath.getName === "_1")
      }
    }
  }

  test("an empty index, and one without columns") {
    withRoot { (_, store) =>
      assert(read(write(store, IndexContent.empty)).files.size === 0)
      val bare = IndexContent.of(Seq(FileEntry("a", 1, 2, 3, LeafColumns(Nil), Nil)))
      assert(plain(read(write(store, bare))) === plain(bare))
    }
  }

  test("parts put together and files taken out are as if built at once") {
    withRandom { random =>
      val all = entries(random, 40)
      val parts = all.grouped(7).map(IndexContent.of).toSeq
      assert(plain(IndexContent.concat(parts)) === plain(IndexContent.of(all)))
      // an index names only so many shapes of files
      val unnamed = IndexContent.of(all).copy(shapes = IndexedSeq.empty)
      val more = IndexContent.concat(Seq(unnamed, IndexContent.of(all.take(1))))
      assert(more.files.shapeOf.toSeq === Seq.fill(all.size)(-1) :+ 0)
      val kept = IndexContent.select(IndexContent.of(all), _ % 3 == 0)
      val wanted = IndexContent.of(all.zipWithIndex.filter(_._2 % 3 == 0).map(_._1))
      assert(plain(kept) === plain(wanted))
    }
  }

  test("a new generation replaces the last; the one before it stays for its readers") {
    withRoot { (dir, store) =>
      (1 to 4).foreach(i => write(store, IndexContent.of(entries(new Random(i), i))))
      assert(store.generations().map(_.getPath.getName) === Seq("_4", "_3"))
      assert(read(store.generations().head).files.size === 4)
      val names = new File(dir, "_zorder/_index").list.toSeq
      assert(names.filterNot(_.startsWith("_id_")).sorted === Seq("_3", "_4"))
      assert(names.size === 3)
      store.drop()
      assert(!store.exists)
    }
  }

  test("who loses a generation makes its content again from the winner's") {
    withRoot { (_, store) =>
      val (a, b) = (entries(new Random(1), 3), entries(new Random(2), 5).drop(3))
      var calls = 0
      val file = store.update { before =>
        calls += 1
        // somebody else is quicker
        if (calls == 1) write(store, IndexContent.of(a))
        (IndexContent.concat(before.map(_._2).toSeq :+ IndexContent.of(b)), None)
      }.get
      assert(calls === 2)
      assert(plain(read(file)) === plain(IndexContent.concat(Seq(a, b).map(IndexContent.of))))
    }
  }

  test("a slow writer of an index that was dropped and made again leaves the new one alone") {
    withRoot { (_, store) =>
      (1 to 5).foreach(i => write(store, IndexContent.of(entries(new Random(i), i))))
      val (before, after, more) = {
        val all = entries(new Random(6), 6)
        (all.take(2), all.slice(2, 4), all.drop(4))
      }
      var calls = 0
      val file = store.update { found =>
        calls += 1
        if (calls == 1) {
          store.drop()
          write(store, IndexContent.of(after))
        }
        val others = if (calls == 1) Seq(IndexContent.of(before)) else found.map(_._2).toSeq
        (IndexContent.concat(others :+ IndexContent.of(more)), None)
      }.get
      assert(calls === 2)
      assert(file.getPath.getName === "_2")
      assert(plain(read(file)) === plain(IndexContent.concat(
        Seq(after, more).map(IndexContent.of))))
      assert(store.generations().map(_.getPath.getName) === Seq("_2", "_1"))
    }
  }

  test("many writers at once: everybody's files are there in the end") {
    withRoot { (_, store) =>
      val all = entries(new Random(3), 8)
      val threads = all.map { e =>
        new Thread(() => {
          val _ = store.update(before =>
            (IndexContent.concat(before.map(_._2).toSeq :+ IndexContent.of(Seq(e))), None))
        })
      }
      threads.foreach(_.start())
      threads.foreach(_.join())
      val content = read(store.generations().head)
      assert((0 until content.files.size).map(content.files.path).toSet === all.map(_.path).toSet)
    }
  }

  test("a torn or foreign file is an error of reading, never wrong numbers") {
    withRoot { (dir, store) =>
      val file = write(store, IndexContent.of(entries(new Random(5), 200)))
      val path = new File(dir, "_zorder/_index/_1").toPath
      val bytes = Files.readAllBytes(path)
      // a bit of the data flips: page checksums tell
      val before = plain(read(file))
      val flipped = bytes.clone()
      flipped(200) = (flipped(200) ^ 0x10).toByte
      put(file, flipped)
      assert(scala.util.Try(plain(read(file))).map(_ == before).getOrElse(true))
      for (broken <-
          Seq(bytes.take(bytes.length / 2), Array.emptyByteArray, "no Parquet".getBytes)) {
        put(file, broken)
        intercept[Exception](read(store.generations().head))
      }
      // a writer starts anew
      assert(read(write(store, IndexContent.empty)).files.size === 0)
    }
  }

  test("an index of a newer version is neither read nor replaced by an update") {
    withRoot { (_, store) =>
      assert(IndexFormat.parse("""{"version":2,"columns":[],"shapes":[],"more":1}""").version === 2)
      intercept[UnknownIndexVersionException](IndexFormat.parse("""{"version":4}"""))
      intercept[java.io.IOException](IndexFormat.parse(null))
      val content = IndexContent.of(entries(new Random(1), 2))
      write(store, content)
      val newer = IndexFormat.header(content, None).copy(version = 4)
      IndexWriter.write(
        content,
        newer,
        new Path(store.generations().head.getPath.getParent, "_2"),
        RawFiles.writeRaw(new Configuration(conf)))
      intercept[UnknownIndexVersionException](read(store.generations().head))
      assert(store.update(_ => fail("made")) === None)
      assert(store.generations().map(_.getPath.getName) === Seq("_2", "_1"))
    }
  }

  test("the cache holds parts up to its size, and one that is used once pushes none out") {
    final class Part(val bytes: Long) extends Sized
    IndexCache.clear()
    var loads = 0
    def part(n: Int, size: Long): Part = IndexCache(CacheKey("x", "", 1, 1, n, ""), 100) {
      loads += 1
      new Part(size)
    }
    part(1, 40)
    part(2, 40)
    part(1, 40)
    assert(loads === 2 && IndexCache.bytes === 80)
    part(3, 40)
    assert(IndexCache.bytes === 80)
    part(1, 40)
    assert(loads === 3)
    part(2, 40)
    assert(loads === 3)
    // larger than the cache: given, not kept
    part(4, 1000)
    assert(IndexCache.bytes <= 100)
    intercept[IllegalStateException] {
      IndexCache[Part](CacheKey("y", "", 1, 1, 0, ""), 100)(throw new IllegalStateException)
    }
    assert(IndexCache[Part](CacheKey("y", "", 1, 1, 0, ""), 100)(new Part(1)).bytes === 1)
    IndexCache.clear()
  }
}
