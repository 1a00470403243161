// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.actors

import java.io.File
import java.nio.file.Files

import scala.util.Try

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame

import io.sparkzorder.{FaultyFileSystem, Steps}
import io.sparkzorder.commands.FaultyTables

/** Partition directories that are renamed, moved or exchanged while a run has files in them. */
class MovedFoldersSuite extends FaultyTables with Steps {

  private def move(dir: File, from: String, to: String): Unit = {
    val _ = Files.move(new File(dir, from).toPath, new File(dir, to).toPath)
  }

  /** Rows after a change of the partitions, which is done to the values `p` alone. */
  private def moved(rows: Map[Any, Int], to: Map[Any, Any]): Map[Any, Int] =
    rows.map {
      case (r: Seq[_], n) =>
        (r.init :+ to.getOrElse(r.last, r.last)) -> n
      case other => other
    }

  /** For each change one step, at which a folder is half way. */
  private def first(step: Int): Int = if (step == 1) 0 else 4

  private def atKills(step: Int, change: File => Unit, values: Map[Any, Any]): Unit = {
    var (k, more) = (first(step), true)
    while (more) withTableDir { dir =>
      write(shuffled(120, 1).selectExpr("*", "int(id % 3) p"), dir, "p")
      val expected = moved(bag(read(dir)), values)
      more = killedAt(k)(isPublishing)(sql(statement(dir)).collect())._2 && step == 1
      change(dir)
      assert(bag(read(dir)) === expected, s"killed at $k")
      sql(s"RECOVER LAYOUT '$dir'").collect()
      assert(bag(read(dir)) === expected, s"recovered, killed at $k")
      checkState(dir)
      assert(
        sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
          .forall(_.getAs[Boolean]("removed")),
        s"killed at $k")
      assert(runDirectories(dir) === Nil, s"killed at $k")
      optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(read(dir))
      assert(bag(read(dir)) === expected, s"optimized, killed at $k")
      k += step
    }
    assert(k > 5)
  }

  // a rename is one half of an exchange
  test("a partition that is renamed after a kill, whenever it was", Slow) {
    atKills(1, move(_, "p=1", "p=7"), Map(1 -> 7))
  }

  testSteps("two partitions that are exchanged after a kill, whenever it was") { step =>
    atKills(
      step,
      { dir =>
        move(dir, "p=1", "p=9")
        move(dir, "p=2", "p=1")
        move(dir, "p=9", "p=2")
      },
      Map(1 -> 2, 2 -> 1))
  }

  testSteps("a partition that is renamed between any two steps of a publish that goes on") { step =>
    var (k, more) = (first(step), true)
    while (more) withTableDir { dir =>
      write(shuffled(120, 1).selectExpr("*", "int(id % 3) p"), dir, "p")
      val expected = moved(bag(read(dir)), Map(1 -> 7))
      var seen = 0
      FaultyFileSystem.withHook { (operation, path) =>
        if (isPublishing(operation, path)) {
          if (seen == k) move(dir, "p=1", "p=7")
          seen += 1
        }
      }(Try(sql(statement(dir)).collect()))
      more = seen > k && step == 1
      if (seen <= k) move(dir, "p=1", "p=7")
      assert(bag(read(dir)) === expected, s"renamed at $k")
      Try(sql(s"RECOVER LAYOUT '$dir'").collect())
      assert(bag(read(dir)) === expected, s"recovered, renamed at $k")
      sql(s"OPTIMIZE '$dir' ZORDER BY b").collect()
      assert(bag(read(dir)) === expected, s"optimized, renamed at $k")
      checkState(dir)
      k += step
    }
    assert(k > 5)
  }

  testSteps(
    "a listing from between any two steps of a publish, whose partition is renamed after it",
    quick = 3) { step =>
    var (k, more, lacking) = (first(step), true, 0)
    while (more) withTableDir { dir =>
      write(shuffled(120, 1).selectExpr("*", "int(id % 3) p"), dir, "p")
      val before = bag(read(dir))
      var listed = Option.empty[DataFrame]
      var seen = 0
      FaultyFileSystem.withHook { (operation, path) =>
        if (isPublishing(operation, path)) {
          seen += 1
          if (seen == k + 1) listed = Some(read(dir))
        }
      }(sql(statement(dir)).collect())
      more = listed.isDefined
      move(dir, "p=1", "p=7")
      listed.foreach { held =>
        // Spark itself says when a file is missing that its listing shows
        Try(bag(held)).recover {
          case e if e.getMessage.contains("ZORDER_LISTING_INCOMPLETE") =>
            lacking += 1
            before
          case e if e.getMessage.contains("FILE_NOT_EXIST") => before
        }.foreach(rows => assert(Set(before, moved(before, Map(1 -> 7)))(rows), s"listed at $k"))
      }
      assert(bag(read(dir)) === moved(before, Map(1 -> 7)))
      // for each change until a listing lacks something
      more &&= step == 1 || lacking == 0
      k += step
    }
    assert(k > 5 && lacking > 0)
  }

