// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.actors

import java.io.File
import java.nio.file.{Files, StandardCopyOption}

import org.apache.commons.io.FileUtils
import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.FaultyTables

/** Programs that write a name again which a run has replaced, and originals that come back. */
class FixedNamesSuite extends FaultyTables {

  /** Puts one file of `rows` rows under a fixed name, as pandas or DuckDB do. */
  private def job(dir: File, name: String, first: Int, rows: Int): File = {
    val made = new File(dir.getParentFile, s"made-$first-$rows")
    spark.range(first, first + rows, 1, 1).selectExpr("id", "id % 7 a", "id % 5 b")
      .write.mode("overwrite").parquet(made.getAbsolutePath)
    val file = made.listFiles.filter(_.getName.endsWith(".parquet")).head
    dir.mkdirs()
    val target = new File(dir, name)
    Files.move(file.toPath, target.toPath, StandardCopyOption.REPLACE_EXISTING)
    // another run of the job is another file
    assert(target.setLastModified(1700000000000L + first * 1000L))
    target
  }

  private def warnings(body: => Any): Seq[String] = {
    val appender = new LogAppender("warnings")
    withLogAppender(appender) {
      val _ = body
    }
    appender.loggingEvents.filter(_.getLevel.name == "WARN").map(_.getMessage.getFormattedMessage)
      .toSeq
  }

  private def layoutWarnings(dir: File): Seq[String] =
    sql(s"SHOW LAYOUT '$dir' FOR (a)").collect().map(_.getAs[String]("warning")).toSeq

  private def twice(partitioned: Boolean): Unit = withTableDir { dir =>
    val folder = if (partitioned) new File(dir, "day=1") else dir
    job(folder, "data.parquet", 0, 100)
    job(folder, "more.parquet", 200, 100)
    optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
    assert(layoutWarnings(dir).forall(_ == null))
    // the job corrects its rows
    job(folder, "data.parquet", 1, 100)
    val before = snapshot(dir)
    val rows = bag(read(dir))
    for (more <- Seq("", "FULL", "ZORDER BY b", "DRY RUN", s"INTO '${dir}_copy'")) {
      fails("ZORDER_NAMES_REUSED", "data.parquet", "UNDO LAYOUT", "reusedNames")(
        sql(s"OPTIMIZE '$dir' $more").collect())
      assert(snapshot(dir) === before, more)
    }
    assert(!new File(s"${dir}_copy").exists())
    assert(layoutWarnings(dir).forall(_.contains("data.parquet")))
    assert(warnings(read(dir).count()).exists(_.contains("data.parquet")))
    assert(bag(read(dir)) === rows)
    // the rows are new ones: the user says so
    optimize(s"OPTIMIZE '$dir' FULL OPTIONS ('reusedNames' 'append')", dir)(read(dir))
    assert(bag(read(dir)) === rows)
    optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(read(dir))
    assert(!warnings(read(dir).count()).exists(_.contains("names that run")))
  }

  test("a job writes its file again: nothing is merged before the user says what it is") {
    twice(partitioned = false)
  }

  test("a job writes its file of a partition again", Slow) {
    twice(partitioned = true)
  }

  test("the way out: the file is moved away, the run undone, and the file put back") {
    withTableDir { dir =>
      job(dir, "data.parquet", 0, 100)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      job(dir, "data.parquet", 1, 100)
      fails("ZORDER_NAMES_REUSED")(sql(s"OPTIMIZE '$dir' FULL").collect())
      fails("ZORDER_UNDO_REFUSED", "data.parquet")(sql(s"UNDO LAYOUT '$dir'").collect())
      val aside = new File(dir.getParentFile, "aside.parquet")
      Files.move(new File(dir, "data.parquet").toPath, aside.toPath)
      sql(s"UNDO LAYOUT '$dir'").collect()
      Files.move(
        aside.toPath,
        new File(dir, "data.parquet").toPath,
        StandardCopyOption.REPLACE_EXISTING)
      assert(read(dir).selectExpr("min(id)", "count(*)").head().toSeq === Seq(1L, 100L))
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
    }
  }

