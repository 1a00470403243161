package io.sparkzorder.commands.history

import java.io.File

import scala.util.Try

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables

/** RECOVER LAYOUT ... ABANDON puts a run back that is committed and not published. */
class AbandonSuite extends FaultyTables {

  private def optimizeOf(dir: File) = s"OPTIMIZE ${faulty(dir)} ZORDER BY a"

  private def statuses(dir: File): Seq[String] =
    sql(s"SHOW LAYOUT HISTORY '$dir'").collect().map(_.getAs[String]("status")).toSeq

  test("killed at any rename, then abandoned, and that killed as well: all rows, nothing hidden") {
    withTableDir { dir =>
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      val before = live(dir)
      val steps = Iterator.from(0).map { k =>
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
      assert(steps > 5)
    }
  }

  test("renames in one folder are denied: RECOVER fails each time, ABANDON helps") {
    withTableDir { dir =>
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      def denied[T](body: => T): T = FaultyFileSystem.withHook { (operation, path) =>
        if (isPublishing(operation, path) && path.toString.contains("p=1") &&
          path.getName.startsWith("_old_")) {
          throw new FaultyFileSystem.Injected(path.toString)
        }
      }(body)
      for (_ <- 0 to 1) {
        assert(denied(Try(sql(optimizeOf(dir)).collect())).isFailure)
        assert(denied(Try(sql(s"RECOVER LAYOUT ${faulty(dir)}").collect())).isFailure)
        assert(statuses(dir) === Seq("committed, not published"))
        assert(bag(read(dir)) === expected)
      }
      val row = denied(one(s"RECOVER LAYOUT ${faulty(dir)} ABANDON"))
      assert(row.getAs[Long]("runsRecovered") === 1)
      assert(bag(read(dir)) === expected)
      assert(statuses(dir) === Seq("abandoned", "abandoned"))
      assert(runDirectories(new File(dir, "p=1")) === Nil)
      checkState(dir)
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
