// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File

import scala.util.Try

import org.apache.commons.io.FileUtils
import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.{DataFrame, Row}

import io.sparkzorder.{FaultyFileSystem, Steps}
import io.sparkzorder.commands.FaultyTables

/** RECOVER LAYOUT ... ABANDON puts a run back that is committed and not published. */
class AbandonSuite extends FaultyTables with Steps {

  private def optimizeOf(dir: File) = s"OPTIMIZE ${faulty(dir)} ZORDER BY a"

  private def statuses(dir: File): Seq[String] =
    sql(s"SHOW LAYOUT HISTORY '$dir'").collect().map(_.getAs[String]("status")).toSeq

  testSteps(
    "killed at any rename, then abandoned, and that killed as well: all rows, nothing hidden") {
    step =>
      withTableDir { dir =>
        write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
        val expected = bag(read(dir))
        val before = live(dir)
        val steps = Iterator.from(0, step).map { k =>
          withCopy(dir) { copy =>
            val (_, killed) = killedAt(k)(isPublishing)(sql(optimizeOf(copy)).collect())
            if (killed) {
              killedAt(k)((o, _) => o != "list" && o != "open")(
                sql(s"RECOVER LAYOUT ${faulty(copy)} ABANDON").collect())
              val row = one(s"RECOVER LAYOUT '$copy' ABANDON")
              assert(row.getAs[Long]("runsRecovered") <= 1)
              sql(s"RECOVER LAYOUT '$copy'").collect()
              assert(bag(read(copy)) === expected, s"killed at $k")
              val now = live(copy)
              for (p <- Seq("p=0", "p=1")) {
                val (old, own) =
                  (before.filter(_._1.startsWith(p)), now.filter(_._1.startsWith(p)))
                assert(own == old || own.keySet.intersect(old.keySet).isEmpty, s"killed at $k")
                if (own == old) assert(runDirectories(new File(copy, p)) === Nil)
              }
              if (now != live(dir) || statuses(copy).contains("abandoned")) {
                assert(statuses(copy).takeRight(1) === Seq("abandoned"), s"killed at $k")
                fails("ZORDER_NOTHING_TO_UNDO")(sql(s"UNDO LAYOUT '$copy'"))
              }
              checkState(copy)
              optimize(s"OPTIMIZE '$copy' ZORDER BY a", copy)(read(copy))
            }
            killed
          }
        }.takeWhile(identity).size
        assert(steps > 5 / step)
      }
  }

  /** The renames that hide the inputs in `p=1` fail. */
  private def denied[T](body: => T): T = FaultyFileSystem.withHook { (operation, path) =>
    if (isPublishing(operation, path) && path.toString.contains("p=1") &&
      path.getName.startsWith("_old_")) {
      throw new FaultyFileSystem.Injected(path.toString)
    }
  }(body)

  test("renames in one folder are denied: RECOVER fails each time, ABANDON helps") {
    withTableDir { dir =>
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      for (_ <- 0 to 1) {
        assert(denied(Try(sql(optimizeOf(dir)).collect())).isFailure)
        assert(denied(Try(sql(s"RECOVER LAYOUT ${faulty(dir)}").collect())).isFailure)
        assert(statuses(dir) === Seq("committed, not published"))
        assert(bag(read(dir)) === expected)
      }
      val row = denied(one(s"RECOVER LAYOUT ${faulty(dir)} ABANDON"))
      assert(row.getAs[Long]("runsRecovered") === 1)
      // the run stays published in p=0
      assert(row.getAs[Long]("filesAdded") === 2 && row.getAs[Long]("filesRemoved") === 1)
      assert(bag(read(dir)) === expected)
      assert(statuses(dir) === Seq("abandoned", "abandoned"))
      assert(runDirectories(new File(dir, "p=1")) === Nil)
      checkState(dir)
    }
  }

