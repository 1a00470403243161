// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.actors

import java.io.File
import java.util.UUID

import scala.util.{Failure, Success, Try}

import org.apache.commons.io.FileUtils
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame

import io.sparkzorder.Steps
import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.TokenFile

/** A program that removes empty files takes the token of a run that died half way. */
class LostTokenSuite extends FaultyTables with Steps {

  private def token(dir: File): Option[File] = snapshot(dir).keys
    .find(_.contains("part-zorder-")).map(new File(dir, _))

  private def takeToken(dir: File): Boolean = token(dir).exists(_.delete())

  /** Asserts that each statement fails with the condition and changes no file of the table. */
  private def refuses(dir: File, condition: String, words: String*)(statements: String*): Unit = {
    val before = userFiles(dir)
    for (statement <- statements) {
      fails(condition, words: _*)(sql(statement).collect())
      assert(userFiles(dir) === before, statement)
    }
  }

  /**
   * Kills a statement at each rename, or at one of them, and takes something away, unless it is not there.
   *
   * @param prepare makes the table ready for the statement, and returns the statement
   */
  private def atKills(
      step: Int,
      take: File => Boolean = takeToken,
      prepare: File => String = statement(_))(
      body: (File, Map[Any, Int], Boolean) => Unit): Unit = {
    var (k, more, taken) = (first(step), true, 0)
    while (more) withTableDir { dir =>
      write(shuffled(100, 3), dir)
      val expected = bag(read(dir))
      val killed = prepare(dir)
      more = killedAt(k)(isPublishing)(sql(killed).collect())._2 && step == 1
      val lost = take(dir)
      if (lost) taken += 1
      body(dir, expected, lost)
      k += step
    }
    assert(taken > 3 / step)
  }

  private def first(step: Int): Int = if (step == 1) 0 else step

  /** Spark cannot infer a schema where all files are hidden. */
  private def known(dir: File): DataFrame =
    spark.read.schema(shuffled(1, 1).schema).parquet(dir.getAbsolutePath)

  /** All rows, or an error with this condition; never fewer rows. False for the error. */
  private def wholeOr(condition: String, words: String*)(
      dir: File,
      expected: Map[Any, Int]): Boolean =
    Try(bag(known(dir))) match {
      case Success(rows) =>
        assert(rows === expected)
        true
      case Failure(_) =>
        fails(condition, words: _*)(known(dir).collect())
        false
    }

  private def wholeOrInDoubt(dir: File, expected: Map[Any, Int]): Boolean =
    wholeOr("ZORDER_FOLDER_IN_DOUBT", "_zorder_", "ABANDON")(dir, expected)

  test("a query of a half-published folder that was moved into another table fails") {
    withTableDir { dir =>
      write(shuffled(300, 3).selectExpr("*", "id % 3 p"), dir, "p")
      // the run stops in the middle of p=1, whatever its other threads do
      assert(killedAt(0)((o, p) => o == "rename" && p.toString.contains("p=1/part-0"))(
        sql(statement(dir)).collect())._2)
      val home = new File(dir, "p=1")
      assert(token(home).isDefined && snapshot(home).keys.exists(_.contains("_old_")))
      for (hasRecords <- Seq(false, true)) {
        val other = new File(dir.getParentFile, s"other-$hasRecords")
        write(shuffled(100, 2).selectExpr("*", "9 p"), other, "p")
        if (hasRecords) sql(s"OPTIMIZE '$other' ZORDER BY a").collect()
        FileUtils.copyDirectory(home, new File(other, "p=1"), true)
        for (query <- Seq(read(other), read(other).where("p = 1"))) {
          fails("ZORDER_RECORD_LOST", "p=1", "came from another table")(query.collect())
        }
        assert(read(other).where("p = 9").count() === 100)
      }
    }
  }

