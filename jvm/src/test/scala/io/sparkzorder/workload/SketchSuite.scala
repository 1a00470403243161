// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.{File, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs
import io.sparkzorder.log.StateDirectory

/** The notes of a driver: limits, bytes, files, decay. */
class SketchSuite extends AnyFunSuite with RandomInputs {
  private val conf = new Configuration()

  private def use(column: String, from: Int): ScanUse = ScanUse(
    Template(Seq(ColumnUse(column, UseKind.Point))),
    RankBox(Seq(Seq(RankInterval(from, from)))),
    unused = 0)

  private def stored(day: Long, sketch: Sketch) =
    StoredSketch(UUID.randomUUID().toString, day, sketch.content)

  private def some(weights: Double*): Sketch = {
    val sketch = new Sketch(1)
    weights.zipWithIndex.foreach { case (w, i) => sketch.add(use("a", i), w) }
    sketch
  }

  private def withStore(body: (WorkloadStore, File) => Unit): Unit = {
    val dir = Files.createTempDirectory("zorder-workload").toFile
    try {
      new File(dir, "_zorder").mkdir()
      body(
        new WorkloadStore(new StateDirectory(new Path(dir.toURI), conf), conf),
        new File(dir, "_zorder/_workload"))
    } finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  test("limits: templates and boxes are kept in number, weights and counts in sum") {
    val sketch = new Sketch(1)
    for (i <- 0 until 1000) sketch.add(use(s"c$i", 0), 1.0 + i)
    val templates = sketch.content
    assert(templates.size <= Sketch.MaxTemplates + 1)
    assert(templates.values.map(_.count).sum === 1000)
    assert(math.abs(templates.values.map(_.weight).sum - 500500) < 1e-6)
    assert(templates.contains(use("c999", 0).template))
    for (_ <- 0 until 3) sketch.add(use("new", 0), 1.0)
    assert(sketch.content(use("new", 0).template).count === 3, "there is room for what is new")

    val many = new Sketch(1)
    for (i <- 0 until 5000) many.add(use("a", i % 256), 1.0)
    val kept = many.content.values.head
    assert(kept.boxes.size === Sketch.MaxBoxes && kept.count === 5000 && kept.weight === 5000.0)
    val from = kept.boxes.keys.map(_.sides.head.head.from)
    assert(from.max > 128, "the sample of boxes holds the first ones only")
  }

  test("bytes: what was written is read, never more than 64 KB") {
    withRandom { random =>
      val sketch = new Sketch(1)
      for (_ <- 0 until 20000) {
        val columns = Seq("a", "b", "x" * 200, "größe").filter(_ => random.nextBoolean())
        sketch.add(
          ScanUse(
            Template(columns.sorted.map(ColumnUse(_, UseKind.all(random.nextInt(3))))),
            RankBox(columns.map(_ =>
              Seq.tabulate(1 + random.nextInt(16))(i => RankInterval(i * 16, i * 16 + 3)))),
            random.nextInt(3)),
          random.nextInt(1000).toDouble)
      }
      val all = stored(20000, sketch)
      val bytes = SketchFormat.toBytes(all)
      assert(bytes.length <= SketchFormat.MaxBytes)
      val read = SketchFormat.of(bytes)
      assert(read.id === all.id && read.count === 20000)
      val small = stored(7, some(1, 2, 3))
      assert(SketchFormat.of(SketchFormat.toBytes(small)) === small)
    }
  }

  test("whatever is no sketch is refused") {
    val good = new String(SketchFormat.toBytes(stored(7, some(1, 2))), UTF_8)
    SketchFormat.of(good.getBytes(UTF_8))
    for ((from, to) <- Seq(
        "\"version\":1" -> "\"version\":2",
        "\"day\":7" -> "\"day\":-7",
        "\"count\":2" -> "\"count\":2.5",
        "\"weight\":3.0" -> "\"weight\":-3.0",
        "\"weight\":3.0" -> "\"weight\":1e300",
        "\"point\"" -> "\"pointed\"",
        "[\"a\"]" -> "[\"\"]",
        "[\"a\"]" -> "[\"a\",\"a\"]",
        "[[1,1]]" -> "[[1]]",
        "[[1,1]]" -> "[[1,0]]",
        "[[1,1]]" -> "[[-1,1]]",
        "[[1,1]]" -> "[[1,300]]",
        "[[1,1]]" -> "[[256,256]]",
        "[[1,1]]" -> "[[1,1],[1,1]]",
        "[[1,1]]" -> "[]",
        "[[1,1]]" -> "[null]",
        "[[1,1]]" -> "[[null,1]]",
        "[\"a\"]" -> "[null]",
        "\"count\":2," -> "",
        "\"kinds\":[\"point\"]" -> "\"kinds\":null",
        "\"id\":\"" -> "\"id\":\"../")) {
      assert(good.contains(from), good)
      val e = intercept[IOException](SketchFormat.of(good.replace(from, to).getBytes(UTF_8)))
      assert(e.getMessage.startsWith("it is not a workload file of version 1: "), to)
    }
    for (bytes <- Seq("", "{", "[]", "null", "5", good.take(good.length / 2))) {
      intercept[IOException](SketchFormat.of(bytes.getBytes(UTF_8)))
    }
  }

  test("files: drivers side by side, torn files, other versions, old days, decay") {
    withStore { (store, dir) =>
      val today = 20000L
      store.write(stored(today, some(8)), None)
      store.write(stored(today, some(16)), None)
      store.write(stored(today - 7, some(32)), None)
      store.write(stored(today - 14, some(64)), None)
      store.write(stored(today - 30, some(1e6)), None)
      val merged = Workload.of(store.read(today), today)
      assert(merged.count === 4 && math.abs(merged.weight - (8 + 16 + 16 + 16)) < 1e-9)
      assert(math.abs(merged.templates.values.head.boxes.values.sum - merged.weight) < 1e-9)

      def foreign(name: String, text: String) =
        Files.write(new File(dir, name).toPath, text.getBytes(UTF_8))
      foreign(s"_${today}_${UUID.randomUUID()}", "{\"version\":1,\"id\"")
      foreign(s"_${today}_${UUID.randomUUID()}", "{\"version\":9}")
      foreign(s"_${today}_${UUID.randomUUID()}", "x" * 100000)
      foreign("_something", "else")
      assert(Workload.of(store.read(today), today) === merged)
      assert(store.expired(today, all = false).map(_.getPath.getName)
        .exists(_.startsWith(s"_${today - 30}_")))
    }
  }

  test("files: a driver replaces its own file, and a reader that sees both counts one") {
    withStore { (store, dir) =>
      val sketch = some(1)
      val id = UUID.randomUUID().toString
      val first = store.write(StoredSketch(id, 5, sketch.content), None)
      sketch.add(use("a", 9), 1.0)
      store.write(StoredSketch(id, 5, sketch.content), None)
      assert(Workload.of(store.read(5), 5).count === 2)
      sketch.add(use("a", 9), 1.0)
      store.write(StoredSketch(id, 5, sketch.content), Some(first))
      assert(Workload.of(store.read(5), 5).count === 3 && dir.list().length === 2)
    }
  }

  test("files: drivers that write at the same time lose nothing, and readers see whole files") {
    withStore { (store, dir) =>
      val (drivers, writes) = (4, 25)
      val writers = (0 until drivers).map { d =>
        val thread = new Thread(() => {
          val (id, sketch) = (UUID.randomUUID().toString, new Sketch(d))
          (1 to writes).foldLeft(Option.empty[Path]) { (before, i) =>
            sketch.add(use("a", i), 1.0)
            Some(store.write(StoredSketch(id, 5, sketch.content), before))
          }
        })
        thread.start()
        thread
      }
      // a reader may miss a file that is just replaced, but never fails
      val most = Iterator.continually(store.read(5).map(_.count))
        .takeWhile(_ => writers.exists(_.isAlive)).flatten
      val greatest = most.foldLeft(0L)(math.max)
      writers.foreach(_.join())
      assert(greatest <= writes)
      assert(Workload.of(store.read(5), 5).count === drivers * writes)
      assert(dir.list().count(_.startsWith("_5_")) === drivers)
    }
  }

  test("files: the directory has the permissions of the state, whoever makes it") {
    withStore { (store, dir) =>
      val bits = PosixFilePermissions.fromString("rwxrwxrwx")
      Files.setPosixFilePermissions(dir.getParentFile.toPath, bits)
      store.write(stored(5, some(1)), None)
      assert(Files.getPosixFilePermissions(dir.toPath) === bits)
    }
  }

  test("files: a day that ends while its notes are written keeps its file") {
    withStore { (store, dir) =>
      @volatile var today = 5L
      val root = new Path(dir.getParentFile.getParentFile.toURI)
      val notes = new NotedTable(root, conf, () => today)
      notes.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      notes.flush()
      notes.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      today = 6L
      notes.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      assert(dir.list().count(_.startsWith("_6")) === 0, "a query has written a file")
      notes.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      notes.flush()
      notes.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      notes.flush()
      assert(store.read(6L).map(s => (s.day, s.count)) === Seq((5L, 2L), (6L, 3L)))
      assert(dir.list().length === 2)
    }
  }

  test("intervals: rounding, points, and fewer intervals that hold the same values") {
    assert(RankInterval.of(0.5, 0.5) === RankInterval(128, 128))
    assert(RankInterval.of(1.0, 1.0) === RankInterval(255, 255))
    assert(RankInterval.of(0.0, 1.0) === RankInterval(0, 256))
    assert(RankInterval.of(0.25, 0.5) === RankInterval(64, 128))
    withRandom { random =>
      for (_ <- 0 until 500) {
        val all = Seq.fill(1 + random.nextInt(60)) {
          val from = random.nextDouble()
          RankInterval.of(from, math.min(1.0, from + random.nextDouble() * random.nextInt(2) / 9))
        }
        val few = RankInterval.some(all, 16)
        assert(few.size <= 16 && few.forall(RankInterval.isOne))
        all.foreach { i =>
          assert(few.exists(f => f == i || f.from <= i.from && i.until <= f.until), s"$i in $few")
        }
      }
    }
  }
}
