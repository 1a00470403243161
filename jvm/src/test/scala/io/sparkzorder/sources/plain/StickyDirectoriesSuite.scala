// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.io.File
import java.nio.file.{Files, Path => LocalPath}

import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

import io.sparkzorder.log.StateTestBase
import io.sparkzorder.table.DataFile
import io.sparkzorder.util.RawFiles

/** Files that may not be renamed although their directory may be written in. */
class StickyDirectoriesSuite extends StateTestBase {
  test("on local disk, the bit counts for others than the owner of the directory") {
    val directory = Files.createTempDirectory("sticky")
    try {
      val file = Files.createFile(directory.resolve("a"))
      val owner = Files.getOwner(file).getName
      val fs = RawFiles.of(new Path(directory.toUri), conf)
      def foreign(user: String) = new StickyDirectories(fs, user).foreign(Seq(data(file)))
      assert(foreign("somebody") === Nil)
      Files.setAttribute(directory, "unix:mode", Integer.valueOf(Integer.parseInt("1777", 8)))
      assert(foreign("somebody").map(f => (f._1.path.getName, f._2)) === Seq("a" -> owner))
      assert(foreign(owner) === Nil)
      assert(foreign("root") === Nil)
    } finally org.apache.commons.io.FileUtils.deleteDirectory(directory.toFile)
  }

  test("elsewhere, the owner of a file and the superuser may rename it too") {
    val fs = new StickyDirectoriesSuite.Owned
    fs.initialize(java.net.URI.create("file:///"), conf)
    val files = Seq("/t/sticky/bob", "/t/sticky/alice", "/t/open/bob").map(f =>
      DataFile.alone(fs.getFileStatus(new Path(f))))
    def foreign(user: String) = new StickyDirectories(fs, user).foreign(files)
      .map { case (file, owner) => (file.path.toUri.getPath, owner) }
    assert(foreign("alice") === Seq("/t/sticky/bob" -> "bob"))
    assert(foreign("carol") === Seq("/t/sticky/bob" -> "bob"))
    assert(foreign("keeper") === Nil)
    assert(foreign("hdfs") === Nil)
  }

  test("OPTIMIZE is refused before anything is written") {
    val fs = new StickyDirectoriesSuite.Owned
    fs.initialize(java.net.URI.create("file:///"), conf)
    def check(file: String): Unit = new DestinationCheck("the table", fs, new Path("/t"))
      .replaced(Seq(DataFile.alone(fs.getFileStatus(new Path(file)))))
    fails("ZORDER_DIRECTORY_STICKY", "bob", "/t/sticky", "the table")(check("/t/sticky/bob"))
  }

  private def data(file: LocalPath): DataFile =
    DataFile.alone(new FileStatus(0, false, 1, 1, 0, new Path(file.toUri)))
}

object StickyDirectoriesSuite {

  /** Directories of `keeper`, one of them with the bit; a file belongs to the user of its name. */
  class Owned extends RawLocalFileSystem {
    override def getUri: java.net.URI = java.net.URI.create("owned:///")

    override def getFileStatus(path: Path): FileStatus = {
      val name = new File(path.toUri.getPath).getName
      val (isDirectory, owner) = name match {
        case "" => (true, "hdfs")
        case "sticky" | "open" => (true, "keeper")
        case _ => (false, name)
      }
      val bits = new FsPermission(if (name == "sticky") "1777" else "0777")
      new FileStatus(0, isDirectory, 1, 1, 1, 1, bits, owner, "users", path)
    }
  }
}