  testSteps(
    "OPTIMIZE refuses a half-published run of which somebody has removed the record",
    quick = 6) {
    step =>
      def away(dir: File) = new File(s"$dir.away")
      def state(dir: File) = new File(dir, "_zorder")
      atKills(step, dir => token(dir).isDefined && state(dir).renameTo(away(dir))) {
        (dir, expected, lost) =>
          if (lost) {
            refuses(dir, "ZORDER_RECORD_LOST", "_zorder_", "_commits")(
              s"OPTIMIZE '$dir' ZORDER BY b",
              s"OPTIMIZE '$dir' ZORDER BY b DRY RUN",
              s"OPTIMIZE '$dir' ZORDER BY b INTO '${dir}_copy'",
              s"RECOVER LAYOUT '$dir'",
              s"RECOVER LAYOUT '$dir' ABANDON")
            wholeOr("ZORDER_RECORD_LOST", "_zorder_", "_commits")(dir, expected)
            // Spark infers no schema where all files are hidden
            Try(sql(s"SHOW LAYOUT '$dir' FOR (a)").head().getAs[String]("warning"))
              .foreach(w => assert(w.contains("has no record") && w.contains("_zorder_"), w))
            FileUtils.deleteDirectory(state(dir))
            assert(away(dir).renameTo(state(dir)))
          }
          sql(s"RECOVER LAYOUT '$dir'").collect()
          assert(bag(read(dir)) === expected)
      }
  }

  testSteps(
    "OPTIMIZE and PUBLISH LAYOUT refuse a conflict that is ended half, of which somebody has removed the record",
    quick = 6) {
    step =>
      var (k, more, refused) = (first(step) / 2, true, 0)
      while (more) withTableDir { dir =>
        write(shuffled(100, 3), dir)
        val expected = bag(read(dir))
        // killed when the replaced files are hidden
        assert(killedAt(6)(isPublishing)(sql(statement(dir)).collect())._2)
        more = killedAt(k)(isPublishing)(
          sql(s"RECOVER LAYOUT ${faulty(dir)} ABANDON").collect())._2 && step == 1
        for (lost <- Seq("_zorder/_commits", "_zorder").take(if (step == 1) 2 else 1)) {
          val (state, away) = (new File(dir, lost), new File(s"$dir.away"))
          assert(state.renameTo(away))
          val before = userFiles(dir)
          for (statement <- Seq(
              s"OPTIMIZE '$dir' ZORDER BY b DRY RUN",
              s"OPTIMIZE '$dir' ZORDER BY b INTO '${dir}_copy'",
              s"RECOVER LAYOUT '$dir'",
              s"PUBLISH LAYOUT '$dir'")) {
            val isWhole = Try(bag(known(dir))).toOption.contains(expected)
            Try(sql(statement).collect()) match {
              case Success(_) => assert(isWhole, statement)
              case Failure(_) =>
                refused += 1
                fails("ZORDER_RECORD_LOST", "_zorder_", "_commits")(sql(statement).collect())
            }
            assert(userFiles(dir) === before, statement)
            FileUtils.deleteDirectory(new File(s"${dir}_copy"))
          }
          FileUtils.deleteDirectory(state)
          assert(away.renameTo(state))
        }
        sql(s"RECOVER LAYOUT '$dir'").collect()
        assert(bag(read(dir)) === expected)
        optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(read(dir))
        k += step
      }
      assert(refused > 12 / step)
  }

  testSteps(
    "RECOVER and SHOW LAYOUT name a conflict that is ended half, of which record and note are gone, beside others",
    quick = 7) {
    step =>
      var refused = 0
      for (partitions <- Seq(Seq("p"), Nil).take(if (step == 1) 2 else 1)) {
        var (k, more) = (0, true)
        while (more) withTableDir { dir =>
          def rows = shuffled(60, 2).selectExpr("*", "id % 2 p")
          write(rows, dir, partitions: _*)
          sql(s"OPTIMIZE '$dir' ZORDER BY (b)").collect()
          write(rows, dir, partitions: _*)
          val expected = bag(read(dir))
          val replaced = dataFiles(dir).size
          def full = sql(s"OPTIMIZE ${faulty(dir)} FULL ZORDER BY (a) OPTIONS (${sizeFor(dir, 4)})")
          assert(killedAt(replaced + 2)(isPublishing)(full.collect())._2)
          more = killedAt(k)(isPublishing)(
            sql(s"RECOVER LAYOUT ${faulty(dir)} ABANDON").collect())._2
          val commits = under(dir, "_commits").filterNot(n => n == "_1" || n == "_1_done")
          val run = under(dir, "_runs").filterNot { n =>
            new String(
              java.nio.file.Files.readAllBytes(new File(dir, "_zorder/_commits/_1").toPath),
              "UTF-8")
              .contains(n.stripPrefix("_"))
          }
          val taken = commits.map("_commits/" + _) ++ run.map("_runs/" + _)
          val away = new File(s"$dir.away")
          taken.foreach(n => FileUtils.moveFile(new File(dir, s"_zorder/$n"), new File(away, n)))
          val before = userFiles(dir)
          def seen = spark.read.schema("id BIGINT, a INT, b BIGINT, s STRING, p BIGINT")
            .parquet(dir.getAbsolutePath)
          val isWhole = Try(bag(seen)).toOption.contains(expected)
          Try(sql(s"RECOVER LAYOUT '$dir'").collect()) match {
            case Success(_) => assert(isWhole, s"step $k")
            case Failure(_) =>
              refused += 1
              fails("ZORDER_RECORD_LOST", "_zorder_", "_commits")(
                sql(s"RECOVER LAYOUT '$dir'").collect())
              Try(sql(s"SHOW LAYOUT '$dir' FOR (a)").head().getAs[String]("warning"))
                .foreach(w => assert(w.contains("has no record") && w.contains("_zorder_"), w))
          }
          assert(userFiles(dir) === before)
          taken.foreach { n =>
            val home = new File(dir, s"_zorder/$n")
            FileUtils.deleteQuietly(home)
            FileUtils.moveFile(new File(away, n), home)
          }
          sql(s"RECOVER LAYOUT '$dir'").collect()
          assert(bag(read(dir)) === expected)
          k += step
        }
      }
      assert(refused > 6 / step)
  }

