// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.net.URI

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{CommonPathCapabilities, Path, RawLocalFileSystem}

import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.log.publish.Publisher
import io.sparkzorder.table.{ParquetFiles, PathTarget, TargetChecks}

/** Places in which files are not what a plain listing makes of them. */
class UnsafePlacesSuite extends FaultyTables {

  test("Azure without a hierarchical namespace is refused, and with one is not") {
    for ((isHierarchy, client) <- Seq(
        true -> classOf[UnsafePlacesSuite.Hierarchy],
        false -> classOf[UnsafePlacesSuite.Flat])) {
      val conf = new Configuration()
      conf.set("fs.abfs.impl", client.getName)
      conf.setBoolean("fs.abfs.impl.disable.cache", true)
      val target = PathTarget("abfs:///container/table", ParquetFiles)
      def check(): Unit = TargetChecks.checkInPlace(target, conf, "file,abfs")
      if (isHierarchy) check()
      else fails("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "hierarchical namespace")(check())
    }
  }

  for (marker <- Seq("_zorder", "_delta_log", ".hoodie")) {
    test(s"a partition that is a table of its own is not rewritten: $marker") {
      withTableDir { dir =>
        write(shuffled(60, 2).selectExpr("*", "id % 2 p", "id % 3 q"), dir, "p", "q")
        assert(new File(dir, s"p=1/$marker").mkdirs())
        val before = userFiles(dir)
        fails(
          "ZORDER_UNSUPPORTED_TABLE",
          "p=1",
          marker)(sql(s"OPTIMIZE '$dir' ZORDER BY a").collect())
        assert(userFiles(dir) === before)
        assert(sql(s"OPTIMIZE '$dir' WHERE p = 0 ZORDER BY a").count() === 1)
      }
    }
  }

  /** A table as it is in the middle of publishing its first run: half of the old files are out. */
  private def halfPublished(dir: File)(body: => Unit): Unit = {
    val zorder = new File(dir, "_zorder")
    def move(from: File, to: File): Unit = {
      to.getParentFile.mkdirs()
      assert(from.renameTo(to))
    }
    val Seq(run) = runDirectories(dir)
    val token = s"part-${run.getName.drop(1).replace('_', '-')}.parquet"
    move(new File(run, "_finished"), new File(dir, token))
    val record = new String(
      java.nio.file.Files.readAllBytes(
        new File(zorder, "_commits/_1").toPath),
      "UTF-8")
    val mapper = new com.fasterxml.jackson.databind.ObjectMapper()
    val change = mapper.readTree(record).path("changes").get(0)
    change.path("added").forEach { a =>
      move(
        new File(dir, a.path("name").asText),
        new File(run, a.path("staged").asText))
    }
    val last = change.path("replaced").get(change.path("replaced").size - 1)
    move(
      new File(run, last.path("retained").asText),
      new File(dir, last.path("name").asText))
    assert(new File(zorder, "_commits/_1_done").delete())
    body
  }

  test("INTO beside a run that is being published: never a copy of a part of the rows") {
    withTableDir { dir =>
      write(shuffled(300, 4), dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
      val zorder = new File(dir, "_zorder")
      val hidden = new File(dir.getParentFile, "commits")
      halfPublished(dir) {
        // the other run commits after the statement has looked at the records
        FileUtils.moveDirectory(new File(zorder, "_commits"), hidden)
        val into = new File(dir.getParentFile, "copy")
        var listed = false
        def listing(operation: String, path: Path) =
          operation == "list" && path.toUri.getPath == dir.getAbsolutePath
        fails("ZORDER_CONFLICT", "exchanged files") {
          meanwhile { (o, p) =>
            val isNext = listed && !listing(o, p)
            if (listing(o, p)) listed = true
            isNext
          } {
            FileUtils.deleteDirectory(new File(zorder, "_commits"))
            FileUtils.moveDirectory(hidden, new File(zorder, "_commits"))
            val state = new StateDirectory(new Path(dir.toURI), new Configuration())
            // finished by the other one, a little later
            val _ = TableLog.read(state).unfinished
          }(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY b INTO '$into'").collect())
        }
        assert(Option(into.list()).forall(_.isEmpty))
        new Publisher(new StateDirectory(new Path(dir.toURI), new Configuration())).rollForward()
        assert(read(dir).count() === 300)
      }
    }
  }
}

object UnsafePlacesSuite {

  /** The client of an account, which knows ACLs where the namespace is a hierarchy. */
  class Hierarchy extends RawLocalFileSystem {
    protected def isHierarchy: Boolean = true
    override def getUri: URI = URI.create("abfs:///")
    override def getScheme: String = "abfs"
    override def hasPathCapability(path: Path, capability: String): Boolean =
      if (capability == CommonPathCapabilities.FS_ACLS) isHierarchy
      else super.hasPathCapability(path, capability)
  }

  class Flat extends Hierarchy {
    override protected def isHierarchy: Boolean = false
  }
}
