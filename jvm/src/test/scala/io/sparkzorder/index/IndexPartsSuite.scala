package io.sparkzorder.index

import java.io.{File, IOException}
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.{Random, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.{FaultyFileSystem, RandomInputs}
import io.sparkzorder.table.stats.ColumnStats

/** An index of several parts says what an index written at once says, whatever changed it. */
class IndexPartsSuite extends AnyFunSuite with RandomInputs {
  private val conf = new Configuration()
  FaultyFileSystem.settings.foreach { case (k, v) => conf.set(k.stripPrefix("spark.hadoop."), v) }

  private val columns =
    Seq("a" -> IntegerLeaf(64), "b" -> StringLeaf, "c" -> DoubleLeaf, "d" -> DecimalLeaf(38, 2))

  private def withRoot(body: (File, IndexStore) => Unit): Unit = {
    val dir = Files.createTempDirectory("zorder-parts").toFile
    assert(new File(dir, "_zorder").mkdir())
    try body(dir, storeOf(dir))
    finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  private def storeOf(dir: File) = new IndexStore(new Path(s"faulty:$dir"), conf)

  private def entry(path: String, random: Random): FileEntry = {
    val there = columns.filter(_ => random.nextInt(5) > 0)
    val leaves = there.map { case (name, t) =>
      val (min, max): (Any, Any) = t match {
        case _: DecimalLeaf =>
          (
            IndexValue.wide(java.math.BigInteger.valueOf(-random.nextInt(9).toLong)).get,
            IndexValue.wide(java.math.BigInteger.valueOf(random.nextInt(9).toLong)).get)
        case DoubleLeaf =>
          val low = random.nextInt(100).toDouble
          IndexValue.bounds(Double.box(low), Double.box(low + 1), DoubleLeaf).get
        case StringLeaf => (s"a${random.nextInt(9)}".getBytes, "z".getBytes)
        case _ => (-random.nextInt(100).toLong, random.nextInt(100).toLong)
      }
      val known = random.nextInt(4) > 0
      LeafEntry(IndexedColumn(Seq(name), t), ColumnStats(random.nextInt(3).toLong, min, max, known))
    }
    val shape = LeafColumns(there.map(c => Seq(c._1)))
    FileEntry(path, random.nextInt(1000).toLong, 1L + random.nextInt(1000), 9L, shape, leaves)
  }

  private def entries(random: Random, from: Int, n: Int): Seq[FileEntry] =
    (from until from + n).map(i => entry(s"p=${i % 3}/part-$i", random))

  /** What an index says of some entries. */
  private def plain(c: IndexColumns, which: Seq[Int]): Set[Any] = {
    val read = c.indexed.indices.map(c.column)
    which.map(plain(c, read, _)).toSet
  }

  private def plain(c: IndexColumns, read: Seq[ColumnValues], i: Int): Any = {
    val f = c.table
    val said = c.indexed.indices.map { n =>
      val v = read(n)
      def end(s: StatValues): Any = s match {
        case _ if (v.flags(i) & ColumnValues.Bounded) == 0 => None
        case LongStats(l) => l(i)
        case ByteStats(b) => b(i).toSeq
        case NoStats => None
      }
      c.indexed(n) -> ((v.nulls(i), v.flags(i), end(v.min), end(v.max)))
    }
    val known = said.filterNot(s => s._2._1 < 0 && s._2._2 == 0).toMap
    (f.path(i), f.lengths(i), f.modified(i), f.rows(i), c.shapes(f.shapeOf(i)), known)
  }

  private def plain(c: IndexContent): Set[Any] = plain(c, c.files.lengths.indices)

  private def read(store: IndexStore): IndexContent = read(store.generations().head)
  private def read(file: FileStatus): IndexContent = new IndexReader(file, conf).content()

  private def apply(
      store: IndexStore,
      added: Seq[FileEntry],
      gone: Set[String] = Set.empty): FileStatus =
    store.change(_ => IndexChange(IndexContent.of(added), gone, keepsOthers = true, None)).get

  private def names(dir: File): Seq[String] =
    new File(dir, "_zorder/_index").list.toSeq.filterNot(_.startsWith("_id_")).sorted

  private def sizes(file: FileStatus): Seq[Int] =
    new IndexReader(file, conf).reader.parts.map(_.size)

  test("random changes: equal to an index that is written at once, for readers and for lookups") {
    withRandom { random =>
      for (_ <- 1 to 4) withRoot { (dir, store) =>
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
    val summary = IndexSummary.of(store.generations().head, conf)
    assert((summary.files, summary.rows) === ((model.size.toLong, 9L * model.size)))
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

  test("a session that reads while others update and drop: an index of some moment, or none") {
    IndexParts.withoutSmall {
      withRoot { (dir, store) =>
        val stop = new AtomicBoolean
        val writer = new Thread(() =>
          try {
            for (round <- 1 to 6) {
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