  /** Puts a whole table, with its records, in the place of another one. */
  private def restore(copy: File, dir: File): Unit = {
    FileUtils.cleanDirectory(dir)
    FileUtils.copyDirectory(copy, dir, true)
  }

  test("what is said of a run that is done is no way to open the run again, or to choose among its files") {
    def advice(isDone: Boolean) = ZOrderErrors.recordLost(
      "/t/p",
      "token",
      "/t/_zorder/_commits",
      "/t/p/_zorder_1",
      None,
      isDone).getMessage
    for (way <- Seq("_done", "RECOVER LAYOUT", "_old_", "remove token", "remove it")) {
      assert(!advice(isDone = true).contains(way))
    }
    assert(advice(isDone = false).contains("_old_"))
  }

  test("a copy in the middle of a publish, by a tool that leaves hidden directories out") {
    withTableDir { dir =>
      write(shuffled(100, 3), dir)
      val expected = bag(read(dir))
      // all new files are visible
      assert(killedAt(8)(isPublishing)(sql(statement(dir)).collect())._2)
      val copy = new File(s"$dir.copy")
      FileUtils.copyDirectory(dir, copy, true)
      sql(s"RECOVER LAYOUT '$dir'").collect()
      dir.listFiles.filter(_.getName != "_zorder").foreach(FileUtils.forceDelete)
      copy.listFiles.filterNot(_.getName.startsWith("_zorder")).foreach(
        FileUtils.moveToDirectory(_, dir, false))
      refuses(dir, "ZORDER_RECORD_LOST", "only part-zorder-", "remove part-zorder-")(
        s"OPTIMIZE '$dir' FULL ZORDER BY b")
      // as the error says
      val token = dir.listFiles.filter(f => TokenFile.isOne(f.getName))
      assert(token.size === 1)
      FileUtils.forceDelete(token.head)
      assert(bag(read(dir)) === expected)
      optimize(s"OPTIMIZE '$dir' FULL ZORDER BY b", dir)(read(dir))
    }
  }

