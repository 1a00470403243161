// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions

import scala.sys.process._
import scala.util.Try

import io.sparkzorder.commands.OptimizeTestBase

/** What surrounds the files: permissions, links, room on disk. */
class OptimizeEnvironmentSuite extends OptimizeTestBase {

  private def permissions(file: Path): String =
    PosixFilePermissions.toString(Files.getPosixFilePermissions(file))

  private def paths(dir: File): Seq[Path] =
    dataFiles(dir).map(f => new File(new File(dir, f.folder), f.name).toPath)

  test("new files have the permission bits of the files that they replace, folder by folder") {
    withTableDir { dir =>
      write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val wanted = Map("p=0" -> "rw-r-----", "p=1" -> "rw-rw-rw-")
      for (f <- paths(dir)) {
        val bits = wanted(f.getParent.getFileName.toString)
        Files.setPosixFilePermissions(f, PosixFilePermissions.fromString(bits))
      }
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      for (f <- paths(dir)) assert(permissions(f) === wanted(f.getParent.getFileName.toString))
    }
  }

  test("and their group and owner, where the process may") {
    withTableDir { dir =>
      write(shuffled(100, 1), dir)
      val file = paths(dir).head
      val changed = Try(Seq("chown", "12345:23456", file.toString).! == 0).getOrElse(false)
      assume(changed, "only a superuser may give files away")
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
      for (f <- paths(dir)) {
        assert(Files.getAttribute(f, "unix:uid") === 12345)
        assert(Files.getAttribute(f, "unix:gid") === 23456)
      }
    }
  }

  test("symbolic links are not followed: files, folders, and what lies above them") {
    withTempDir { base =>
      val elsewhere = new File(base.getCanonicalFile, "elsewhere")
      write(shuffled(100, 1).selectExpr("*", "1 p", "2 q"), elsewhere, "p", "q")
      for (link <- Seq("p=1", "p=1/q=2", "p=1/q=2/x.parquet")) {
        val dir = new File(base.getCanonicalFile, s"table-${link.count(_ == '/')}")
        write(shuffled(100, 1).selectExpr("*", "7 p", "7 q"), dir, "p", "q")
        val target =
          if (link.endsWith(".parquet")) paths(elsewhere).head
          else elsewhere.toPath.resolve(link)
        val place = dir.toPath.resolve(link)
        Files.createDirectories(place.getParent)
        Files.createSymbolicLink(place, target)
        val before = (snapshot(dir), snapshot(elsewhere))
        fails("ZORDER_SYMBOLIC_LINK", link)(sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)"))
        assert((snapshot(dir), snapshot(elsewhere)) === before)
        // a partition chosen by WHERE has no link
        sql(s"OPTIMIZE '$dir' WHERE p = 7 ZORDER BY (a, b)")
      }
      val named = new File(base.getCanonicalFile, "named")
      Files.createSymbolicLink(named.toPath, elsewhere.toPath)
      // the table itself may be reached by a link
      val files = dataFiles(elsewhere)
      sql(s"OPTIMIZE '$named' ZORDER BY (a, b)")
      assert(dataFiles(elsewhere).intersect(files) === Nil)
      assert(read(elsewhere).count() === 100)
    }
  }

  test("a disk that is mounted read-only: SELECT, DRY RUN and INTO elsewhere work") {
    withTempDir { base =>
      val mount = new File(base.getCanonicalFile, "readonly")
      assert(mount.mkdir())
      def done(command: String*) = Try(command.! == 0).getOrElse(false)
      val mounted = done("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", mount.toString)
      assume(mounted, "mounting needs a superuser")
      try {
        val dir = new File(mount, "table")
        write(shuffled(400, 2), dir)
        assert(done("mount", "-o", "remount,ro", mount.toString))
        val (before, rows) = (snapshot(mount), bag(read(dir)))
        fails("ZORDER_DIRECTORY_NOT_WRITABLE", dir.toString)(
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)"))
        sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) DRY RUN").collect()
        val out = new File(base.getCanonicalFile, "out")
        sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$out'").collect()
        assert(bag(read(out)) === rows)
        assert(snapshot(mount) === before)
      } finally assert(done("umount", mount.toString))
    }
  }

  test("a small disk: refused before anything is written, or the old table stays") {
    withTempDir { base =>
      val mount = new File(base.getCanonicalFile, "small")
      assert(mount.mkdir())
      val mounted = Try(
        Seq("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", mount.toString).! == 0)
      assume(mounted.getOrElse(false), "mounting needs a superuser")
      try {
        val dir = new File(mount, "table")
        write(shuffled(20000, 4), dir)
        val size = dataFiles(dir).map(_.length).sum
        // the files fit once, not twice
        val filler = mount.toPath.resolve("filler")
        Files.write(filler, new Array[Byte]((mount.getUsableSpace - size / 2).toInt))
        val before = snapshot(dir)
        fails("ZORDER_NOT_ENOUGH_SPACE", "VACUUM")(sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)"))
        assert(snapshot(dir) === before)
        // enough to begin with, and then somebody else fills the disk
        Files.write(
          filler,
          new Array[Byte]((mount.getUsableSpace + Files.size(filler) -
            size * 5 / 4).toInt))
        val files = userFiles(dir)
        val result = Try(sql(s"OPTIMIZE '$dir' ZORDER BY (id) OPTIONS ('targetFileSize' '1g')"))
        Files.write(filler, Array.emptyByteArray)
        if (result.isFailure) assert(userFiles(dir) === files)
        checkState(dir)
        assert(read(dir).count() === 20000)
        optimize(s"OPTIMIZE '$dir' FULL ZORDER BY (b, a)", dir)(read(dir))
      } finally assert(Seq("umount", mount.toString).! == 0)
    }
  }
}
