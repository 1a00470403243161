// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.Row

import io.sparkzorder.{FaultyFileSystem, Steps}
import io.sparkzorder.commands.FaultyTables

/** SHOW LAYOUT HISTORY and RECOVER LAYOUT. */
class LayoutHistorySuite extends FaultyTables with Steps {

  // the index comes after it, and its failures are nobody's
  private val publishing = isPublishing(_, _)

  /** The history, by a statement that changes nothing. */
  private def history(dir: File): Seq[Row] = {
    val before = snapshot(dir)
    val changes = new AtomicInteger
    val rows = FaultyFileSystem.withHook { (operation, _) =>
      if (operation != "list" && operation != "open") changes.incrementAndGet()
    } {
      sql(s"SHOW LAYOUT HISTORY ${faulty(dir)}").collect().toSeq
    }
    assert(changes.get === 0)
    assert(snapshot(dir) === before)
    rows
  }

  private def column(rows: Seq[Row], name: String): Seq[Any] = rows.map(_.getAs[Any](name))

  test("runs, undone runs and aborted ones, newest first") {
    withTableDir { dir =>
      write(shuffled(300, 3), dir)
      assert(history(dir) === Nil)
      val original = dataFiles(dir)
      val start = System.currentTimeMillis()
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('retention' '3h')").collect()
      val first = dataFiles(dir)
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY s").collect()
      val Seq(second, one) = history(dir)
      assert(one.getAs[Long]("number") === 1 && second.getAs[Long]("number") === 2)
      assert(one.getSeq[String](one.fieldIndex("columns")) === Seq("a", "b"))
      assert(one.getAs[Long]("filesRemoved") === 3)
      assert(one.getAs[Long]("bytesRemoved") === original.map(_.length).sum)
      assert(one.getAs[Long]("filesAdded") === first.size)
      assert(one.getAs[Long]("bytesAdded") === first.map(_.length).sum)
      assert(one.getAs[Long]("numRows") === 300)
      assert(one.getAs[String]("user") === spark.sparkContext.sparkUser)
      val time = one.getAs[java.sql.Timestamp]("time").getTime
      assert(time >= start && time <= System.currentTimeMillis())
      assert(one.getAs[Long]("retainedBytes") === original.map(_.length).sum)
      val until = one.getAs[java.sql.Timestamp]("retainedUntil").getTime
      assert(until - new File(dir, "_zorder/_commits/_1_done").lastModified() === 3 * 3600000L)
      // only the last run can be undone now
      assert(column(Seq(second, one), "undoPossible") === Seq(true, false))
      assert(column(Seq(second, one), "status") === Seq("published", "published"))

      sql(s"UNDO LAYOUT '$dir'").collect()
      val three = history(dir)
      assert(column(three, "operation") === Seq("undo", "optimize", "optimize"))
      assert(column(three, "status") === Seq("published", "undone", "published"))
      assert(column(three, "undoPossible") === Seq(false, false, true))
      // the undo shows the columns that the table is laid out by after it
      assert(column(three, "columns") === Seq(Seq("a", "b"), Seq("s"), Seq("a", "b")))
      assert(three(1).getAs[Long]("retainedBytes") === 0)
      assert(three(1).isNullAt(three(1).fieldIndex("retainedUntil")))
      assert(three.head.getAs[Long]("retainedBytes") === second.getAs[Long]("bytesAdded"))

      val dead = "00000000-0000-4000-8000-00000000dead"
      Files.write(
        new File(dir, s"_zorder/_runs/_$dead").toPath,
        s"""{"run":"$dead","folders":[""],"undone":null}""".getBytes("UTF-8"))
      Thread.sleep(20)
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      val four = history(dir)
      assert(column(four, "operation").head === "abort")
      assert(column(four, "status").head === "aborted")
      assert(column(four, "undoPossible").forall(_ == false))
      assert(column(four, "retainedBytes").forall(_ == 0L))
      assert(column(four, "retainedUntil").forall(_ == null))
    }
  }