  // some new files are visible; all are, and only the token is left; some replaced files are hidden
  for ((k, tags) <- Seq(5 -> Nil, 8 -> Nil, 2 -> Seq(Slow)))
    test(
      s"a folder from a copy in the middle of a publish, records from after it, killed at $k",
      tags: _*) {
      withTableDir { dir =>
        write(shuffled(100, 3), dir)
        val expected = bag(read(dir))
        assert(killedAt(k)(isPublishing)(sql(statement(dir)).collect())._2)
        val copy = new File(s"$dir.copy")
        FileUtils.copyDirectory(dir, copy, true)
        val whole = new File(s"$dir.whole")
        FileUtils.copyDirectory(dir, whole, true)
        sql(s"RECOVER LAYOUT '$dir'").collect()
        dir.listFiles.filter(_.getName != "_zorder").foreach(FileUtils.forceDelete)
        copy.listFiles.filter(_.getName != "_zorder").foreach(FileUtils.moveToDirectory(
          _,
          dir,
          false))
        val before = userFiles(dir)
        assert(bag(known(dir)) === expected)
        refuses(dir, "ZORDER_RECORD_LOST", "part-zorder-", "is done")(
          s"OPTIMIZE '$dir' FULL ZORDER BY b",
          s"OPTIMIZE '$dir' FULL ZORDER BY b DRY RUN",
          s"OPTIMIZE '$dir' ZORDER BY b INTO '${dir}_copy'",
          s"RECOVER LAYOUT '$dir'")
        fails("ZORDER_UNDO_REFUSED", "half published")(sql(s"UNDO LAYOUT '$dir'").collect())
        assert(userFiles(dir) === before)
        val warning = sql(s"SHOW LAYOUT '$dir' FOR (a)").head().getAs[String]("warning")
        assert(warning.contains("is done") && warning.contains("_zorder_"), warning)
        // as the error says
        restore(whole, dir)
        sql(s"RECOVER LAYOUT '$dir'").collect()
        assert(withoutExtension(bag(read(dir))) === expected)
        optimize(s"OPTIMIZE '$dir' FULL ZORDER BY b", dir)(read(dir))
      }
    }

