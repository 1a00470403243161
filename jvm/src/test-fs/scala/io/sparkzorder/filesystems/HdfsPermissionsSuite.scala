// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.Path
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.hdfs.protocol.HdfsConstants

/** Who may do what to a table on HDFS, and how much of it there may be. */
class HdfsPermissionsSuite extends HdfsTestBase {

  private def writePartitioned(dir: Path): Unit =
    writeTo(dir, shuffled(400, 2).selectExpr("*", "id % 3 p"), "p")

  /** What fails must leave the user's files as they are and nothing staged. */
  private def refused(dir: Path)(body: => Unit): Unit = {
    val before = contents(dir)
    body
    assert(contents(dir) === before)
    checkStateOf(dir)
  }

  private def directories(dir: Path): Seq[Path] = {
    val below = cluster.superuser.listStatus(dir).toSeq.filter(_.isDirectory).map(_.getPath)
    dir +: below.flatMap(directories)
  }

  /** Hands a table over to another user. */
  private def give(dir: Path, user: String, group: String, mode: String): Unit = {
    val all = directories(dir) ++ statuses(dir).values.map(_.getPath)
    all.foreach { path =>
      cluster.superuser.setOwner(path, user, group)
      cluster.superuser.setPermission(path, new FsPermission(mode))
    }
  }

  private val modes = Map("p=0" -> "rw-r-----", "p=1" -> "rw-rw-r--", "p=2" -> "r--r--r--")

  private def octal(folder: String): String =
    Map("p=0" -> "640", "p=1" -> "664", "p=2" -> "444")(folder)

  test("permission bits and group of new files are those of the replaced ones, by folder") {
    withHdfsTable { dir =>
      writePartitioned(dir)
      val groups = Map("p=0" -> "interns", "p=1" -> "analysts", "p=2" -> "sales")
      for ((name, s) <- userStatuses(dir) if name.startsWith("p=")) {
        val folder = name.takeWhile(_ != '/')
        cluster.superuser.setOwner(s.getPath, null, groups(folder))
        cluster.superuser.setPermission(s.getPath, new FsPermission(octal(folder)))
      }
      optimized(dir)
      for (name <- dataNames(dir)) {
        val (folder, s) = (name.takeWhile(_ != '/'), statuses(dir)(name))
        assert(s.getPermission.toString === modes(folder))
        assert(s.getOwner === "alice")
        // alice is not in sales, so it is the folder's group, as for any file that she writes
        assert(s.getGroup === (if (folder == "p=2") "analysts" else groups(folder)), name)
      }
    }
  }

  test("a table of somebody else may be read, and copied by INTO, but not rewritten") {
    withHdfsTable { dir =>
      writePartitioned(dir)
      give(dir, "bob", "sales", "755")
      refused(dir) {
        fails("ZORDER_DIRECTORY_NOT_WRITABLE", dir.toString, "alice", "INTO")(
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect())
      }
      assert(statuses(dir).keys.forall(!_.startsWith("_zorder")))
      // what the listing alone tells is told all the same
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) DRY RUN").collect()
      val out = new Path(s"${cluster.uri}/user/alice/copy-of-bob")
      refused(dir)(sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$out'").collect())
      assert(bag(readFrom(out)) === bag(readFrom(dir)))
    }
  }

  test("one partition of somebody else: nothing of the others is rewritten, unless chosen") {
    withHdfsTable { dir =>
      writePartitioned(dir)
      give(new Path(dir, "p=1"), "bob", "sales", "755")
      refused(dir) {
        fails("ZORDER_DIRECTORY_NOT_WRITABLE", "p=1", "alice", "WHERE")(
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect())
      }
      assert(statuses(dir).keys.forall(!_.startsWith("_zorder")))
      optimized(dir, "WHERE p <> 1 ZORDER BY (a, b)")
    }
  }

