// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.actors

import java.io.File
import java.nio.file.Files

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

import io.sparkzorder.commands.FaultyTables

/** Replaced files are removed when the new files are proven to be there, and not because time passed. */
class KeptUntilProvenSuite extends FaultyTables {

  private def withOptimized(body: File => Unit): Unit = withTableDir { dir =>
    write(shuffled(300, 2), dir)
    sql(s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('retention' '2h')").collect()
    body(dir)
  }

  /** Lets the retention of every run pass. */
  private def later(dir: File): Unit = longAgo(dir, 5)

  private def newFiles(dir: File): Seq[File] = dataFiles(dir).map(f => new File(dir, f.name))

  private def empty(file: File): Unit = {
    val _ = Files.write(file.toPath, Array.emptyByteArray)
  }

  private def kept(dir: File): Seq[File] = hidden(dir, "_old_").filterNot(_.getName.endsWith("crc"))

  private def vacuum(dir: File, clauses: String): Seq[(String, Boolean)] =
    sql(s"VACUUM LAYOUT '$dir' $clauses").collect().toSeq
      .map((r: Row) => (r.getAs[String]("kind"), r.getAs[Boolean]("removed")))

  private val damages = Seq[(String, File => Unit)](
    "empty" -> (empty(_)),
    "zeros of the right length" -> (f =>
      Files.write(f.toPath, new Array[Byte](f.length.toInt))),
    "removed" -> (f => assert(f.delete())))

  for (((what, damage), i) <- damages.zipWithIndex) test(
    s"a damaged new file, $what: neither OPTIMIZE nor VACUUM removes what it replaced",
    (if (i == 1) Nil else Seq(Slow)): _*) {
    withOptimized { dir =>
      val before = kept(dir)
      assert(before.size === 2)
      newFiles(dir).take(1).foreach(damage)
      later(dir)
      scala.util.Try(sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect())
      assert(kept(dir).map(_.getName).take(2) === before.map(_.getName), what)
      for (clauses <- Seq("RETAIN 0 HOURS DRY RUN", "RETAIN 0 HOURS", "")) {
        assert(vacuum(dir, clauses).contains("unproven" -> false), s"$what, $clauses")
        assert(before.forall(_.exists()), s"$what, $clauses")
      }
    }
  }

  test("of two runs the second is damaged: what both replaced stays; when mended, both go") {
    withOptimized { dir =>
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY b OPTIONS ('retention' '2h')").collect()
      val before = kept(dir)
      val Seq(file) = newFiles(dir)
      val bytes = Files.readAllBytes(file.toPath)
      val modified = file.lastModified()
      empty(file)
      later(dir)
      assert(vacuum(dir, "") === Seq("unproven" -> false, "unproven" -> false))
      assert(before.nonEmpty && before.forall(_.exists()))
      Files.write(file.toPath, bytes)
      assert(file.setLastModified(modified))
      assert(vacuum(dir, "") === Seq("retained" -> true, "retained" -> true))
      assert(kept(dir) === Nil)
    }
  }

  test("one damaged partition keeps its own files alone") {
    withTableDir { dir =>
      write(shuffled(300, 1).selectExpr("*", "id % 3 p"), dir, "p")
      sql(s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('retention' '2h')").collect()
      dataFiles(dir).filter(_.folder == "p=1").foreach(f =>
        empty(new File(dir, s"${f.folder}/${f.name}")))
      later(dir)
      assert(vacuum(dir, "").toSet === Set("retained" -> true, "unproven" -> false))
      assert(kept(dir).map(_.getParentFile.getParentFile.getName).distinct === Seq("p=1"))
    }
  }

  test("a statement that is refused removes nothing, however old the kept files are") {
    withOptimized { dir =>
      later(dir)
      val before = snapshot(dir)
      for (statement <- Seq(
          s"OPTIMIZE '$dir' ZORDER BY nope",
          s"OPTIMIZE '$dir' ZORDER BY (a, a)",
          s"OPTIMIZE '$dir' WHERE nope = 1",
          s"OPTIMIZE '$dir' INTO '$dir'")) {
        intercept[Exception](sql(statement).collect())
        assert(snapshot(dir) === before, statement)
      }
      sql(s"OPTIMIZE '$dir'").collect()
      assert(kept(dir) === Nil)
    }
  }

  test("a run of before that is not published: a refusal leaves it as it is") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      val (_, killed) = killedAt(2)(isPublishing)(sql(statement(dir)).collect())
      assert(killed)
      val before = snapshot(dir)
      for (columns <- Seq("nope", "(a, a)")) {
        intercept[Exception](sql(s"OPTIMIZE '$dir' ZORDER BY $columns").collect())
        assert(snapshot(dir) === before)
      }
      val rows = bag(read(dir))
      sql(s"OPTIMIZE '$dir' ZORDER BY b").collect()
      assert(bag(read(dir)) === rows)
      checkState(dir)
    }
  }
}
