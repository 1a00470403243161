// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.io.File
import java.nio.file.{Files, StandardCopyOption}
import java.nio.file.attribute.FileTime
import java.util.UUID

import scala.util.{Random, Try}

import org.apache.hadoop.fs.{FileStatus, Path => HadoopPath}
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.RawLocalFiles
import io.sparkzorder.commands.{OptimizeTestBase, TableState}
import io.sparkzorder.log._
import io.sparkzorder.sources.plain.PublishedShadow
import io.sparkzorder.table.{ParquetFiles, PathTarget}

/**
 * Layouts beside the files of a table (`publish = shadow`): whatever happens to the files that everybody
 * sees, a session with the extension reads their rows.
 */
class ShadowSuite extends OptimizeTestBase {

  private val Shadow = "'publish' 'shadow'"

  private def zorder(dir: File, files: Int, more: String = ""): Row =
    sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ($Shadow, ${sizeFor(dir, files)} $more)").head()

  /** The rows that engines without the extension read. */
  private def visible(dir: File): Map[Any, Int] =
    withoutExtension(bag(read(dir)))

  private def filesRead(df: DataFrame): Set[String] = listedFiles(df)

  private def isShadowed(dir: File): Boolean =
    filesRead(read(dir)).exists(_.contains("/_zorder_"))

  private def statuses(dir: File): Seq[String] =
    sql(s"SHOW LAYOUT HISTORY '$dir'").collect().toSeq.map(_.getAs[String]("status"))

  private def overwrite(from: File, to: File): Unit = {
    Files.copy(from.toPath, to.toPath, StandardCopyOption.REPLACE_EXISTING)
    val _ = new File(to.getParentFile, s".${to.getName}.crc").delete()
  }

  private def sameRows(dir: File): Unit = {
    assert(bag(read(dir)) === visible(dir))
    // filters prune by the index and the footers of hidden files
    for (filter <- Seq("a = 17", "b BETWEEN 100 AND 120", "a > 990 OR b < 5")) {
      val plain = withoutExtension(bag(read(dir).where(filter)))
      assert(bag(read(dir).where(filter)) === plain, filter)
    }
  }

  test("OPTIMIZE changes no file of the table, and queries read few hidden files") {
    withTableDir { dir =>
      write(shuffled(4000, 4), dir)
      val (before, rows) = (userFiles(dir), bag(read(dir)))
      val row = zorder(dir, 16)
      assert(userFiles(dir) === before)
      assert(bag(read(dir)) === rows)
      assert(metric(row, "numFilesRemoved") === 4)
      assert(metric(row, "publishMillis") === 0)
      assert(metric(row, "retainedBytes") === dataFiles(dir).map(_.length).sum)
      assert(row.getAs[String]("reason").contains("other engines"))
      assert(isShadowed(dir))
      val point = read(dir).where("a = 17")
      assert(filesRead(point).size <= 6)
      assert(read(dir).inputFiles.map(_.split('/').last).toSet ===
        dataFiles(dir).map(_.name).toSet)
      assert(statuses(dir) === Seq("shadow"))
      sameRows(dir)
      // nothing is left to do, and names of hidden files are those of no engine
      assert(metric(zorder(dir, 16), "numFilesAdded") === 0)
      assert(hidden(dir, "").forall(f =>
        f.getName.startsWith("_") && !f.getName.endsWith(".parquet")))
    }
  }

