// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.io.File

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.RandomInputs
import io.sparkzorder.log._
import io.sparkzorder.log.publish.Publisher
import io.sparkzorder.util.Paths

/** Tables with runs that are published in part, and what readers with the extension see of them. */
abstract class OverlayTableBase extends StateTestBase with RandomInputs {

  /** The visible files of all folders at one moment. */
  protected final class Listing(dir: File, state: StateDirectory, folders: Seq[String])
      extends FolderListing {
    protected val all: Map[Path, Map[String, FileStatus]] = folders.map { f =>
      val folder = Paths.folder(state.root, f)
      val names = visible(dir, f)
      folder -> new PresentFiles(state).in(folder).filter(e => names(e._1))
    }.toMap
    override def files(folder: Path): Option[Map[String, FileStatus]] = all.get(folder)

    /**
     * Contents that a reader finds in each folder; None when a file is missing.
     *
     * @param upTo the number of the newest record that may add rows that were not listed
     */
    def read(
        reader: StateDirectory = state,
        upTo: Option[Long] = None): Map[String, Option[Set[String]]] = {
      val changed = new Overlay(reader, ShadowUse.Checked, upTo).over(this)
      folders.map { f =>
        val folder = Paths.folder(state.root, f)
        val files = changed.getOrElse(folder, all(folder)).values.toSeq
        assert(files.map(_.getPath).distinct.size === files.size)
        val disk = files.map(s => new File(s.getPath.toUri.getPath))
        f -> (if (disk.forall(_.isFile)) {
                val contents = disk.map(d => text(d.getParentFile, d.getName))
                assert(contents.distinct.size === contents.size)
                Some(contents.toSet)
              } else None)
      }.toMap
    }
  }

  protected val both = Seq("", "p=1")
  protected val folders = Map(
    "" -> ((Seq("a", "b"), Seq("n1", "n2"))),
    "p=1" -> ((Seq("a", "c"), Seq("m1"))))
  protected val before = Map(
    "" -> Option(Set("old a", "old b")),
    "p=1" -> Option(Set("old p=1/a", "old p=1/c")))
  protected val after = Map("" -> Option(Set("new n1", "new n2")), "p=1" -> Option(Set("new m1")))

  protected def tree(dir: File): Set[(String, Long, Long)] = {
    val stream = java.nio.file.Files.walk(dir.toPath)
    try stream.iterator().asScala.map { p =>
        (p.toString, p.toFile.lastModified, if (p.toFile.isFile) p.toFile.length else 0L)
      }.toSet
    finally stream.close()
  }

  protected def nothingWritten[T](dir: File)(body: => T): T = {
    val seen = tree(dir)
    val result = body
    assert(tree(dir) === seen, "a reader wrote")
    result
  }

  protected def publish(dir: File, state: StateDirectory, number: Long, record: Record): Unit = {
    assert(state.createRecord(number, record))
    new Publisher(state).publish(number, record)
  }
}