  test("where the new files of the run are gone, a name that comes again is a file like others") {
    withTableDir { dir =>
      job(dir, "data.parquet", 0, 100)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      dataFiles(dir).foreach(f => assert(new File(dir, f.name).delete()))
      job(dir, "data.parquet", 1, 100)
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
      assert(read(dir).count() === 100)
    }
  }

  private def copy(file: File, to: File): Unit = {
    to.mkdirs()
    val _ = Files.copy(
      file.toPath,
      new File(to, file.getName).toPath,
      StandardCopyOption.COPY_ATTRIBUTES)
  }

  private def parts(dir: File): Seq[File] =
    dir.listFiles.filter(f => f.getName.startsWith("part-") && f.getName.endsWith("parquet")).toSeq

  /**
   * A layout, and an appended file beside it, which the next run alone replaces.
   *
   * @param body gets the appended file, of which a copy with its time is in the directory `backup`
   */
  private def withAppended(dir: File, folder: File)(body: File => Unit): Unit = {
    write(shuffled(2000, 1).selectExpr("*", "id % 2 p"), dir, "p")
    sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
    val layout = parts(folder)
    write(spark.range(0, 40, 1, 1).selectExpr("id", "1 a", "id b", "'x' s", "id % 2 p"), dir, "p")
    val Seq(appended) = parts(folder).diff(layout)
    copy(appended, new File(dir.getParentFile, "backup"))
    body(appended)
  }

  private def backup(dir: File, file: File): File =
    new File(new File(dir.getParentFile, "backup"), file.getName)

  test("a replaced file that is restored because its new file was lost is a file like others") {
    withTableDir { dir =>
      val folder = new File(dir, "p=0")
      withAppended(dir, folder) { appended =>
        val expected = bag(read(dir))
        val others = parts(folder).toSet - appended
        sql(s"OPTIMIZE '$dir' WHERE p = 0").collect()
        assert(others.forall(_.exists) && !appended.exists)
        (parts(folder).toSet -- others).foreach(f => assert(f.delete()))
        copy(backup(dir, appended), folder)
        assert(bag(read(dir)) === expected)
        assert(warnings(read(dir).count()).forall(!_.contains("were replaced")))
        sql(s"OPTIMIZE '$dir' DRY RUN").collect()
        optimize(s"OPTIMIZE '$dir' FULL ZORDER BY b", dir)(read(dir))
        assert(layoutWarnings(dir).forall(_ == null))
      }
    }
  }

  test("where only some of the new files were lost, a restored file is not called a copy") {
    withTableDir { dir =>
      write(shuffled(300, 1), dir)
      val Seq(original) = parts(dir)
      copy(original, new File(dir.getParentFile, "backup"))
      sql(s"OPTIMIZE '$dir' ZORDER BY a OPTIONS (${sizeFor(dir, 3)})").collect()
      assert(parts(dir).size > 1 && parts(dir).head.delete())
      copy(backup(dir, original), dir)
      val rows = bag(read(dir))
      // readers read the file, because it may have the only copy of some rows
      assert(rows.size === 300)
      fails("ZORDER_NAMES_REUSED", original.getName)(sql(s"OPTIMIZE '$dir' FULL").collect())
      assert(warnings(read(dir).count()).forall(!_.contains("left out")))
      assert(bag(read(dir)) === rows)
    }
  }