  test(
    "files whose time stays the same when they are replaced: no run, and a recorded shadow is inert") {
    withTableDir { dir =>
      write(shuffled(1000, 2), dir)
      userFiles(dir).keys.foreach(f => assert(new File(dir, f).setLastModified(0)))
      fails("ZORDER_STORE_UNSAFE", "the modification time of", "touch")(zorder(dir, 4))
      fails("ZORDER_STORE_UNSAFE", "the modification time of", "touch") {
        sql(s"OPTIMIZE '$dir' ZORDER BY (a)").collect()
      }
    }
    def isInForce(time: Long): Boolean = {
      val change =
        FolderChange("", Seq(Replaced("a", 7, time, "")), Seq(Added("_new_0", "b", 5, 1)))
      val record = Record.marker(Record.Optimize, "run", "")
        .copy(mode = Record.Shadow, createdMs = 0L, changes = Seq(change))
      val step = Step(new KnownRecord(1, record, Nil), change, underWay = false)
      val listed = new FileStatus(7, false, 1, 1L, time, new HadoopPath("/t/a"))
      new FolderShadow(IndexedSeq(step), (_, _) => true).over(Map("a" -> listed)).isDefined
    }
    assert(isInForce(1700000000000L) && !isInForce(0L) && !isInForce(315532800000L))
  }

