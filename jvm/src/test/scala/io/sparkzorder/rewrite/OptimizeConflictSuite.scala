// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import org.apache.commons.io.FileUtils
import org.apache.hadoop.fs.Path

import io.sparkzorder.commands.FaultyTables

/** The table changes while OPTIMIZE runs: rows that others wrote or removed stay so. */
class OptimizeConflictSuite extends FaultyTables {

  /** Runs OPTIMIZE and changes the table when its inputs are listed again before the commit. */
  private def beforeCommit[T](dir: File)(change: => Unit)(body: => T): T =
    meanwhile(relisting(dir))(change)(body)

  test("an input that is changed or removed between the listing and the commit") {
    val changes = Seq[(String, File => Unit)](
      "was removed" -> (f => assert(f.delete())),
      "was overwritten" -> (f => assert(f.setLastModified(f.lastModified() + 60000))),
      "was overwritten" -> { f =>
        val modified = f.lastModified()
        Files.write(f.toPath, Array[Byte](1), java.nio.file.StandardOpenOption.APPEND)
        assert(f.setLastModified(modified))
      })
    for ((word, change) <- changes) withTableDir { dir =>
      write(shuffled(400, 4), dir)
      val victim = new File(dir, dataFiles(dir).last.name)
      var meanwhile = Map.empty[String, (Long, String)]
      beforeCommit(dir) {
        change(victim)
        meanwhile = userFiles(dir)
      } {
        fails("ZORDER_CONFLICT", victim.getName, word)(sql(statement(dir)))
      }
      assert(userFiles(dir) === meanwhile)
      checkState(dir)
      assert(!new File(dir, "_zorder/_commits/_1").exists())
    }
  }

  test("an input that is removed while the new files are verified") {
    for (verify <- Seq("footer", "full")) withTableDir { dir =>
      write(shuffled(400, 4), dir)
      val victim = new File(dir, dataFiles(dir).last.name)
      val opens = new AtomicInteger
      def isVerifying(operation: String, path: Path) = operation == "open" &&
        path.getName == victim.getName && hidden(dir, "_new_").nonEmpty &&
        // the footer is read first, and the rows later
        (verify != "full" || opens.incrementAndGet() > 1)
      meanwhile(isVerifying)(assert(victim.delete())) {
        fails("ZORDER_CONFLICT", victim.getName, "was removed")(
          sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY (a, b) OPTIONS ('verify' '$verify')"))
      }
      checkState(dir)
      assert(!new File(dir, "_zorder/_commits/_1").exists())
    }
  }

  test("replaced files stay where they are kept when somebody deletes the record meanwhile") {
    withTableDir { dir =>
      write(shuffled(400, 4), dir)
      val lengths = dataFiles(dir).map(f => new File(dir, f.name).length).sorted
      // the first new file gets its name: all replaced ones are out
      meanwhile((operation, path) =>
        operation == "rename" && path.toUri.getPath.matches(s"$dir/part-\\d+.*")) {
        FileUtils.deleteDirectory(new File(dir, "_zorder/_commits"))
      }(fails("ZORDER_STATE_LOST")(sql(statement(dir))))
      val kept = hidden(dir, "_old_")
      assert(kept.filterNot(_.getName.startsWith(".")).map(_.length).sorted === lengths)
    }
  }

  test("a run is published in all folders when its record is back that somebody has moved away meanwhile") {
    withTableDir { dir =>
      write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      val (commits, away) = (new File(dir, "_zorder/_commits"), new File(s"$dir.away"))
      // one folder is published, and the other is not begun
      meanwhile((operation, path) =>
        operation == "rename" && path.toUri.getPath.matches(s"$dir/p=\\d/part-\\d+.*")) {
        assert(commits.renameTo(away))
      }(fails("ZORDER_STATE_LOST")(sql(statement(dir))))
      assert(hidden(dir, "_old_").nonEmpty && hidden(dir, "_new_").nonEmpty)
      assert(under(dir, "_runs").nonEmpty)
      FileUtils.deleteDirectory(commits)
      assert(away.renameTo(commits))
      sql(s"RECOVER LAYOUT '$dir'").collect()
      assert(hidden(dir, "_new_").isEmpty)
      assert(!new File(commits, "_1_conflict").exists())
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }

  test("a file that comes between the listing and the commit stays, and so do its rows") {
    withTableDir { dir =>
      write(shuffled(400, 4), dir)
      val expected = bag(read(dir))
      beforeCommit(dir)(write(shuffled(10, 1), dir))(sql(statement(dir)))
      assert(read(dir).count() === 410)
      assert(bag(read(dir)) === (expected.toSeq ++ bag(shuffled(10, 1).toDF()).toSeq)
        .groupBy(_._1).map { case (k, vs) => k -> vs.map(_._2).sum })
      checkState(dir)
    }
  }

  test("the table is overwritten while OPTIMIZE runs") {
    withTableDir { dir =>
      write(shuffled(400, 4), dir)
      beforeCommit(dir)(shuffled(30, 1).write.mode("overwrite").parquet(dir.getAbsolutePath)) {
        fails("ZORDER_CONFLICT")(sql(statement(dir)))
      }
      assert(read(dir).count() === 30)
      checkState(dir)
    }
  }

  test("another OPTIMIZE of the same files commits first") {
    withTableDir { dir =>
      write(shuffled(400, 4), dir)
      val expected = bag(read(dir))
      beforeCommit(dir)(sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()) {
        fails("ZORDER_CONFLICT")(sql(statement(dir)))
      }
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }

  test("another OPTIMIZE commits after the recovery and before the listing, and is not published: a conflict") {
    withTableDir { dir =>
      write(shuffled(400, 4), dir)
      val expected = bag(read(dir))
      assert(killedAt(0)(isPublishing)(sql(statement(dir)).collect())._2)
      val (record, away) = (new File(dir, "_zorder/_commits/_1"), new File(s"$dir.record"))
      assert(record.renameTo(away))
      // the last step of the recovery lists the intents
      var hasRecovered = false
      def isListing(operation: String, path: Path) = {
        if (operation == "list" && path.getName == "_runs") hasRecovered = true
        hasRecovered && operation == "list" && path.toUri.getPath == dir.getAbsolutePath
      }
      meanwhile(isListing)(assert(away.renameTo(record))) {
        fails("ZORDER_CONFLICT", "not published yet")(
          sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY b").collect())
      }
      assert(bag(read(dir)) === expected && hidden(dir, "_new_").nonEmpty)
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect()
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }

  test("another OPTIMIZE of other files commits first: both are in") {
    withTableDir { dir =>
      write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      beforeCommit(dir)(sql(s"OPTIMIZE '$dir' WHERE p = 0 ZORDER BY a").collect()) {
        sql(s"OPTIMIZE ${faulty(dir)} WHERE p = 1 ZORDER BY a").collect()
      }
      assert(bag(read(dir)) === expected)
      assert(new File(dir, "_zorder/_commits/_2_done").exists())
      checkState(dir)
    }
  }
}
