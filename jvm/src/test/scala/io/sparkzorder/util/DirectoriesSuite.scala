// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.{File, IOException}
import java.nio.channels.ClosedByInterruptException
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.security.AccessControlException

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.StateTestBase

class DirectoriesSuite extends StateTestBase {

  /** Fails to list, as Hadoop's local file system does when a directory vanishes between its looks. */
  private final class Vanishing(before: => Unit) extends RawLocalFileSystem {
    private var failed = false
    initialize(new Path("/").toUri.resolve("file:///"), conf)

    override def listStatus(path: Path): Array[FileStatus] =
      if (failed) super.listStatus(path)
      else {
        failed = true
        before
        throw new IOException(s"Invalid directory or I/O error occurred for dir: $path")
      }
  }

  test(
    "a directory is closed to a user who may not enter it, or a directory above it in the table") {
    withTable { (dir, state) =>
      put(dir, "p=1/q=2/a", "")
      def isClosed(folder: String, denied: File*) = RawFiles.isClosed(
        state.folder(folder),
        state.root,
        d => !denied.contains(d.toFile))
      val (p, q) = (new File(dir, "p=1"), new File(dir, "p=1/q=2"))
      assert(isClosed("p=1/q=2", p) && isClosed("p=1/q=2", q) && isClosed("p=1", p))
      assert(isClosed("p=1/q=3", p) && !isClosed("p=1/q=3", q) && !isClosed("p=1", q))
      assert(!isClosed("p=1/q=2", dir.getParentFile) && isClosed("", dir))
    }
  }

  test("a sync that is interrupted fails, and a directory that is gone is skipped") {
    withTable { (_, state) =>
      state.create()
      val (fs, home) = (state.fs, state.home)
      Durable.directories(fs, Seq(home, new Path(home, "gone")))
      Thread.currentThread().interrupt()
      try intercept[ClosedByInterruptException](Durable.directories(fs, Seq(home)))
      finally assert(Thread.interrupted())
    }
  }

  test("a directory that is removed while it is listed is not there") {
    withTable { (dir, state) =>
      state.create()
      val fs = state.fs
      assert(Directories.list(new Vanishing(fs.delete(state.home, true)), state.home) === None)
      assert(Directories.list(fs, state.home) === None)
      assert(state.files(state.commits) === Nil)
      assert(dir.exists())
    }
  }

  test("a directory that is removed and made again meanwhile is listed") {
    withTable { (_, state) =>
      state.create()
      val names = Directories.list(new Vanishing(()), state.home).get.map(_.getPath.getName)
      assert(names.toSet === Set("_commits", "_runs", "_README"))
    }
  }

  test("a path below a file is no directory, and what cannot be listed is an error") {
    withTable { (dir, state) =>
      state.create()
      assert(Directories.list(state.fs, new Path(state.home, "_README/_x")) === None)
      val broken = new RawLocalFileSystem {
        initialize(new Path("/").toUri.resolve("file:///"), conf)
        override def listStatus(path: Path): Array[FileStatus] = throw new IOException("no disk")
      }
      assert(intercept[IOException](Directories.list(broken, state.home)).getMessage === "no disk")
      assert(dir.exists())
    }
  }

  test("a directory whose files cannot be moved: an error says so, and the loop ends") {
    withScheme("faulty") { (_, state) =>
      state.create()
      val (from, to) = (new Path(state.home, "_from"), new Path(state.home, "_to"))
      state.fs.mkdirs(from)
      state.write(new Path(from, "_old_0"), Array[Byte](1))
      // as HDFS does where the name is taken
      val stuck = new FaultyFileSystem {
        override def rename(from: Path, to: Path): Boolean = false
      }
      stuck.initialize(state.fs.getUri, conf)
      val error = intercept[IOException](Directories.drain(stuck, from, to, conf))
      assert(error.getMessage.contains("_old_0"), error)
      assert(state.byName(from).keySet === Set("_old_0"))
      Directories.drain(state.fs, from, to, conf)
      assert(!state.fs.exists(from) && state.byName(to).keySet === Set("_old_0"))
    }
  }

  test("a directory that another user has made: its bits stay, and the files are moved into it") {
    def posix(path: Path) = java.nio.file.Paths.get(path.toUri.getPath)
    def bits(path: Path) = PosixFilePermissions.toString(Files.getPosixFilePermissions(posix(path)))
    for ((ofTo, isMoved) <- Seq("rwxrwxr-x" -> true, "rwxrwx---" -> true, "rwxrwxrwx" -> false)) {
      withScheme("faulty") { (_, state) =>
        state.create()
        val (from, to) = (new Path(state.home, "_from"), new Path(state.home, "_to"))
        for ((d, b) <- Seq(from -> "rwxrwxr-x", to -> ofTo)) {
          state.fs.mkdirs(d)
          Files.setPosixFilePermissions(posix(d), PosixFilePermissions.fromString(b))
        }
        state.write(new Path(from, "_old_0"), Array[Byte](1))
        val foreign = new FaultyFileSystem {
          override def setPermission(path: Path, bits: FsPermission): Unit =
            throw new AccessControlException(s"not the owner of $path")
        }
        foreign.initialize(state.fs.getUri, conf)
        // files do not move to where more users can list them
        val moved = Try(Directories.drain(foreign, from, to, conf))
        assert(moved.isSuccess === isMoved, s"$ofTo: $moved")
        assert(state.byName(if (isMoved) to else from).keySet === Set("_old_0"))
        assert(bits(to) === ofTo)
      }
    }
  }
}