  test("a file that an UNDO has put back is no return of files, although the UNDO met a conflict elsewhere") {
    withTableDir { dir =>
      val folder = new File(dir, "p=0")
      withAppended(dir, folder) { appended =>
        sql(s"OPTIMIZE '$dir'").collect()
        val expected = bag(read(dir).where("p = 0"))
        assert(killedAt(0)((o, p) => o == "rename" && p.getName.startsWith("part-zorder-"))(
          sql(s"UNDO LAYOUT ${faulty(dir)}").collect())._2)
        FileUtils.deleteDirectory(new File(dir, "p=1"))
        fails("ZORDER_PUBLISH_CONFLICT")(sql(s"RECOVER LAYOUT '$dir'").collect())
        assert(appended.exists && bag(read(dir).where("p = 0")) === expected)
        assert(layoutWarnings(dir).forall(_ == null))
        sql(s"OPTIMIZE '$dir' WHERE p = 0 ZORDER BY b").collect()
        assert(bag(read(dir).where("p = 0")) === expected)
      }
    }
  }

  test("originals that come back into a folder whose run met a conflict elsewhere are named") {
    withTableDir { dir =>
      val folder = new File(dir, "p=0")
      withAppended(dir, folder) { appended =>
        assert(killedAt(0)((o, p) => o == "rename" && p.getName.startsWith("part-zorder-"))(
          sql(s"OPTIMIZE ${faulty(dir)}").collect())._2)
        FileUtils.deleteDirectory(new File(dir, "p=1"))
        fails("ZORDER_PUBLISH_CONFLICT")(sql(s"RECOVER LAYOUT '$dir'").collect())
        val expected = bag(read(dir))
        copy(backup(dir, appended), folder)
        assert(bag(read(dir)) === expected)
        assert(layoutWarnings(dir).forall(_.contains(appended.getName)))
        fails("ZORDER_FILES_RETURNED", appended.getName)(sql(s"OPTIMIZE '$dir'").collect())
        assert(appended.delete())
        optimize(s"OPTIMIZE '$dir' FULL ZORDER BY b", dir)(read(dir))
      }
    }
  }

  /** The inputs of a run come back with their times, as by `cp -p`, `rsync -a` or a restored backup. */
  private def returned(runsBetween: Int): Unit = withTableDir { dir =>
    write(shuffled(300, 2), dir)
    val backup = new File(dir.getParentFile, "backup")
    parts(dir).foreach(copy(_, backup))
    sql(s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('retention' '0s')").collect()
    val expected = bag(read(dir))
    for (i <- 1 to runsBetween) {
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY ${if (i % 2 == 0) "a" else "b"} " +
        "OPTIONS ('retention' '0s')").collect()
    }
    parts(backup).foreach(copy(_, dir))
    val before = snapshot(dir)
    assert(bag(read(dir)) === expected)
    assert(warnings(read(dir).count()).exists(_.contains("part-00000")))
    for (more <- Seq("", "FULL", "FULL OPTIONS ('reusedNames' 'append')", "DRY RUN")) {
      fails("ZORDER_FILES_RETURNED", "part-0000")(sql(s"OPTIMIZE '$dir' $more").collect())
      assert(snapshot(dir) === before, more)
    }
    assert(layoutWarnings(dir).forall(_.contains("part-0000")))
    backup.listFiles.foreach(f => assert(new File(dir, f.getName).delete()))
    optimize(s"OPTIMIZE '$dir' FULL", dir)(read(dir))
    assert(bag(read(dir)) === expected)
  }

  test("originals that come back with their times are named, and never counted twice") {
    returned(0)
  }

  test("an UNDO that was killed on the way is no return of files", Slow) {
    withTableDir { table =>
      write(shuffled(300, 2), table)
      sql(s"OPTIMIZE '$table' ZORDER BY a").collect()
      val expected = bag(read(table))
      val steps = Iterator.from(0).map { k =>
        withCopy(table) { dir =>
          val (_, killed) = killedAt(k)(isPublishing)(sql(s"UNDO LAYOUT ${faulty(dir)}").collect())
          sql(s"OPTIMIZE '$dir' ZORDER BY b").collect()
          assert(bag(read(dir)) === expected)
          killed
        }
      }.takeWhile(identity).size
      assert(steps > 3)
    }
  }

  test("the same when a checkpoint has taken the place of the record", Slow) {
    returned(22)
  }
}
