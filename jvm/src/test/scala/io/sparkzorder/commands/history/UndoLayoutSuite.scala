// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File
import java.nio.file.{Files, StandardOpenOption}

import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

import io.sparkzorder.log.{Record, StateDirectory, TableLog}
import io.sparkzorder.log.publish.Checkpoints

/** UNDO LAYOUT: the files of before come back, or the statement says why not and touches nothing. */
class UndoLayoutSuite extends UndoTestBase {

  private def columnsOf(row: Row): Seq[String] =
    row.getSeq[Row](row.fieldIndex("columns")).map(_.getString(0)).toSeq

  test("the very files come back, names and modification times too") {
    withOptimized { (dir, before, after) =>
      val start = System.currentTimeMillis()
      val row = undone(dir)
      assert(live(dir) === before)
      val sizes = (files: Seen) => files.keys.toSeq.map(f => new File(dir, f).length)
      assert(row.getAs[String]("path").endsWith(dir.getName))
      assert(row.getAs[Long]("filesAdded") === before.size)
      assert(row.getAs[Long]("filesRemoved") === after.size)
      assert(row.getAs[Long]("bytesAdded") === sizes(before).sum)
      assert(row.getAs[Long]("numRows") === 300)
      val day = 24 * 3600000L
      assert(row.getAs[java.sql.Timestamp]("retainedUntil").getTime >= start + day)
      // the files of the undone run are retained as any replaced ones
      val run = row.getAs[String]("runUndone")
      val kept = runDirectories(dir).map(_.getName).distinct
      assert(!kept.contains(s"_zorder_$run") && kept.size === 1)
      val bytes = hidden(dir, "_old_").map(_.length)
      assert(bytes.size === after.size && bytes.sum === row.getAs[Long]("bytesRemoved"))
      assert(hidden(dir, "_new_") === Nil && under(dir, "_runs") === kept.map(_.drop(7)))
      // and the next run works on what is there now
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
    }
  }

  test("rows that came since stay") {
    withOptimized { (dir, before, _) =>
      val more = shuffled(17, 1).selectExpr("*", "0L p")
      write(more, dir, "p")
      write(shuffled(5, 1).selectExpr("*", "7L p"), dir, "p")
      val expected = bag(read(dir))
      undone(dir)
      assert(bag(read(dir)) === expected)
      assert(before.toSet.subsetOf(live(dir).toSet))
      assert(read(dir).count() === 322)
    }
  }

  for ((by, tags) <- Seq(Seq("a", "b") -> Nil, Seq("a", "b", "s") -> Seq(Slow))) test(
    s"back run by run, to the columns of the run before; then there is nothing left: ${by.size} runs",
    tags: _*) {
    withTableDir { dir =>
      write(shuffled(300, 3), dir)
      val states = by.map { c =>
        val before = live(dir)
        // FULL: with every file rewritten each run rests on the one before
        sql(s"OPTIMIZE '$dir' FULL ZORDER BY $c").collect()
        before
      }
      for ((before, columns) <- states.zip(Nil +: by.init.map(Seq(_))).reverse) {
        undone(dir)
        assert(live(dir) === before)
        assert(columnsOf(one(s"OPTIMIZE '$dir' DRY RUN")) === columns)
      }
      val nothing = snapshot(dir)
      fails("ZORDER_NOTHING_TO_UNDO", dir.getName)(sql(s"UNDO LAYOUT '$dir'"))
      assert(snapshot(dir) === nothing)
      // a run after an undo is the last run again
      if (by.size > 2) {
        sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect()
        undone(dir)
        assert(live(dir) === states.head)
      }
    }
  }

  test("a table that was never optimized") {
    withTableDir { dir =>
      write(shuffled(30, 1), dir)
      val before = snapshot(dir)
      fails("ZORDER_NOTHING_TO_UNDO")(sql(s"UNDO LAYOUT '$dir'"))
      assert(snapshot(dir) === before)
    }
  }

  test("refused when a file of the run was removed, changed or touched, or an old name is taken") {
    val changes = Seq[(String, (File, File, Seen) => Unit)](
      "was removed since" -> ((_, f, _) => assert(f.delete())),
      "was changed since" -> ((_, f, _) =>
        Files.write(f.toPath, Array[Byte](1), StandardOpenOption.APPEND)),
      "was changed since" -> ((_, f, _) => assert(f.setLastModified(f.lastModified() + 2000))),
      "was written since" -> ((dir, _, before) =>
        Files.write(new File(dir, before.keys.toSeq.min).toPath, Array[Byte](1))))
    for ((words, change) <- changes) withOptimized { (dir, before, after) =>
      change(dir, new File(dir, after.keys.toSeq.max), before)
      refused(dir, words)
    }
    withOptimized { (dir, _, _) =>
      write(shuffled(9, 1).selectExpr("*", "1L p"), new File(dir, "new"), "p")
      val partition = new File(dir, "p=1")
      org.apache.commons.io.FileUtils.deleteDirectory(partition)
      assert(new File(dir, "new/p=1").renameTo(partition))
      org.apache.commons.io.FileUtils.deleteDirectory(new File(dir, "new"))
      refused(dir, "p=1", "was removed since")
    }
  }

  test("refused when the inputs are not retained any more, or not all of them") {
    withOptimized { (dir, _, _) =>
      val victim = hidden(dir, "_old_").head
      val name = {
        val run = victim.getParentFile
        val record = new com.fasterxml.jackson.databind.ObjectMapper()
          .readTree(new File(dir, "_zorder/_commits/_1"))
        import scala.collection.JavaConverters._
        record.path("changes").elements.asScala
          .filter(_.path("folder").asText == run.getParentFile.getName)
          .flatMap(_.path("replaced").elements.asScala)
          .find(_.path("retained").asText == victim.getName).get.path("name").asText
      }
      val bytes = Files.readAllBytes(victim.toPath)
      val modified = victim.lastModified()
      assert(victim.delete())
      refused(dir, name, "was removed or changed")
      Files.write(victim.toPath, bytes)
      refused(dir, name, "was removed or changed")
      assert(victim.setLastModified(modified))
      withCopy(dir)(undone)
      assert(sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").count() === 1)
      refused(dir, "not retained any more")
    }
  }

  test("refused for the same reason when a checkpoint has reduced the record of the run") {
    withOptimized { (dir, _, _) =>
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY (b)").collect()
      val state = new StateDirectory(new Path(s"file:$dir"), spark.sessionState.newHadoopConf())
      for (n <- 3L to 25L) {
        val marker = Record.marker(Record.Abort, java.util.UUID.randomUUID().toString, "me")
        assert(state.createRecord(n, marker))
        state.markDone(n, marker.run)
      }
      new Checkpoints(state, System.currentTimeMillis()).writeIfDue()
      assert(!new File(dir, "_zorder/_commits/_1").exists())
      undone(dir)
      refused(dir, "not retained any more")
      // the layout of the first run is in force
      assert(TableLog.read(state).layouts.head.columns === Seq("a", "b"))
    }
  }

  test("refused after a run that met a conflict") {
    withTableDir { dir =>
      write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val victim = new File(dir, live(dir).keys.filter(_.startsWith("p=1")).max)
      val publishing = isPublishing(_, _)
      killedAt(0)(publishing)(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      assert(victim.delete())
      fails("ZORDER_PUBLISH_CONFLICT")(sql(s"UNDO LAYOUT '$dir'"))
      refused(dir, "met a conflict", "_closed")
    }
  }
}