  test("a partition that was elsewhere while RECOVER LAYOUT ended its run, and is back") {
    withTableDir { dir =>
      write(shuffled(100, 3).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      // the run stops in the middle of p=1, whatever its other threads do
      assert(killedAt(0)((o, p) => o == "rename" && p.toString.contains("p=1/part-0"))(
        sql(statement(dir)).collect())._2)
      val (home, away) = (new File(dir, "p=1"), new File(dir.getParentFile, "away"))
      val whole = new File(s"$dir.whole")
      FileUtils.copyDirectory(dir, whole, true)
      assert(token(home).isDefined && home.renameTo(away))
      fails("ZORDER_PUBLISH_CONFLICT")(sql(s"RECOVER LAYOUT '$dir'").collect())
      assert(away.renameTo(home))
      assert(bag(read(dir)) === expected)
      fails("ZORDER_RECORD_LOST", "p=1", "is done")(sql(s"RECOVER LAYOUT '$dir'").collect())
      fails("ZORDER_RECORD_LOST", "p=1", "is done")(
        sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect())
      // as the error says
      restore(whole, dir)
      sql(s"RECOVER LAYOUT '$dir'").collect()
      assert(withoutExtension(bag(read(dir))) === expected)
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect()
      assert(bag(read(dir)) === expected)
    }
  }

  test("a run that is half published in another partition, or in a table below, is none of a statement's") {
    withTableDir { dir =>
      shuffled(100, 2).selectExpr("*", "id % 2 p").write.mode("overwrite").partitionBy("p")
        .parquet(dir.getPath)
      assert(new File(dir, s"p=0/part-zorder-${new UUID(1, 2)}.parquet").createNewFile())
      val expected = bag(read(dir))
      fails("ZORDER_RECORD_LOST", "p=0")(sql(s"OPTIMIZE '$dir' ZORDER BY b").collect())
      sql(s"OPTIMIZE '$dir' WHERE p = 1 ZORDER BY b").collect()
      assert(new File(dir, "p=0/_zorder").mkdir())
      fails("ZORDER_UNSUPPORTED_TABLE", "p=0")(sql(s"OPTIMIZE '$dir' ZORDER BY b").collect())
      assert(bag(read(dir)) === expected)
    }
  }

  testSteps(
    "VACUUM LAYOUT keeps the files of such a run, so that the record makes the table whole",
    quick = 6) {
    step =>
      def record(dir: File) = new File(dir, "_zorder/_commits/_1")
      def away(dir: File) = new File(s"$dir.record")
      atKills(step, dir => token(dir).isDefined && record(dir).renameTo(away(dir))) {
        (dir, expected, lost) =>
          if (lost) {
            val hasOld = snapshot(dir).keys.exists(_.contains("_old_"))
            sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
            // a run that has replaced nothing has left the table as it was
            if (hasOld) assert(away(dir).renameTo(record(dir)))
            else sql(s"OPTIMIZE '$dir' ZORDER BY b").collect()
          }
          sql(s"RECOVER LAYOUT '$dir'").collect()
          assert(bag(read(dir)) === expected)
          checkState(dir)
      }
  }

  testSteps("VACUUM LAYOUT keeps the files of an UNDO without its record", quick = 9) {
    step =>
      def record(dir: File) = new File(dir, "_zorder/_commits/_2")
      def away(dir: File) = new File(s"$dir.record")
      def undo(dir: File) = {
        sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect()
        s"UNDO LAYOUT ${faulty(dir)}"
      }
      atKills(step, dir => token(dir).isDefined && record(dir).renameTo(away(dir)), undo) {
        (dir, expected, lost) =>
          val hasReplaced = snapshot(dir).keys.exists(_.contains("_old_u"))
          sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
          if (lost) {
            if (hasReplaced) assert(away(dir).renameTo(record(dir)))
            else {
              // the undo has left the table as it was
              sql(s"OPTIMIZE '$dir' ZORDER BY b DRY RUN").collect()
              one(s"UNDO LAYOUT '$dir'")
            }
          }
          sql(s"RECOVER LAYOUT '$dir'").collect()
          assert(bag(read(dir)) === expected)
          checkState(dir)
      }
  }

  testSteps(
    "readers, RECOVER and OPTIMIZE name what is in doubt; ABANDON brings the old files back",
    quick = 6) {
    step =>
      var inDoubt = 0
      atKills(step) { (dir, expected, lost) =>
        if (!wholeOrInDoubt(dir, expected)) {
          assert(lost)
          inDoubt += 1
          refuses(dir, "ZORDER_FOLDER_IN_DOUBT", "_zorder_", "ABANDON")(
            s"RECOVER LAYOUT '$dir'",
            s"OPTIMIZE '$dir' ZORDER BY b",
            s"OPTIMIZE '$dir' ZORDER BY b INTO '${dir}_copy'",
            s"SHOW LAYOUT '$dir' FOR (a)")
          sql(s"RECOVER LAYOUT '$dir' ABANDON").collect()
        }
        assert(bag(known(dir)) === expected)
        // no replaced file is hidden yet: the run ends in a conflict, and the table is as before
        if (lost) Try(sql(s"RECOVER LAYOUT '$dir'").collect())
        sql(s"OPTIMIZE '$dir' ZORDER BY b").collect()
        assert(bag(read(dir)) === expected)
        checkState(dir)
      }
      assert(inDoubt > 2 / step)
  }

  testSteps("a conflict that is ended half, and somebody removes its token", quick = 17) {
    step =>
      var (k, more, taken, inDoubt) = (first(step), true, 0, Seq.empty[Int])
      while (more) withTableDir { dir =>
        write(shuffled(100, 3), dir)
        val expected = bag(read(dir))
        // killed when the replaced files are hidden, and some new ones visible
        assert(killedAt(6)(isPublishing)(sql(statement(dir)).collect())._2)
        more = killedAt(k)((o, _) => o != "list" && o != "open")(
          sql(s"RECOVER LAYOUT ${faulty(dir)} ABANDON").collect())._2 && step == 1
        val isLost = snapshot(dir).keys.filter(_.endsWith("/_conflict"))
          .map(new File(dir, _).delete()).toSeq.contains(true)
        if (isLost) taken += 1
        if (!wholeOrInDoubt(dir, expected)) inDoubt :+= k
        sql(s"RECOVER LAYOUT '$dir' ABANDON").collect()
        assert(bag(read(dir)) === expected, s"killed at $k")
        checkState(dir)
        k += step
      }
      info(s"$taken tokens, in doubt when killed at ${inDoubt.mkString(" ")}")
      assert(taken > 8 / step && inDoubt.size > 6 / step)
  }

  testSteps("where the hidden directory is gone as well the folder was overwritten", quick = 6) {
    step =>
      atKills(step) { (dir, expected, lost) =>
        if (!wholeOrInDoubt(dir, expected)) {
          // somebody decides that the folder was overwritten: what is visible is the table
          runDirectories(dir).foreach(FileUtils.deleteDirectory)
          write(shuffled(30, 1), dir)
          val now = dataFiles(dir).map(_.rows).sum
          assert(known(dir).count() === now)
          Try(sql(s"RECOVER LAYOUT '$dir'").collect())
          assert(known(dir).count() === now)
          optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(read(dir))
        } else assert(bag(known(dir)) === expected)
      }
  }
}
