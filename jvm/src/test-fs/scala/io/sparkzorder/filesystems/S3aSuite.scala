// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.io.File
import java.nio.file.Files
import java.util.UUID
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Try

import org.apache.hadoop.fs.{FileSystem, Path}

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.util.ObjectStore

/**
 * Object stores, by Hadoop's own S3 client: files beside the old ones, and INTO; nothing is renamed. The store is a
 * server in this process. `ZORDER_TEST_STORE=s3a://bucket/prefix` in the environment takes a real one, with the
 * settings `key=value,..` of `ZORDER_TEST_STORE_CONF` for its client.
 */
class S3aSuite extends OptimizeTestBase {
  private val real = sys.env.get("ZORDER_TEST_STORE").filter(_.nonEmpty)
  private val home = real.fold("s3a://tables")(store => s"$store/${UUID.randomUUID()}")
  private var tables = 0

  private def settings: Map[String, String] =
    if (real.isEmpty) S3Server.settings
    else {
      sys.env.get("ZORDER_TEST_STORE_CONF").toSeq.flatMap(_.split(',')).map(_.split("=", 2))
        .collect { case Array(key, value) => s"spark.hadoop.$key" -> value }.toMap
    }

  override protected def sparkConf: SparkConf =
    (settings + StoreRequests.setting).foldLeft(super.sparkConf) { case (conf, (k, v)) =>
      conf.set(k, v)
    }

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    if (real.isEmpty) S3Server.makeBucket("tables")
  }

  override protected def afterAll(): Unit =
    try if (real.nonEmpty) fileSystem.delete(new Path(home), true)
    finally super.afterAll()

  private def fileSystem: FileSystem =
    new Path(home).getFileSystem(spark.sessionState.newHadoopConf())

  private def newPath(): Path = {
    tables += 1
    new Path(s"$home/t$tables/table")
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

  test("an exchange of names is refused, whatever else is said, and nothing is written") {
    withTableDir { dir =>
      write(shuffled(300, 3), dir)
      val path = onS3(dir)
      val before = objects(path)
      assert(before.size === 3)
      withSQLConf("spark.zorder.publish" -> "rename") {
        for (more <- Seq("ZORDER BY (a, b)", "", "FULL ZORDER BY a", "ZORDER BY a DRY RUN")) {
          fails("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "s3a", "INTO")(
            sql(s"OPTIMIZE '$path' $more").collect())
        }
      }
      fails("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "s3a", "INTO")(
        sql(s"PUBLISH LAYOUT '$path'").collect())
      assert(objects(path) === before)
      assert(rows(path) === bag(read(dir)))
    }
  }

  private def visible(path: Path) =
    withoutExtension(rows(path))

  private def isShadowed(path: Path): Boolean =
    listedFiles(spark.read.parquet(path.toString)).exists(_.contains("/_zorder_"))

  test("beside: OPTIMIZE, append, OPTIMIZE, index, UNDO, VACUUM; no object of the user changes") {
    withTableDir { dir =>
      write(shuffled(2000, 3).selectExpr("*", "id % 2 p"), dir, "p")
      val path = onS3(dir)
      val before = objects(path)
      def own(all: Map[String, (Long, Long)]) =
        all.filter(_._1.split('/').exists(_.startsWith("_zorder")))
      def zorder() = sql(
        s"OPTIMIZE '$path' ZORDER BY (a, b) OPTIONS ('targetFileSize' '4k')").head()
      zorder()
      assert(objects(path) -- own(objects(path)).keys === before)
      assert(isShadowed(path))
      assert(rows(path) === visible(path))
      shuffled(500, 1).selectExpr("id + 10000 id", "a", "b", "s", "id % 2 p")
        .write.mode("append").partitionBy("p").parquet(path.toString)
      assert(isShadowed(path))
      assert(rows(path) === visible(path))
      zorder()
      sql(s"REFRESH ZORDER INDEX ON '$path' (s)").collect()
      assert(rows(path) === visible(path))
      sql(s"VACUUM LAYOUT '$path' RETAIN 0 HOURS").collect()
      assert(isShadowed(path))
      assert(rows(path) === visible(path))
      // a new object under an old name, of the same length
      val file = new Path(path, before.keys.filter(_.startsWith("p=0/")).min)
      val in = fileSystem.open(file)
      val bytes =
        try in.readAllBytes()
        finally in.close()
      val out = fileSystem.create(file, true)
      out.write(bytes)
      out.close()
      assert(rows(path) === visible(path))
      assert(sql(s"SHOW LAYOUT HISTORY '$path'").collect()
        .exists(_.getAs[String]("status").startsWith("inert: p=0/")))
      sql(s"UNDO LAYOUT '$path'").collect()
      sql(s"UNDO LAYOUT '$path'").collect()
      sql(s"VACUUM LAYOUT '$path' RETAIN 0 HOURS").collect()
      assert(!isShadowed(path))
      assert(rows(path) === visible(path))
      assert(!objects(path).keys.exists(_.contains("/_new_")))
    }
  }

  for ((status, name) <- Seq(500 -> "are lost", 409 -> "say conflict")) {
    test(s"answers to puts that $name although the object is there") {
      withTableDir { dir =>
        write(shuffled(1000, 3), dir)
        val path = onS3(dir)
        val expected = bag(read(dir))
        def statement(text: String): Unit = {
          val (result, spoiled) = StoreRequests.spoiling(status)(Try(sql(text).collect()))
          assert(spoiled > 0, text)
          // an error says what to do, and the next statement goes on from what is there
          if (result.isFailure) { val _ = Try(sql(text).collect()) }
          assert(rows(path) === expected && visible(path) === expected, text)
        }
        statement(s"OPTIMIZE '$path' ZORDER BY (a, b) OPTIONS ('targetFileSize' '4k')")
        assert(isShadowed(path))
        statement(s"UNDO LAYOUT '$path'")
        statement(s"OPTIMIZE '$path' ZORDER BY (b) OPTIONS ('targetFileSize' '4k')")
        assert(isShadowed(path))
        statement(s"VACUUM LAYOUT '$path' RETAIN 0 HOURS")
        assert(isShadowed(path))
      }
    }
  }

  test("the example of the page on object stores") {
    assume(real.isEmpty, "its tables are in a bucket of the server")
    S3Server.makeBucket("lake")
    withTable("orders") {
      val steps = StoreExample.steps()
      assert(steps.size >= 4)
      steps.foreach(step => assert(StoreExample.run(spark, step) === step.expected.trim, step))
    }
  }

  test("of several creators of one object one succeeds, and the server is trusted") {
    val directory = newPath()
    assert(ObjectStore.whyUnsafe(fileSystem, directory) === None)
    assert(objects(directory) === Map.empty)
    for (round <- 0 until 10) {
      val winners = new AtomicInteger
      val threads = (0 until 8).map { i =>
        new Thread(() =>
          if (ObjectStore.create(fileSystem, new Path(directory, s"_$round"), Array(i.toByte))) {
            val _ = winners.incrementAndGet()
          })
      }
      threads.foreach(_.start())
      threads.foreach(_.join())
      assert(winners.get === 1)
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
