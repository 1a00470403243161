// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.io.File
import java.nio.file.Files

import org.apache.hadoop.fs.{FileSystem, Path}

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

import io.sparkzorder.commands.OptimizeTestBase

/** Object stores, by Hadoop's own S3 client: refused in place, and INTO, which renames nothing. */
class S3aSuite extends OptimizeTestBase {
  private val bucket = "tables"
  private var tables = 0

  override protected def sparkConf: SparkConf =
    S3Server.settings.foldLeft(super.sparkConf) { case (conf, (k, v)) => conf.set(k, v) }

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    S3Server.makeBucket(bucket)
  }

  private def fileSystem: FileSystem =
    new Path(s"s3a://$bucket/").getFileSystem(spark.sessionState.newHadoopConf())

  private def newPath(): Path = {
    tables += 1
    new Path(s"s3a://$bucket/t$tables/table")
  }

  /** Keys below a path with length and time. */
  private def objects(path: Path): Map[String, (Long, Long)] =
    if (!fileSystem.exists(path)) Map.empty
    else {
      val files = fileSystem.listFiles(path, true)
      Iterator.continually(files).takeWhile(_.hasNext).map(_.next()).map { s =>
        s.getPath.toString.stripPrefix(s"$path/") -> ((s.getLen, s.getModificationTime))
      }.toMap
    }

  /** A table on S3 with the rows of a local one. */
  private def onS3(dir: File): Path = {
    val path = newPath()
    for (f <- dataFiles(dir)) {
      val name = if (f.folder.isEmpty) f.name else s"${f.folder}/${f.name}"
      fileSystem.copyFromLocalFile(new Path(new File(dir, name).toURI), new Path(path, name))
    }
    path
  }

  private def rows(path: Path) = bag(spark.read.parquet(path.toString))

  test("in place is refused, whatever else is said, and nothing is written") {
    withTableDir { dir =>
      write(shuffled(300, 3), dir)
      val path = onS3(dir)
      val before = objects(path)
      assert(before.size === 3)
      for (more <- Seq("ZORDER BY (a, b)", "", "FULL ZORDER BY a", "ZORDER BY a DRY RUN")) {
        fails("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "s3a", "INTO")(
          sql(s"OPTIMIZE '$path' $more").collect())
      }
      withTable("t") {
        sql(s"CREATE TABLE t USING parquet LOCATION '$path'")
        fails("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "s3a", "INTO")(
          sql("OPTIMIZE t ZORDER BY (a, b)").collect())
      }
      assert(objects(path) === before)
      assert(rows(path) === bag(read(dir)))
    }
  }

  test(
    "INTO: from local disk and from S3, each folder, and nothing but data, _SUCCESS and the index") {
    withTableDir { dir =>
      val named = shuffled(600, 3).selectExpr("*", "concat('x y/', id % 3) p")
      write(named, dir, "p")
      val source = onS3(dir)
      val before = objects(source)
      for (from <- Seq(dir.toString, source.toString)) {
        val to = newPath()
        val row = sql(s"OPTIMIZE '$from' ZORDER BY (a, b) INTO '$to'").head()
        assert(rows(to) === bag(read(dir)))
        val names = objects(to).keySet
        assert(names.contains("_SUCCESS"))
        assert(names.contains("_zorder/_index/_1"))
        val data = names.filterNot(n => n == "_SUCCESS" || n.startsWith("_zorder/_"))
        data.foreach(n => assert(n.matches("p=x y%2F[012]/part-[^/]*\\.parquet"), n))
        val added = row.getStruct(row.fieldIndex("metrics")).getAs[Long]("numFilesAdded")
        assert(data.size === added)
        fails("ZORDER_TARGET_NOT_EMPTY")(
          sql(s"OPTIMIZE '$from' ZORDER BY (a, b) INTO '$to'").collect())
      }
      assert(objects(source) === before)
    }
  }

  test("a table whose location is moved to the copy") {
    withTable("t") {
      withTableDir { dir =>
        write(shuffled(300, 3), dir)
        sql(s"CREATE TABLE t USING parquet LOCATION '${onS3(dir)}'")
        val before = bag(spark.table("t"))
        val to = newPath()
        sql(s"OPTIMIZE t ZORDER BY (a, b) INTO '$to'").collect()
        sql(s"ALTER TABLE t SET LOCATION '$to'")
        assert(bag(spark.table("t")) === before)
        assert(spark.table("t").inputFiles.forall(_.startsWith(to.toString)))
      }
    }
  }

  test("an INTO that fails leaves nothing") {
    withTableDir { dir =>
      write(shuffled(2000, 4), dir)
      // a page that cannot be read, found when other tasks have written already
      val last = new File(dir, dataFiles(dir).last.name)
      val bytes = Files.readAllBytes(last.toPath)
      java.util.Arrays.fill(bytes, 4, bytes.length / 2, 0x5a.toByte)
      Files.write(last.toPath, bytes)
      val to = newPath()
      intercept[Exception](
        sql(s"OPTIMIZE '$dir' INTO '$to' OPTIONS ('targetFileSize' '1k')").collect())
      assert(objects(to) === Map.empty)
      assert(!fileSystem.exists(to))
    }
  }

  test("an INTO that is cancelled leaves nothing") {
    withTableDir { dir =>
      write(shuffled(4000, 4), dir)
      val to = newPath()
      val sc = spark.sparkContext
      // as soon as a file is there, while others are being written
      val listener = new SparkListener {
        override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
          if (end.taskInfo.successful && objects(to).nonEmpty) sc.cancelJobGroup("to-cancel")
      }
      sc.addSparkListener(listener)
      sc.setJobGroup("to-cancel", "an INTO to cancel", interruptOnCancel = true)
      val options = s"OPTIONS (${sizeFor(dir, 40)})"
      try
        intercept[Exception](sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$to' $options").collect())
      finally {
        sc.clearJobGroup()
        sc.removeSparkListener(listener)
      }
      assert(objects(to) === Map.empty)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$to'").collect()
      assert(rows(to) === bag(read(dir)))
    }
  }
}
