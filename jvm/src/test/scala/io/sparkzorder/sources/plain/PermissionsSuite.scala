// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.io.{File, FileNotFoundException}
import java.nio.file.{AccessDeniedException, Files}
import java.nio.file.attribute.{PosixFilePermission, PosixFilePermissions}
import java.util.UUID

import scala.collection.mutable
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException

import org.apache.spark.sql.Row

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.log.{Intent, Intents, StateDirectory}
import io.sparkzorder.write.FileAttributes

/** Nobody may read a byte that they could not read before: in the table, and below `_zorder`. */
class PermissionsSuite extends FaultyTables {

  private def bits(file: File): String =
    PosixFilePermissions.toString(Files.getPosixFilePermissions(file.toPath))

  private def set(file: File, bits: String): Unit = {
    val _ = Files.setPosixFilePermissions(file.toPath, PosixFilePermissions.fromString(bits))
  }

  private def partitioned(dir: File): Unit =
    write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")

  private def filesIn(dir: File): Seq[File] =
    dir.listFiles.toSeq.filter(f => f.isFile && !Set('.', '_')(f.getName.head))

  /** True when others than the owner and the group reach a file, by its bits and those above it. */
  private def isReadableByOthers(file: File, table: File): Boolean =
    Files.getPosixFilePermissions(file.toPath).contains(PosixFilePermission.OTHERS_READ) &&
      Iterator.iterate(file.getParentFile)(_.getParentFile).takeWhile(_ != table)
        .forall(d =>
          Files.getPosixFilePermissions(d.toPath).contains(PosixFilePermission.OTHERS_EXECUTE))