  for ((k, tags) <- Seq(4 -> Nil, 1 -> Seq(Slow), 6 -> Seq(Slow))) {
    test(s"a renamed partition is abandoned where it is, killed at rename $k", tags: _*) {
      checkAbandoned(k)
    }
  }

  private def checkAbandoned(k: Int): Unit = {
    withTableDir { dir =>
      write(shuffled(120, 1).selectExpr("*", "int(id % 3) p"), dir, "p")
      val expected = moved(bag(read(dir)), Map(1 -> 7))
      killedAt(k)(isPublishing)(sql(statement(dir)).collect())
      move(dir, "p=1", "p=7")
      sql(s"RECOVER LAYOUT '$dir' ABANDON").collect()
      assert(bag(read(dir)) === expected, s"killed at $k")
      optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(read(dir))
    }
  }

  test("ALTER TABLE RENAME PARTITION after a kill") {
    withTable("t") {
      sql("CREATE TABLE t (id BIGINT, a INT, b INT, s STRING, p INT) USING parquet " +
        "PARTITIONED BY (p)")
      shuffled(120, 1).selectExpr("*", "int(id % 3) p").write.insertInto("t")
      val dir = locationOf("t")
      val expected = moved(bag(spark.table("t")), Map(1 -> 7))
      // some folder is half way
      killedAt(5)(isPublishing)(sql(statement(dir)).collect())
      sql("ALTER TABLE t PARTITION (p = 1) RENAME TO PARTITION (p = 7)")
      assert(bag(spark.table("t")) === expected)
      sql("OPTIMIZE t ZORDER BY b").collect()
      assert(bag(spark.table("t")) === expected)
      assert(bag(read(dir)) === expected)
    }
  }

  test("the kept files of two runs go, and the partition was renamed between the runs") {
    withTableDir { dir =>
      write(shuffled(120, 1).selectExpr("*", "int(id % 3) p"), dir, "p")
      sql(statement(dir)).collect()
      move(dir, "p=1", "p=7")
      val expected = bag(read(dir))
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect()
      val rows = sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(rows.length > 0 && rows.forall(_.getAs[Boolean]("removed")), rows.mkString("\n"))
      assert(runDirectories(dir) === Nil)
      assert(bag(read(dir)) === expected)
    }
  }

  test("the kept files of a partition that was renamed after the run are found by VACUUM") {
    withTableDir { dir =>
      write(shuffled(120, 1).selectExpr("*", "int(id % 3) p"), dir, "p")
      sql(statement(dir)).collect()
      move(dir, "p=1", "p=7")
      val rows = sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(rows.forall(r =>
        r.getAs[String]("kind") == "retained" && r.getAs[Boolean]("removed")))
      assert(runDirectories(dir) === Nil)
    }
  }

  test("a partition that is renamed before the commit: a conflict, and VACUUM leaves nothing") {
    withTableDir { dir =>
      write(shuffled(120, 1).selectExpr("*", "int(id % 3) p"), dir, "p")
      val expected = moved(bag(read(dir)), Map(1 -> 7))
      meanwhile(relisting(dir))(move(dir, "p=1", "p=7")) {
        fails("ZORDER_CONFLICT")(sql(statement(dir)).collect())
      }
      assert(bag(read(dir)) === expected)
      Thread.sleep(5)
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(runDirectories(dir) === Nil)
      optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(read(dir))
    }
  }

  test("a hidden directory of a run that the log does not know is named by VACUUM") {
    withTableDir { dir =>
      write(shuffled(120, 1), dir)
      sql(statement(dir)).collect()
      val stranger = new File(dir, "_zorder_00000000-0000-4000-8000-000000000001")
      assert(stranger.mkdirs())
      Files.write(new File(stranger, "_old_0").toPath, Array[Byte](1, 2, 3))
      val named = sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
        .filter(_.getAs[String]("path").contains(stranger.getName))
      assert(named.map(_.getAs[Boolean]("removed")).toSeq === Seq(false))
      assert(new File(stranger, "_old_0").exists())
      assert(Try(read(dir).count()).get === 120)
    }
  }
}