  test("files of somebody else in a partition with the sticky bit") {
    withHdfsTable { dir =>
      writePartitioned(dir)
      give(new Path(dir, "p=1"), "bob", "sales", "1777")
      refused(dir) {
        fails("ZORDER_DIRECTORY_STICKY", "p=1", "bob", "alice")(
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect())
      }
      assert(statuses(dir).keys.forall(!_.startsWith("_zorder")))
      optimized(dir, "WHERE p <> 1 ZORDER BY (a, b)")
    }
  }

  test("a file that may not be read") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(300, 3))
      val secret = statuses(dir)(dataNames(dir).max).getPath
      cluster.superuser.setOwner(secret, "bob", "sales")
      cluster.superuser.setPermission(secret, new FsPermission("600"))
      refused(dir) {
        fails("ZORDER_PERMISSION_DENIED", secret.getName, "Permission denied")(
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect())
      }
    }
  }

  test("the statement of another user of one application") {
    withHdfsTable { dir =>
      writePartitioned(dir)
      refused(dir) {
        fails("ZORDER_DIRECTORY_NOT_WRITABLE", dir.toString, "bob")(
          HdfsCluster.as(HdfsCluster.bob)(sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect()))
      }
      optimized(dir)
    }
  }

  test("INTO where nothing may be written") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(300, 3))
      for (to <- Seq(s"${cluster.uri}/user/bob/new/table", s"${cluster.uri}/user/bob")) {
        refused(dir) {
          fails("ZORDER_DIRECTORY_NOT_WRITABLE", "/user/bob", "alice")(
            sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$to'").collect())
        }
      }
      assert(cluster.superuser.listStatus(new Path("/user/bob")).isEmpty)
    }
  }

  private val free = HdfsConstants.QUOTA_DONT_SET

  private def unlimited(dir: Path): Unit =
    cluster.superuser.setQuota(dir, HdfsConstants.QUOTA_RESET, HdfsConstants.QUOTA_RESET)

  test("a quota of space that is too small") {
    // a file that is being written counts as a whole block
    for ((blocks, mustFail) <- Seq(0.5 -> true, 1.5 -> false, 2.5 -> false)) withHdfsTable { dir =>
      writeTo(dir, shuffled(3000, 4))
      val (before, rows) = (contents(dir), bag(readFrom(dir)))
      val used = cluster.superuser.getContentSummary(dir).getSpaceConsumed
      cluster.superuser.setQuota(dir, free, used + (blocks * HdfsCluster.BlockBytes).toLong)
      Try(sql(s"OPTIMIZE '$dir' ZORDER BY id OPTIONS ('targetFileSize' '4k')").collect()) match {
        case Failure(e) =>
          assert(messages(e).contains("DiskSpace quota"), e)
          assert(contents(dir) === before)
        case Success(_) => assert(!mustFail)
      }
      checkStateOf(dir)
      unlimited(dir)
      optimizedRows(dir, rows)
    }
  }

  test("a quota of names that is reached at any step: the old rows, and the next run repairs") {
    val steps = Iterator.from(1).takeWhile(namesLeft).size
    assert(steps >= 6)
    info(s"the quota stopped $steps runs at different steps")
  }

  /** False when `left` more names are enough. */
  private def namesLeft(left: Int): Boolean = {
    var stopped = false
    withHdfsTable { dir =>
      writeTo(dir, shuffled(200, 2))
      val before = contents(dir)
      val summary = cluster.superuser.getContentSummary(dir)
      val rows = bag(readFrom(dir))
      cluster.superuser
        .setQuota(dir, summary.getFileCount + summary.getDirectoryCount + left, free)
      Try(sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect()).failed.foreach { e =>
        stopped = true
        assert(messages(e).contains("NameSpace quota"), e)
        // not committed: nothing is changed and nothing is left
        if (!statuses(dir).contains("_zorder/_commits/_1")) {
          assert(contents(dir) === before)
          checkStateOf(dir)
        }
      }
      unlimited(dir)
      optimizedRows(dir, rows)
    }
    stopped
  }

  private def optimizedRows(dir: Path, rows: Map[Any, Int]): Unit = {
    sql(s"OPTIMIZE '$dir' FULL ZORDER BY (b)").collect()
    assert(bag(readFrom(dir)) === rows)
    checkStateOf(dir)
  }
}