  test("files of a closed partition stay closed while they are written, staged and retained") {
    withTableDir { dir =>
      partitioned(dir)
      set(new File(dir, "p=1"), "rwx------")
      val open = mutable.LinkedHashSet.empty[String]
      var looks = 0
      FaultyFileSystem.withHook { (_, _) =>
        open.synchronized {
          for (f <- Try(hidden(new File(dir, "p=1"), "_")).getOrElse(Nil)) {
            looks += 1
            try if (isReadableByOthers(f, dir)) open += f.getPath
            catch { case _: java.nio.file.NoSuchFileException => } // it was moved
          }
        }
      }(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      assert(looks > 10)
      assert(open.toSeq === Nil)
      assert(hidden(new File(dir, "p=1"), "_").forall(!isReadableByOthers(_, dir)))
      sql(s"UNDO LAYOUT ${faulty(dir)}").collect()
      assert(hidden(new File(dir, "p=1"), "_old_").size > 0)
      assert(hidden(new File(dir, "p=1"), "_").forall(!isReadableByOthers(_, dir)))
    }
  }

  test("a run of another user, whose directory is closed until the commit, stops no statement") {
    // the errors of HDFS and of local disk
    for (denied <- Seq(
        new AccessControlException("denied"),
        new AccessDeniedException("denied"))) withTableDir { dir =>
      partitioned(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      val expected = bag(read(dir))
      val state = new StateDirectory(new Path(s"file:$dir"), spark.sessionState.newHadoopConf())
      val run = UUID.randomUUID().toString
      new Intents(state).write(Intent(run, Seq("p=1")))
      val own = new File(dir, s"p=1/_zorder_$run")
      assert(own.mkdir() && new File(own, "_new_0").createNewFile())
      def asOther(statement: String): Seq[Row] = {
        var tried = 0
        val rows = FaultyFileSystem.withHook { (operation, path) =>
          if (operation == "list" && path.getName == own.getName) {
            tried += 1
            throw denied
          }
        }(sql(statement).collect().toSeq)
        assert(tried > 0, statement)
        rows
      }
      val table = faulty(dir)
      asOther(s"OPTIMIZE $table FULL ZORDER BY (b)")
      asOther(s"OPTIMIZE $table ZORDER BY (b) DRY RUN")
      asOther(s"SHOW LAYOUT $table")
      asOther(s"RECOVER LAYOUT $table")
      val removed = asOther(s"VACUUM LAYOUT $table RETAIN 0 HOURS")
        .filter(_.getAs[String]("path").endsWith(own.getName)).map(_.getAs[Boolean]("removed"))
      assert(removed === Seq(false) && own.exists())
      assert(bag(read(dir)) === expected)
      // the first user cleans up
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(!own.exists())
    }
  }

  /** Fails the listing of some directories, as HDFS and S3A do for a user without the permission. */
  private def denying[T](isDenied: Path => Boolean, operations: Set[String] = Set("list"))(
      body: => T): T = {
    val errors = Iterator.continually(Seq(
      () => new AccessControlException("denied"),
      () => new AccessDeniedException("denied"))).flatten
    FaultyFileSystem.withHook { (operation, path) =>
      if (operations(operation) && isDenied(path)) throw errors.synchronized(errors.next())()
    }(body)
  }

  private def isBelow(name: String)(path: Path): Boolean =
    s"${path.toUri.getPath}/".contains(s"/$name/")

  private def readPartition(dir: File, p: Int): Map[Any, Int] =
    bag(spark.read.parquet(s"faulty:$dir/p=$p"))

  test("a query of a partition that was overwritten, beside a partition that may not be listed") {
    withTableDir { dir =>
      partitioned(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      shuffled(30, 1).write.mode("overwrite").parquet(s"$dir/p=0")
      val expected = bag(spark.read.parquet(s"$dir/p=0"))
      assert(expected.size === 30)
      denying(isBelow("p=1"))(assert(readPartition(dir, 0) === expected))
    }
  }

  test(
    "a run that is half published in a partition that may not be listed stops no query of others") {
    withTableDir { dir =>
      partitioned(dir)
      val expected = readPartition(dir, 0)
      val killed = killedAt(4)((o, p) => isPublishing(o, p) && isBelow("p=1")(p))(
        sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      assert(killed._2)
      denying(isBelow("p=1"))(assert(readPartition(dir, 0) === expected))
    }
  }

  test("who may not list the records reads what readers without the extension read") {
    withTableDir { dir =>
      partitioned(dir)
      val expected = readPartition(dir, 0)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect()
      denying(isBelow("_zorder"))(assert(readPartition(dir, 0) === expected))
    }
  }

  test("who may list the records, and not read one of them: all rows, or an error") {
    withTableDir { dir =>
      partitioned(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      val expected = readPartition(dir, 0)
      for (k <- Seq(1, 3); name <- Seq("_1", "_2", "_1_done")) withCopy(dir) { copy =>
        assert(killedAt(k)(isPublishing)(
          sql(s"OPTIMIZE ${faulty(copy)} FULL ZORDER BY b").collect())._2)
        // no record of this copy is in memory
        withCopy(copy) { other =>
          denying(_.getName == name, Set("open"))(Try(readPartition(other, 0))) match {
            case Success(rows) => assert(rows === expected, s"$name after $k")
            case Failure(e) => assert(e.getMessage.contains("ZORDER_STATE_UNREADABLE"), e)
          }
        }
      }
    }
  }

  test("a finished record that one user may not read: an error, and no harm to the next user") {
    withTableDir { dir =>
      partitioned(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      val expected = readPartition(dir, 0)
      // no record of the copy is in memory
      withCopy(dir) { copy =>
        val denied = denying(_.getName == "_1", Set("open"))(Try(readPartition(copy, 0)))
        assert(denied.failed.get.getMessage.contains("ZORDER_STATE_UNREADABLE"))
        // as local disk reports it, also where the process has too many open files
        val unopened = FaultyFileSystem.withHook { (operation, path) =>
          if (operation == "open" && path.getName == "_1") {
            throw new FileNotFoundException(s"$path (Permission denied)")
          }
        }(Try(readPartition(copy, 0)))
        assert(unopened.failed.get.getMessage.contains("cannot be opened"))
        assert(readPartition(copy, 0) === expected)
      }
    }
  }

  test("a partition that may not be listed: each statement works, or names the permission") {
    withTableDir { dir =>
      partitioned(dir)
      val expected = bag(read(dir))
      val table = faulty(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      def result(statement: String): Try[Seq[Row]] =
        Try(denying(isBelow("p=1"))(sql(statement).collect().toSeq))
      for (statement <- Seq(
          s"SHOW LAYOUT HISTORY $table",
          s"VACUUM LAYOUT $table RETAIN 0 HOURS DRY RUN",
          s"RECOVER LAYOUT $table",
          s"UNDO LAYOUT $table",
          s"SHOW LAYOUT $table",
          s"REFRESH ZORDER INDEX ON $table",
          s"OPTIMIZE $table FULL ZORDER BY b",
          s"VACUUM LAYOUT $table RETAIN 0 HOURS")) {
        result(statement).failed.foreach { e =>
          // Spark itself lists the partitions of a path
          val text = e.getMessage
          assert(
            text.contains("ZORDER_PERMISSION_DENIED") && text.contains("denied"),
            s"$statement: $e")
        }
      }
      assert(result(s"SHOW LAYOUT HISTORY $table").get.size === 1)
      assert(bag(read(dir)) === expected)
    }
  }

  test("a data file that may not be read, or not at the moment, is not called damaged") {
    for (format <- Seq("parquet", "orc")) withTableDir { dir =>
      shuffled(100, 2).write.format(format).save(dir.toString)
      val name = filesIn(dir).map(_.getName).max
      val table = s"$format.`faulty:$dir`"
      def failing(e: java.io.IOException): Throwable =
        intercept[Exception](FaultyFileSystem.withHook { (operation, path) =>
          if (operation == "open" && path.getName == name) throw e
        }(sql(s"OPTIMIZE $table ZORDER BY a").collect()))
      val denied = failing(new AccessControlException(s"Permission denied: $name")).getMessage
      assert(denied.contains("ZORDER_PERMISSION_DENIED") && denied.contains(name), format)
      val late = failing(new java.net.SocketTimeoutException("too late")).toString
      assert(late.contains("too late") && !late.contains("ZORDER_FILE_UNREADABLE"), format)
    }
  }

  test("replaced files of a partition that may not be listed stay; those of others go") {
    withTableDir { dir =>
      partitioned(dir)
      val expected = bag(read(dir))
      val table = faulty(dir)
      sql(s"OPTIMIZE $table WHERE p = 1 ZORDER BY a").collect()
      sql(s"OPTIMIZE $table WHERE p = 0 ZORDER BY a").collect()
      def kept(p: Int) = hidden(new File(dir, s"p=$p"), "_old_").size
      assert(kept(0) > 0 && kept(1) > 0)
      denying(isBelow("p=1"))(
        sql(s"VACUUM LAYOUT ${faulty(dir)} RETAIN 0 HOURS").collect())
      assert(kept(0) === 0 && kept(1) > 0)
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(kept(1) === 0 && bag(read(dir)) === expected)
    }
  }

  test("a shadow in a partition that may not be listed keeps nothing else from being removed") {
    withTableDir { dir =>
      partitioned(dir)
      val expected = bag(read(dir))
      sql(s"OPTIMIZE '$dir' WHERE p = 0 ZORDER BY a").collect()
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY b OPTIONS ('publish' 'shadow')").collect()
      def kept = hidden(new File(dir, "p=0"), "_old_").size
      assert(kept > 0)
      denying(isBelow("p=1"))(
        sql(s"VACUUM LAYOUT ${faulty(dir)} RETAIN 0 HOURS").collect())
      assert(kept === 0)
      assert(bag(read(dir)) === expected)
    }
  }

  test("parts of the index that may not be removed: VACUUM removes the rest and says so") {
    withTableDir { dir =>
      partitioned(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      val part = new File(dir, s"_zorder/_index/_v_${java.util.UUID.randomUUID()}")
      assert(part.mkdir() && part.setLastModified(1000L))
      val rows = denying(_.getName == part.getName, Set("delete"))(
        sql(s"VACUUM LAYOUT ${faulty(dir)} RETAIN 0 HOURS").collect())
      val kinds = rows.map(r => r.getAs[String]("kind") -> r.getAs[Boolean]("removed")).toMap
      assert(kinds === Map("retained" -> true, "index" -> false))
    }
  }

  test("who may write the directories of _zorder may write their files") {
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      for (d <- Seq("_commits", "_runs")) set(new File(dir, s"_zorder/$d"), "rwxrwx---")
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect()
      for (f <- Seq("_commits/_2", "_commits/_2_done"))
        assert(bits(new File(dir, s"_zorder/$f")).startsWith("rw-rw-"), f)
    }
  }

  test("the hidden directory of a folder with the setgid bit gives its files the same group") {
    withTableDir { dir =>
      assert(dir.mkdirs())
      val setgid = Integer.valueOf(Integer.parseInt("2755", 8))
      Files.setAttribute(dir.toPath, "unix:mode", setgid)
      val own = new File(dir, "own")
      new FileAttributes(spark.sessionState.newHadoopConf()).makePrivate(new Path(own.toURI))
      assert(bits(own) === "rwx------")
      assert((Files.getAttribute(own.toPath, "unix:mode").asInstanceOf[Int] & 1024) !== 0)
    }
  }

  test("after a run of an administrator, all belongs to the owner of the table") {
    withTableDir { dir =>
      partitioned(dir)
      def all(d: File): Seq[File] = d +: Option(d.listFiles).toSeq.flatten.flatMap(all)
      def uid(f: File) = Files.getAttribute(f.toPath, "unix:uid").asInstanceOf[Int]
      val changed = Try(all(dir).foreach(f =>
        Files.setAttribute(f.toPath, "unix:uid", Int.box(23456)))).isSuccess
      assume(changed, "only a superuser may give files away")
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      assert(new File(dir, "_zorder/_index").isDirectory && new File(
        dir,
        "_zorder/_grid").isDirectory)
      assert(all(dir).filter(f => f.isDirectory && uid(f) != 23456) === Nil)
    }
  }

  test("a new file has what the permissions of all files of its folder have in common") {
    withTableDir { dir =>
      partitioned(dir)
      for ((p, all) <- Seq(
          "p=0" -> Seq("rw-rw-r--", "rw-r--r--"),
          "p=1" -> Seq("rw-------", "rw-r--r--"))) {
        val files = filesIn(new File(dir, p))
        assert(files.size === all.size)
        files.zip(all).foreach { case (f, b) => set(f, b) }
      }
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      assert(filesIn(new File(dir, "p=0")).map(bits).distinct === Seq("rw-r--r--"))
      assert(filesIn(new File(dir, "p=1")).map(bits).distinct === Seq("rw-------"))
    }
  }

  test("files of several groups: the members of neither read more than all others do") {
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      val Seq(one, two) = filesIn(dir)
      set(one, "rw-r-----")
      set(two, "rw-r-----")
      val changed = scala.util.Try(
        Files.setAttribute(one.toPath, "unix:gid", Int.box(23456))).isSuccess
      assume(changed, "only a superuser may give files to any group")
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      assert(filesIn(dir).map(bits).distinct === Seq("rw-------"))
    }
  }

  test("files of several groups: who was in a group that might not read is no other now") {
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      val Seq(one, two) = filesIn(dir)
      Seq(one, two).foreach(set(_, "rw----r--"))
      val changed = scala.util.Try(
        Files.setAttribute(one.toPath, "unix:gid", Int.box(23456))).isSuccess
      assume(changed, "only a superuser may give files to any group")
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      assert(filesIn(dir).map(bits).distinct === Seq("rw-------"))
    }
  }

  test("what is open to all stays open to all") {
    withTableDir { dir =>
      partitioned(dir)
      dir +: dir.listFiles.toSeq.filter(_.isDirectory) foreach (set(_, "rwxr-xr-x"))
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      assert(runDirectories(dir).map(bits) === Seq("rwxr-xr-x", "rwxr-xr-x"))
      assert(hidden(dir, "_old_").size > 1)
    }
  }
}