  test("a folder whose files are all hidden has the partition values of its name") {
    withTableDir { dir =>
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir).where("p = 1"))
      // the rename of a file of the table to its name, or back
      def isInFolder(operation: String, path: Path) = operation == "rename" &&
        path.getParent.getName == "p=1" && path.getName.startsWith("part-0")
      assert(killedAt(0)(isInFolder)(sql(optimizeOf(dir)).collect())._2)
      meanwhile(isInFolder) {
        assert(live(dir).keys.forall(!_.startsWith("p=1/")))
        val row = one(s"OPTIMIZE '$dir' WHERE p = 1 ZORDER BY a DRY RUN")
        assert(row.getAs[Row]("metrics").getAs[Any]("numFilesRemoved") === 2)
        assert(bag(read(dir).where("p = 1")) === expected)
      }(sql(s"RECOVER LAYOUT ${faulty(dir)} ABANDON").collect())
      checkState(dir)
    }
  }

  test("RECOVER without ABANDON ends an abandoned run, and counts the files that come back") {
    withTableDir { dir =>
      write(shuffled(200, 3), dir)
      val inputs = live(dir)
      assert(killedAt(0)(isPublishing)(sql(optimizeOf(dir)).collect())._2)
      assert(killedAt(0)((o, _) => o == "delete")(
        sql(s"RECOVER LAYOUT ${faulty(dir)} ABANDON").collect())._2)
      val row = one(s"RECOVER LAYOUT '$dir'")
      assert(live(dir) === inputs)
      assert(row.getAs[Long]("runsRecovered") === 1 && row.getAs[Long]("filesAdded") === 3)
      assert(statuses(dir).distinct === Seq("abandoned"))
    }
  }

  /** A run that is finished in `p=0` and abandoned in `p=1`; gets the rows and an old listing. */
  private def withHalfAbandoned(body: (File, Map[Any, Int], DataFrame) => Unit): Unit =
    withTableDir { dir =>
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val (expected, old) = (bag(read(dir)), read(dir))
      assert(denied(Try(sql(optimizeOf(dir)).collect())).isFailure)
      denied(sql(s"RECOVER LAYOUT ${faulty(dir)} ABANDON").collect())
      body(dir, expected, old)
    }

  test("of a run that was abandoned in another folder, a finished one needs no directory", Slow) {
    withHalfAbandoned { (dir, expected, old) =>
      val ours = runDirectories(new File(dir, "p=0"))
      assert(ours.size === 1)
      ours.foreach(FileUtils.deleteDirectory)
      assert(bag(read(dir)) === expected)
      assert(bag(old.select("*")) === expected)
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY a").collect()
      assert(bag(read(dir)) === expected)
      assert(bag(old.select("*")) === expected)
    }
  }

  test(
    "files that an abandoned run gave back are replaced like others, also by a run that is killed",
    Slow) {
    withHalfAbandoned { (dir, expected, old) =>
      val killed = Iterator.from(0).map { k =>
        withCopy(dir) { copy =>
          val back = read(copy)
          val (_, killed) = killedAt(k)(isPublishing)(sql(optimizeOf(copy)).collect())
          assert(bag(read(copy)) === expected, s"killed at $k")
          assert(bag(back.select("*")) === expected, s"killed at $k, listed before")
          sql(s"RECOVER LAYOUT '$copy'").collect()
          assert(bag(read(copy)) === expected, s"recovered at $k")
          killed
        }
      }.takeWhile(identity).size
      assert(killed > 3)
      sql(optimizeOf(dir)).collect()
      assert(bag(old.select("*")) === expected)
    }
  }

  test("nothing to abandon: nothing is done") {
    withTableDir { dir =>
      write(shuffled(60, 2), dir)
      assert(one(s"RECOVER LAYOUT '$dir' ABANDON").toSeq.tail === Seq(0L, 0L, 0L))
      assert(!new File(dir, "_zorder").exists())
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      val after = snapshot(dir)
      assert(one(s"RECOVER LAYOUT '$dir' ABANDON").toSeq.tail === Seq(0L, 0L, 0L))
      assert(snapshot(dir) === after)
    }
  }
}