  test("a run that is not published, and one that met a conflict") {
    withTableDir { dir =>
      write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val victim = new File(dir, live(dir).keys.filter(_.startsWith("p=1")).max)
      killedAt(1)(publishing)(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      val half = history(dir)
      assert(column(half, "status") === Seq("committed, not published"))
      assert(column(half, "undoPossible") === Seq(false))
      assert(victim.delete())
      fails("ZORDER_PUBLISH_CONFLICT")(sql(s"RECOVER LAYOUT '$dir'"))
      val after = history(dir)
      assert(column(after, "status") === Seq("conflict"))
      assert(column(after, "undoPossible") === Seq(false))
      // kept until somebody deletes them
      assert(after.head.getAs[Long]("retainedBytes") > 0)
      assert(column(after, "retainedUntil") === Seq(null))
    }
  }

  test("undoPossible is what UNDO then does") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      assert(column(history(dir), "undoPossible") === Seq(true))
      val file = new File(dir, dataFiles(dir).head.name)
      val modified = file.lastModified()
      assert(file.setLastModified(modified + 2000))
      assert(column(history(dir), "undoPossible") === Seq(false))
      fails("ZORDER_UNDO_REFUSED")(sql(s"UNDO LAYOUT '$dir'"))
      assert(file.setLastModified(modified))
      assert(column(history(dir), "undoPossible") === Seq(true))
      // an UNDO that was killed after it had claimed the files hinders neither
      killedAt(0)((o, p) => o == "create" && p.toString.contains("_commits/_tmp"))(
        sql(s"UNDO LAYOUT ${faulty(dir)}").collect())
      assert(under(dir, "_runs").size === 2 && runDirectories(dir).size === 1)
      val Seq(row) = history(dir)
      assert(row.getAs[Boolean]("undoPossible") && row.getAs[Long]("retainedBytes") > 0)
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(under(dir, "_runs").size === 1)
      assert(column(history(dir), "operation") === Seq("undo", "abort", "optimize"))
    }
  }

  testSteps(
    "RECOVER: a prefix of a run's renames, again, and when there is nothing to do",
    quick = 4) { step =>
    withTableDir { dir =>
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      assert(one(s"RECOVER LAYOUT '$dir'").toSeq.tail === Seq(0L, 0L, 0L))
      assert(!new File(dir, "_zorder").exists())
      val prefixes = Iterator.from(0, step).map { k =>
        withCopy(dir) { copy =>
          val (run, killed) =
            killedAt(k)(publishing)(sql(s"OPTIMIZE ${faulty(copy)} ZORDER BY a").collect())
          if (killed) {
            assert(run.isFailure)
            val before = hidden(copy, "_old_")
            val row = one(s"RECOVER LAYOUT '$copy'")
            assert(row.getAs[Long]("runsRecovered") === 1, s"killed at $k")
            assert(row.getAs[Long]("filesRemoved") === live(dir).size)
            assert(row.getAs[Long]("filesAdded") === dataFiles(copy).size)
            // nothing that is retained goes
            val after = hidden(copy, "_old_")
            assert(before.diff(after) === Nil)
          }
          assert(bag(read(copy)) === expected, s"killed at $k")
          assert(one(s"RECOVER LAYOUT '$copy'").getAs[Long]("runsRecovered") === 0)
          checkState(copy)
          killed
        }
      }.takeWhile(identity).size
      assert(prefixes * step > 3)
    }
  }

  test("the caches of the session see what RECOVER and UNDO brought") {
    withTable("t") {
      withTableDir { dir =>
        write(shuffled(200, 2), dir)
        sql(s"CREATE TABLE t USING parquet LOCATION 'faulty://${dir.getAbsolutePath}'")
        val expected = bag(spark.table("t"))
        killedAt(1)(publishing)(sql("OPTIMIZE t ZORDER BY a").collect())
        sql("RECOVER LAYOUT t").collect()
        assert(bag(spark.table("t")) === expected)
        assert(bag(read(dir)) === expected)
        sql("UNDO LAYOUT t").collect()
        assert(bag(spark.table("t")) === expected)
        assert(bag(read(dir)) === expected)
      }
    }
  }
}
