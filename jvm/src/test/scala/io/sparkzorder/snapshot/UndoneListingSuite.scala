// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.io.File
import java.nio.file.Files

import scala.collection.mutable
import scala.util.Try

import org.apache.commons.codec.digest.DigestUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.tagobjects.Slow

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.history.UndoTestBase
import io.sparkzorder.log.{FolderListing, StateDirectory}

/**
 * Readers with the extension while a run is published, undone and done again. A listing of any moment, laid
 * over by a reader of any later one, gives the files of the last committed record: all of them, and no other.
 */
class UndoneListingSuite extends UndoTestBase {

  /** Contents of files, by their digests. */
  private type Contents = Set[String]

  private def digest(path: File): String = DigestUtils.md5Hex(Files.readAllBytes(path.toPath))

  /**
   * A table whose listings are remembered, and what is wrong with what readers get from them.
   *
   * @param every 4 reads before each fourth rename
   */
  private class Watched(dir: File, every: Int) {
    private val state = new StateDirectory(new Path(dir.toURI), new Configuration())
    private val folders = Seq("p=0", "p=1").map(new Path(state.root, _))
    private val listings = mutable.LinkedHashSet.empty[FolderListing.Files]
    private var expected = visible
    val failures = mutable.ArrayBuffer.empty[String]
    var reads = 0
    private var renames = 0

    private def files: FolderListing.Files = folders.map { folder =>
      folder -> state.byName(folder).filterNot { case (name, _) =>
        name.startsWith("_") || name.startsWith(".")
      }
    }.toMap

    def visible: Map[Path, Contents] =
      files.map { case (folder, own) => folder -> contents(own).get }

    /** None when a file is not where it should be. */
    private def contents(own: Map[String, FileStatus]): Option[Contents] = {
      // a token has no bytes
      val disk = own.values.filter(_.getLen > 0).map(s => new File(s.getPath.toUri.getPath)).toSeq
      val digests = Try(disk.map(digest)).toOption
      digests.foreach(d => assert(d.distinct.size === d.size, disk))
      digests.map(_.toSet)
    }

    private def read(listed: FolderListing.Files): Map[Path, Option[Contents]] = {
      val changed = new Overlay(state, ShadowUse.Checked).over(new FolderListing {
        override def files(folder: Path): Option[Map[String, FileStatus]] = listed.get(folder)
      })
      folders.map(f => f -> contents(changed.getOrElse(f, listed(f)))).toMap
    }

    def look(moment: String): Unit = synchronized {
      listings += files
      listings.zipWithIndex.foreach { case (listed, i) =>
        // a rename of another thread may be under way, as for any reader
        val tries = Iterator.continually(read(listed)).take(3)
        reads += 1
        tries.find(_.values.forall(_.isDefined)) match {
          case None => failures += s"listing $i $moment: a file is missing"
          case Some(got) =>
            val now = got.map { case (f, c) => f -> c.get }
            if (now != expected) failures += s"listing $i $moment: ${told(now)}"
        }
      }
    }

    private def told(now: Map[Path, Contents]) = folders.map { f =>
      s"${f.getName} has ${now(f).size} files, ${(now(f) -- expected(f)).size} of them wrong, " +
        s"${(expected(f) -- now(f)).size} missing"
    }.mkString("; ")

    /**
     * Runs a statement and reads before its renames. In the end, what is visible is what was committed.
     *
     * @param after the contents of the folders; asked for once, when the statement has committed record `number`
     * @return these contents
     */
    def during(number: Int, after: => Map[Path, Contents])(
        statement: => Any): Map[Path, Contents] = {
      lazy val written = after
      val record = new File(dir, s"_zorder/_commits/_$number")
      FaultyFileSystem.withHook { (operation, path) =>
        synchronized {
          if (record.exists()) expected = written
          if (operation == "rename") renames += 1
          if (operation == "rename" && renames % every == 0) {
            look(s"before $operation ${path.getName} for record $number")
          }
        }
      }(statement)
      expected = written
      look(s"after record $number")
      assert(visible === expected)
      expected
    }
  }

  private val chain =
    "a run, its UNDO, and the run again: a listing of any moment, a reader of any later one"

  test(s"$chain; each fifth moment")(check(every = 5))

  test(chain, Slow)(check(every = 1))

  private def check(every: Int): Unit = {
    withTableDir { dir =>
      write(shuffled(60, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val rows = bag(read(dir))
      val watched = new Watched(dir, every)
      val before = watched.visible
      val sizes = s"OPTIONS (${sizeFor(dir, 6)})"

      /** What a run has written, seen in its hidden directories before the first of its renames. */
      def written: Map[Path, Contents] = before.keys.map { folder =>
        val own = new File(folder.toUri.getPath).listFiles.filter(_.getName.startsWith("_zorder_"))
        folder -> own.flatMap(_.listFiles).filter(_.getName.startsWith("_new_"))
          .map(digest).toSet
      }.toMap
      def optimizing(columns: String) =
        sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY $columns $sizes").collect()
      val first = watched.during(1, written)(optimizing("(a, b)"))
      assert(first.values.map(_.size).sum >= 6)
      watched.during(2, before)(sql(s"UNDO LAYOUT ${faulty(dir)}").collect())
      assert(bag(read(dir)) === rows)
      watched.during(3, written)(optimizing("(b, a)"))
      info(s"${watched.reads} reads")
      assert(watched.reads > 250 / every)
      assert(watched.failures === Nil)
    }
  }
}