  test("one VACUUM without retention removes an inert shadow and its intent") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      zorder(dir, 4)
      assert(new File(dir, dataFiles(dir).head.name).setLastModified(1700000000000L))
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(hidden(dir, "_new_") === Nil)
      assert(new File(dir, "_zorder/_runs").list.toSeq === Nil)
    }
  }

  test("a folder that is read twice: two partitions of a catalog, one path by two names", Slow) {
    withTable("t") {
      withTableDir { dir =>
        sql(s"CREATE TABLE t (id BIGINT, a INT, b INT, p INT) USING parquet PARTITIONED BY (p) " +
          s"LOCATION '$dir'")
        shuffled(1000, 3).selectExpr("id", "a", "b", "1 p").write.insertInto("t")
        sql(s"ALTER TABLE t ADD PARTITION (p = 2) LOCATION '$dir/p=1'")
        val queries = Seq(
          "SELECT p, count(*), sum(id) FROM t GROUP BY p",
          "SELECT count(*) FROM t WHERE p = 1",
          "SELECT count(*) FROM t WHERE p = 2 AND a < 500",
          "SELECT count(*) FROM t WHERE p > 0 AND b = 17")
        val before = queries.map(q => bag(sql(q)))
        def folder = spark.read.parquet(s"$dir/p=1", s"$dir/p=1")
        val first = dataFiles(dir).head
        def some = spark.read.parquet(s"$dir/p=1", s"$dir/p=1/${first.name}")
        val (twice, mixed) = (bag(folder), bag(some))
        sql(s"OPTIMIZE t ZORDER BY (a, b) OPTIONS ($Shadow, 'targetFileSize' '4k')").collect()
        assert(queries.map(q => bag(sql(q))) === before)
        assert(filesRead(spark.table("t")).exists(_.contains("/_zorder_")))
        assert(bag(folder) === twice)
        assert(bag(some) === mixed)
        // the same in place
        sql(s"OPTIMIZE t FULL ZORDER BY (b) OPTIONS ('publish' 'rename', 'targetFileSize' '4k')").collect()
        sql("REFRESH TABLE t")
        assert(queries.map(q => bag(sql(q))) === before)
        assert(bag(folder) === twice)
      }
    }
  }

  test("PUBLISH LAYOUT waits for no other run: one that is not finished is a conflict") {
    withTableDir { dir =>
      write(shuffled(2000, 4), dir)
      zorder(dir, 8)
      val table = new TableState(SparkLine.session(spark), PathTarget(dir.getPath, ParquetFiles))
      // as if another driver had committed after the look for unfinished runs
      val (number, shadow) = TableLog.read(table.state).inForce.head
      val changes = shadow.changes.map(c =>
        c.copy(replaced = c.replaced.zipWithIndex.map { case (r, i) =>
          r.copy(retained = RunFolder.retainedName(i))
        }))
      val other = shadow.copy(
        version = Record.Version,
        run = UUID.randomUUID().toString,
        mode = "",
        changes = changes)
      assert(table.state.createRecord(number + 1, other))
      assert(TableLog.read(table.state).unfinished.nonEmpty)
      fails("ZORDER_CONFLICT", "publishing")(new PublishedShadow(table, None).run())
    }
  }

  test("a session that holds the listing of a table does not read rows that another program has removed") {
    withTable("t") {
      withTableDir { dir =>
        sql(s"CREATE TABLE t (id BIGINT, a INT, b INT) USING parquet LOCATION '$dir'")
        shuffled(1000, 4).selectExpr("id", "a", "b").repartition(4).write.insertInto("t")
        sql(s"OPTIMIZE t ZORDER BY (a, b) OPTIONS ($Shadow)").collect()
        assert(filesRead(spark.table("t")).exists(_.contains("/_zorder_")))
        assert(new File(dir, dataFiles(dir).head.name).delete())
        // as Spark alone does
        assert(withoutExtension(Try(spark.table("t").collect())).isFailure)
        assert(Try(spark.table("t").collect()).isFailure)
        sql("REFRESH TABLE t")
        assert(bag(spark.table("t")) === visible(dir))
      }
    }
  }

  test("UNDO LAYOUT forgets the shadow, and VACUUM LAYOUT removes it") {
    withTableDir { dir =>
      write(shuffled(2000, 3), dir)
      val before = userFiles(dir)
      zorder(dir, 8)
      val undone = sql(s"UNDO LAYOUT '$dir'").head()
      assert(undone.getAs[Long]("filesAdded") === 3)
      assert(!isShadowed(dir))
      assert(statuses(dir) === Seq("abandoned", "abandoned"))
      sameRows(dir)
      assert(sql(s"VACUUM LAYOUT '$dir'").collect().toSeq === Nil)
      val dry = sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS DRY RUN").collect()
      assert(dry.map(_.getAs[String]("kind")).toSeq === Seq("shadow"))
      // as the local disk reports that the process may not remove a file
      withSQLConf("fs.kept.impl" -> classOf[ShadowSuite.KeptFiles].getName) {
        val kept = sql(s"VACUUM LAYOUT 'kept://$dir' RETAIN 0 HOURS").collect()
        assert(kept.map(_.getAs[Boolean]("removed")).toSeq === Seq(false))
        assert(runDirectories(dir).nonEmpty)
        // what is announced is not announced again, or its retention would begin again
        def last = TableLog.read(new StateDirectory(
          new HadoopPath(s"file:$dir"),
          spark.sessionState.newHadoopConf())).last
        val announced = last
        sql(s"VACUUM LAYOUT 'kept://$dir' RETAIN 0 HOURS").collect()
        assert(last === announced)
        intercept[java.io.IOException](sql(s"DROP ZORDER INDEX ON 'kept://$dir'").collect())
      }
      assert(sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").head().getAs[Boolean]("removed"))
      assert(runDirectories(dir) === Nil)
      assert(userFiles(dir) === before)
      assert(bag(read(dir)) === visible(dir))
      fails("ZORDER_NOTHING_TO_UNDO")(sql(s"UNDO LAYOUT '$dir'").collect())
    }
  }

  test("appended files are read beside the shadow, and join it by the next run") {
    withTableDir { dir =>
      write(shuffled(1500, 2), dir)
      zorder(dir, 6)
      write(shuffled(500, 2).selectExpr("id + 10000 id", "a", "b", "s"), dir)
      assert(isShadowed(dir))
      assert(bag(read(dir)) === visible(dir))
      val before = userFiles(dir)
      val row = zorder(dir, 6)
      assert(metric(row, "numFilesRemoved") >= 2)
      assert(userFiles(dir) === before)
      sameRows(dir)
      assert(filesRead(read(dir)).forall(_.contains("/_zorder_")))
      assert(statuses(dir) === Seq("shadow", "shadow"))
    }
  }

  test("without the second run the first one counts again", Slow) {
    withTableDir { dir =>
      write(shuffled(3000, 3), dir)
      zorder(dir, 12)
      write(shuffled(1000, 2).selectExpr("id + 10000 id", "a", "b", "s"), dir)
      sameRows(dir)
      zorder(dir, 12)
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(isShadowed(dir))
      sameRows(dir)
    }
  }

  test(
    "a superseded shadow is removed, and nothing is lost when the later one is undone or inert",
    Slow) {
    for (inert <- Seq(true, false)) withTableDir { dir =>
      write(shuffled(3000, 3), dir)
      zorder(dir, 6)
      write(shuffled(1000, 2).selectExpr("id + 10000 id", "a", "b", "s"), dir)
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY (a, b) OPTIONS ($Shadow, ${sizeFor(dir, 8)})").collect()
      val removed = sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(removed.map(_.getAs[Long]("files")).sum > 0)
      assert(isShadowed(dir))
      sameRows(dir)
      if (inert) {
        val last = dataFiles(dir).maxBy(f => new File(dir, f.name).lastModified)
        assert(new File(dir, last.name).delete())
        assert(statuses(dir).exists(_.startsWith(s"inert: ${last.name}")))
      } else sql(s"UNDO LAYOUT '$dir'").collect()
      sameRows(dir)
      assert(!isShadowed(dir))
    }
  }

  test("a changed file makes the shadow inert, in its folder only")(
    checkInert(Set("replaced")))

  test("any change of a file makes the shadow inert", Slow)(checkInert(_ => true))

  private def checkInert(which: String => Boolean): Unit = {
    val changes: Seq[(String, File => Any)] = Seq(
      "deleted" -> (f => Files.delete(f.toPath)),
      "renamed" -> (f => Files.move(f.toPath, new File(f.getParentFile, "x.parquet").toPath)),
      "touched" -> (f => Files.setLastModifiedTime(f.toPath, FileTime.fromMillis(1700000000000L))),
      "replaced" -> { f =>
        val other = f.getParentFile.listFiles.find(o =>
          o != f && o.getName.endsWith(".parquet")).get
        overwrite(other, f)
      })
    for ((what, change) <- changes.filter(c => which(c._1))) withClue(what) {
      withTableDir { dir =>
        write(shuffled(2000, 2).selectExpr("*", "id % 2 p"), dir, "p")
        zorder(dir, 8)
        val file = new File(dir, "p=0").listFiles.find(_.getName.endsWith(".parquet")).get
        val name = file.getName
        change(file)
        sameRows(dir)
        val read = filesRead(this.read(dir))
        assert(!read.exists(f => f.contains("/p=0/") && f.contains("/_zorder_")))
        assert(read.filter(_.contains("/p=1/")).forall(_.contains("/_zorder_")))
        val history = sql(s"SHOW LAYOUT HISTORY '$dir'").head()
        assert(history.getAs[String]("status").startsWith(s"inert: p=0/$name was"))
        // a new run goes on from what is visible
        zorder(dir, 8, ", 'reusedNames' 'append'")
        sameRows(dir)
        assert(filesRead(this.read(dir)).forall(_.contains("/_zorder_")))
      }
    }
  }

  test("a hidden file that somebody deletes costs the layout, and no row") {
    withTableDir { dir =>
      write(shuffled(2000, 3), dir)
      val rows = bag(read(dir))
      zorder(dir, 8)
      assert(hidden(dir, "_new_").head.delete())
      for (ignores <- Seq("true", "false")) {
        withSQLConf(
          "spark.sql.files.ignoreMissingFiles" -> ignores)(assert(bag(read(dir)) === rows))
      }
    }
  }

  test("options that choose files by name or time mean the visible files") {
    withTableDir { dir =>
      write(shuffled(2000, 3), dir)
      val names = dataFiles(dir).map(_.name)
      zorder(dir, 8)
      val glob = names.head.take(12) + "*"
      def chosen() = bag(spark.read.option("pathGlobFilter", glob).parquet(dir.toString))
      assert(chosen() === withoutExtension(chosen()))
      assert(chosen().values.sum < 2000)
    }
  }

  test("filters that ask for the names and times of files mean the visible files") {
    withTableDir { dir =>
      write(shuffled(1000, 2), dir)
      zorder(dir, 6)
      val name = dataFiles(dir).head.name
      for (filter <- Seq(
          s"_metadata.file_name = '$name'",
          "_metadata.file_modification_time > TIMESTAMP'2000-01-01 00:00:00'",
          "_metadata.file_modification_time > current_timestamp() - INTERVAL 1 HOUR AND a < 500")) {
        val plain = withoutExtension(bag(read(dir).where(filter)))
        assert(bag(read(dir).where(filter)) === plain, filter)
        assert(plain.nonEmpty)
      }
    }
  }

  test(
    "VACUUM tells readers of an inert shadow, and removes the files only when their time is over") {
    withTableDir { dir =>
      write(shuffled(1000, 2), dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ($Shadow, ${sizeFor(dir, 6)}, " +
        "'retention' '0h')").collect()
      assert(sql(s"VACUUM LAYOUT '$dir'").collect().toSeq === Nil)
      assert(new File(dir, dataFiles(dir).head.name).delete())
      val predicted = sql(s"VACUUM LAYOUT '$dir' DRY RUN").head()
      val first = sql(s"VACUUM LAYOUT '$dir'").head()
      assert(!first.getAs[Boolean]("removed") && predicted === first)
      assert(hidden(dir, "_new_").nonEmpty)
      sameRows(dir)
      assert(sql(s"VACUUM LAYOUT '$dir'").head().getAs[Boolean]("removed"))
      assert(runDirectories(dir) === Nil)
      sameRows(dir)
    }
  }

  test("VACUUM tells readers of each folder before it removes the files there") {
    withTableDir { dir =>
      write(shuffled(1000, 2).selectExpr("*", "id % 2 p"), dir, "p")
      def optimize(where: String): Unit = {
        sql(s"OPTIMIZE '$dir' $where FULL ZORDER BY (a, b) OPTIONS ($Shadow, ${sizeFor(dir, 6)}, " +
          "'retention' '0h')").collect()
        ()
      }
      optimize("")
      // the second run replaces the hidden files of one folder, so a record speaks of that folder
      optimize("WHERE p = 1")
      def in(p: Int) = hidden(new File(dir, s"p=$p"), "_new_").size
      val (first, both) = (in(0), in(1))
      assert(new File(dir, s"p=0/${dataFiles(dir).find(_.folder == "p=0").get.name}").delete())
      def vacuum(more: String) =
        sql(s"VACUUM LAYOUT '$dir' $more").collect().map(_.getAs[Boolean]("removed")).toSeq
      assert(vacuum("DRY RUN") === Seq(false, true))
      assert(vacuum("") === Seq(false, true))
      assert(in(0) === first && in(1) < both && in(1) > 0)
      sameRows(dir)
      assert(vacuum("") === Seq(true))
      assert(in(0) === 0 && in(1) > 0)
      sameRows(dir)
      // the retention of the undone run, not of the settings now
      val until = sql(s"UNDO LAYOUT '$dir'").head().getAs[java.sql.Timestamp]("retainedUntil")
      assert(until.getTime <= System.currentTimeMillis())
    }
  }

  test("a note of a run that somebody deletes: VACUUM keeps the files that are read") {
    withTableDir { dir =>
      write(shuffled(1000, 2), dir)
      zorder(dir, 6)
      new File(dir, "_zorder/_runs").listFiles.foreach(_.delete())
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(isShadowed(dir))
      sameRows(dir)
    }
  }

  test("PUBLISH LAYOUT gives the hidden files the place of the others, for every reader") {
    withTableDir { dir =>
      write(shuffled(3000, 3).selectExpr("*", "id % 3 p"), dir, "p")
      val rows = bag(read(dir))
      zorder(dir, 12)
      val hiddenFiles = hidden(dir, "_new_").size
      val some = sql(s"PUBLISH LAYOUT '$dir' WHERE p = 1").head()
      assert(some.getAs[Long]("filesRemoved") === 3)
      assert(statuses(dir) === Seq("published", "shadow"))
      assert(visible(dir) === rows)
      assert(!filesRead(read(dir)).exists(f => f.contains("/p=1/") && f.contains("/_zorder_")))
      val rest = sql(s"PUBLISH LAYOUT '$dir'").head()
      assert(some.getAs[Long]("filesAdded") + rest.getAs[Long]("filesAdded") === hiddenFiles)
      assert(visible(dir) === rows)
      assert(bag(read(dir)) === rows)
      assert(!isShadowed(dir))
      assert(dataFiles(dir).size === hiddenFiles)
      checkState(dir)
      assert(statuses(dir) === Seq("published", "published", "published"))
    }
  }

  test("PUBLISH LAYOUT leaves a shadow that is inert in one folder there: history, and VACUUM in two steps") {
    withTableDir { dir =>
      write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val statement = s"OPTIMIZE '$dir' ZORDER BY (a, b) " +
        s"OPTIONS ($Shadow, ${sizeFor(dir, 4)}, 'retention' '0h')"
      sql(statement).collect()
      val inert = hidden(new File(dir, "p=1"), "_new_")
      val gone = dataFiles(dir).find(_.folder == "p=1").get.name
      assert(new File(dir, s"p=1/$gone").delete())
      // a second shadow, of this folder only, is published together with what is in force of the first one
      assert(metric(sql(statement).head(), "numFilesRemoved") === 1)
      sql(s"PUBLISH LAYOUT '$dir'").collect()
      assert(statuses(dir).take(2) === Seq("published", "published"))
      def first = sql(s"SHOW LAYOUT HISTORY '$dir'").collect().minBy(_.getAs[Long]("number"))
      assert(first.getAs[String]("status") === s"inert: p=1/$gone was changed or removed")
      assert(first.getAs[Long]("retainedBytes") === inert.map(_.length).sum)
      def vacuum(more: String) = sql(s"VACUUM LAYOUT '$dir' $more").collect().toSeq
        .filter(_.getAs[String]("path").endsWith(inert.head.getParentFile.getName))
        .map(r => (r.getAs[Long]("files"), r.getAs[Boolean]("removed")))
      // rows that somebody has deleted do not stay in hidden files for ever
      assert(vacuum("DRY RUN") === Seq((inert.size, false)))
      assert(vacuum("") === Seq((inert.size, false)))
      assert(inert.forall(_.exists))
      assert(vacuum("") === Seq((inert.size, true)))
      assert(!inert.exists(_.exists))
      assert(first.getAs[Long]("retainedBytes") === 0)
      assert(vacuum("") === Nil)
      // the layout of the other folder is not given up with these files
      assert(!statuses(dir).contains("abandoned"))
      sameRows(dir)
    }
  }

  test("UNDO of PUBLISH LAYOUT takes back the shadow, too: history, columns and a second UNDO") {
    withTableDir { dir =>
      write(shuffled(400, 2), dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY (b) OPTIONS (${sizeFor(dir, 4)})").collect()
      val before = userFiles(dir)
      zorder(dir, 4)
      sql(s"PUBLISH LAYOUT '$dir'").collect()
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(userFiles(dir) === before && !isShadowed(dir))
      val history = sql(s"SHOW LAYOUT HISTORY '$dir'").collect().toSeq
      def column[T](name: String) = history.map(_.getAs[T](name))
      assert(column[String]("status") === Seq("published", "undone", "undone", "published"))
      assert(column[Boolean]("undoPossible") === Seq(false, false, false, true))
      assert(column[Long]("retainedBytes")(2) === 0)
      assert(column[Seq[String]]("columns").head === Seq("b"))
      // nothing is left of the shadow, so the run before it is next
      val second = sql(s"UNDO LAYOUT '$dir'").head()
      assert(second.getAs[String]("runUndone") === history.last.getAs[String]("run"))
      sameRows(dir)
      fails("ZORDER_NOTHING_TO_UNDO")(sql(s"UNDO LAYOUT '$dir'").collect())
    }
  }

  test("UNDO of PUBLISH LAYOUT leaves a shadow in force where its files have not moved", Slow) {
    withTableDir { dir =>
      write(shuffled(900, 3).selectExpr("*", "id % 2 p"), dir, "p")
      zorder(dir, 6)
      sql(s"PUBLISH LAYOUT '$dir' WHERE p = 1").collect()
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(statuses(dir) === Seq("published", "undone", "shadow") && isShadowed(dir))
      assert(sql(s"UNDO LAYOUT '$dir'").head().getAs[Long]("filesAdded") === 6)
      assert(!isShadowed(dir))
      sameRows(dir)
    }
    // the first shadow counts again if the second one, which has replaced all its files, is published and undone
    withTableDir { dir =>
      write(shuffled(900, 3), dir)
      zorder(dir, 4)
      write(shuffled(300, 2).selectExpr("id + 10000 id", "a", "b", "s"), dir)
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY (a, b) OPTIONS ($Shadow, ${sizeFor(dir, 5)})").collect()
      sql(s"PUBLISH LAYOUT '$dir'").collect()
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(statuses(dir) === Seq("published", "undone", "undone", "shadow") && isShadowed(dir))
      sameRows(dir)
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(!isShadowed(dir))
      sameRows(dir)
    }
  }

  test("after PUBLISH LAYOUT the layout is that of the shadow, and UNDO takes it back", Slow) {
    withTableDir { dir =>
      write(shuffled(3000, 3).selectExpr("*", "id % 3 p"), dir, "p")
      val rows = bag(read(dir))
      zorder(dir, 12)
      sql(s"PUBLISH LAYOUT '$dir' WHERE p = 1").collect()
      sql(s"PUBLISH LAYOUT '$dir'").collect()
      assert(metric(
        sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").head(),
        "numFilesAdded") === 0)
      assert(sql(s"PUBLISH LAYOUT '$dir'").head().getAs[Long]("filesAdded") === 0)
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(visible(dir) === rows)
      sameRows(dir)
      fails("ZORDER_PREDICATE_NOT_ON_PARTITIONS", "PUBLISH LAYOUT")(
        sql(s"PUBLISH LAYOUT '$dir' WHERE a = 1").collect())
    }
  }

  test("OPTIMIZE in place of a table with a shadow rewrites the visible files") {
    withTableDir { dir =>
      write(shuffled(2000, 3), dir)
      val rows = bag(read(dir))
      zorder(dir, 8)
      sql(s"OPTIMIZE '$dir' ZORDER BY (b) OPTIONS ('publish' 'rename', ${sizeFor(dir, 4)})")
        .collect()
      assert(visible(dir) === rows)
      sameRows(dir)
      assert(!isShadowed(dir))
    }
  }

  test("the index, SHOW LAYOUT, INTO and tables of the catalog", Slow) {
    withTable("t") {
      withTableDir { dir =>
        write(shuffled(4000, 4), dir)
        sql(s"CREATE TABLE t USING parquet LOCATION '$dir' " +
          "TBLPROPERTIES ('zorder.publish' = 'shadow')")
        val rows = bag(spark.table("t"))
        sql(s"OPTIMIZE t ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 16)})").collect()
        assert(bag(spark.table("t")) === rows)
        val files = sql("SHOW SKIPPING FOR SELECT * FROM t WHERE a = 17").head()
        assert(files.getAs[Long]("filesKept") <= 6, files)
        // hidden files stay in the index, and a new index has them
        for (statement <- Seq(
            "REFRESH ZORDER INDEX ON t",
            "REFRESH ZORDER INDEX ON t (a, s)",
            "DROP ZORDER INDEX ON t",
            "CREATE ZORDER INDEX ON t (a, s)")) {
          sql(statement).collect()
          if (!statement.startsWith("DROP")) {
            val row = sql("SHOW SKIPPING FOR SELECT * FROM t WHERE a = 17").head()
            assert(row.getAs[Long]("filesKept") <= 6, s"$statement: $row")
          }
        }
        sql("REFRESH ZORDER INDEX ON t (s)").collect()
        assert(bag(spark.table("t").where("a = 17")) ===
          withoutExtension(bag(spark.table("t").where("a = 17"))))
        val layout = sql("SHOW LAYOUT t FOR (a)").head()
        assert(layout.getAs[Long]("files") > 8, layout)
        val to = new File(dir.getParentFile, "copy")
        sql(s"OPTIMIZE t ZORDER BY (a, b) INTO '$to'").collect()
        assert(bag(read(to)) === rows)
        // an overwrite takes the shadow along
        sql("INSERT OVERWRITE t SELECT id, a, b, s FROM VALUES (1L, 2, 3L, 'x') v(id, a, b, s)")
        assert(spark.table("t").count() === 1)
        assert(runDirectories(dir) === Nil)
      }
    }
  }

  test("whatever is done in whatever order, the rows are those of the visible files")(
    checkAnyOrder(0 until 1, steps = 6))

  test(
    "whatever is done in whatever order: more rounds",
    Slow)(checkAnyOrder(0 until 4, steps = 14))

  private def checkAnyOrder(rounds: Range, steps: Int): Unit = {
    val seed = Option(System.getProperty("sparkzorder.test.seed")).fold(20261126L)(_.toLong)
    for (round <- rounds) withClue(s"seed $seed, round $round") {
      val random = new Random(seed + round)
      withTableDir { dir =>
        write(shuffled(900, 2).selectExpr("*", "id % 2 p"), dir, "p")
        var next = 10000
        val kept = new File(dir.getParentFile, "kept")
        def folder() = new File(dir, s"p=${random.nextInt(2)}")
        def file(): Option[File] = Option(folder().listFiles).toSeq.flatten
          .filter(_.getName.endsWith(".parquet")).sorted.lift(random.nextInt(3))
        val all: Seq[(String, () => Any)] = Seq(
          "append" -> { () =>
            next += 1000
            write(
              shuffled(100, 1).selectExpr(s"id + $next id", "a", "b", "s", "id % 2 p"),
              dir,
              "p")
          },
          "optimize" -> (() => zorder(dir, 6, ", 'reusedNames' 'append'")),
          "full" -> (() =>
            sql(s"OPTIMIZE '$dir' FULL ZORDER BY (b) OPTIONS ($Shadow, " +
              s"'reusedNames' 'append', ${sizeFor(dir, 5)})").collect()),
          "in place" -> (() =>
            sql(s"OPTIMIZE '$dir' WHERE p = 1 ZORDER BY (a) OPTIONS (" +
              s"'reusedNames' 'append', ${sizeFor(dir, 5)})").collect()),
          "undo" -> (() => scala.util.Try(sql(s"UNDO LAYOUT '$dir'").collect())),
          "vacuum" -> (() => sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()),
          "publish" -> (() => sql(s"PUBLISH LAYOUT '$dir'").collect()),
          "delete" -> (() => file().foreach(_.delete())),
          "keep" -> { () =>
            file().foreach(f =>
              Files.copy(
                f.toPath,
                kept.toPath,
                StandardCopyOption.REPLACE_EXISTING,
                StandardCopyOption.COPY_ATTRIBUTES))
          },
          "overwrite" -> { () =>
            for (f <- file() if kept.exists) overwrite(kept, f)
          },
          "exchange" -> { () =>
            val (a, b, c) = (new File(dir, "p=0"), new File(dir, "p=1"), new File(dir, "p=7"))
            if (a.exists && b.exists) {
              assert(a.renameTo(c) && b.renameTo(a) && c.renameTo(b))
            }
          })
        val done = Seq.newBuilder[String]
        for (_ <- 0 until steps) {
          val (name, step) = all(random.nextInt(all.size))
          done += name
          withClue(done.result().mkString(", ")) {
            if (dataFiles(dir).nonEmpty) {
              step()
              if (dataFiles(dir).nonEmpty) assert(bag(read(dir)) === visible(dir))
            }
          }
        }
      }
    }
  }
}

private object ShadowSuite {

  /** Local files that nobody may remove. */
  class KeptFiles extends RawLocalFiles {
    override def getUri: java.net.URI = java.net.URI.create("kept:///")
    override def getScheme: String = "kept"
    override def delete(path: HadoopPath, recursive: Boolean): Boolean = false
  }
}
