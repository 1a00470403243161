// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.nio.file.Files

import org.apache.hadoop.fs.Path
import org.scalatest.Tag
import org.scalatest.concurrent.Eventually
import org.scalatest.tagobjects.Slow
import org.scalatest.time.SpanSugar._

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.sparkzorder.TestAccess

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.Record
import io.sparkzorder.ordered.grid.PlanStore

/** A folder above `batchSize`: its rows are dealt to regions, then each region is laid out. */
class TwoPassesSuite extends TwoPassesTestBase with Eventually {
  private var isSmall = false
  protected def hasSmall: Boolean = true
  override protected def batches: Int = if (isSmall) 3 else super.batches
  override protected def filesOfBatch: Int = if (isSmall) 3 else super.filesOfBatch
  override protected def rowsOfTable: Int = if (isSmall) 1350 else super.rowsOfTable
  override protected def filesOfTable: Int = if (isSmall) 12 else super.filesOfTable

  /** For each change a small table, which takes a third of the time of the usual one. */
  private def testSmall(name: String, tags: Seq[Tag] = Nil)(body: => Any): Unit = {
    test(name, tags :+ Slow: _*)(body)
    if (hasSmall) test(s"$name; a small table", tags: _*) {
      isSmall = true
      try {
        val _ = body
      } finally isSmall = false
    }
  }

  for ((kind, tags) <- Seq(
      "uniform" -> Nil,
      "correlated" -> Seq(Slow),
      "zipf" -> Seq(Slow),
      "time" -> Seq(Slow))) {
    testSmall(
      s"$kind rows: the result of two passes is that of one shuffle, in bounded batches",
      tags) {
      withTableDir { dir =>
        write(rows(kind), dir)
        val copy = new File(dir.getParentFile, "one")
        write(rows(kind), copy)
        val sizes = sizesOf(dir)
        val expected = bag(read(dir))
        sql(s"OPTIMIZE '$copy' ZORDER BY (a, b) ${sizes.inOne}").collect()
        val before = dataFiles(dir)
        val dry = sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY (a, b) ${sizes.options} DRY RUN").head()
        assert(plansOf(dir) === Nil)
        val row = run(dir, sizes)
        val after = dataFiles(dir)
        assert(metric(row, "numFilesRemoved") === before.size)
        assert(metric(row, "numFilesAdded") === after.size)
        assert(metric(row, "numRows") === rowsOfTable)
        assert(row.getAs[String]("reason").contains("larger than batchSize"))
        val (first, second) = (ofPlan(dir, Record.Dealt), ofPlan(dir, Record.Final))
        info(s"${first.size} batches dealt to ${second.size} regions, " +
          s"${first.flatMap(_.changes.flatMap(_.added)).size} files between them")
        assert(first.size >= batches && second.size >= batches && second.size <= 2 * batches + 4)
        assert(metric(row, "numBatches") === first.size + second.size)
        assert(dry.getAs[String]("reason").contains("in two passes"))
        assert(math.abs(metric(dry, "numFilesAdded") - after.size) <= 0.2 * after.size)
        checkDone(dir, sizes, expected)
        val (two, one) = (excess(dir), excess(copy))
        info(f"excess $two%.3f, of one shuffle $one%.3f: ${two / one}%.3f")
        assert(two <= 1.02 * one)
        for (g <- gains(row)) {
          assert(g.getAs[Double]("filesPerPointQueryAfter") <= 1.3 * g.getAs[Double]("ideal"))
        }
      }
    }
  }

  testSmall("killed between any two batches, the next OPTIMIZE goes on; new files join or wait") {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      // within the first pass
      killedAfter(dir, 2)(run(dir, sizes))
      val half = ofPlan(dir, Record.Dealt)
      assert(half.size === 2)
      write(rows("uniform", rowsOfTable, 200, 1), dir)
      val expected = bag(read(dir))
      // at the end of the first pass, and within the second one
      val first = batches + 1
      killedAfter(dir, first)(run(dir, sizes))
      assert(bag(read(dir)) === expected)
      killedAfter(dir, first + 2)(run(dir, sizes, "FULL ZORDER BY (a, b)"))
      assert(bag(read(dir)) === expected)
      write(rows("uniform", rowsOfTable + 200, 100, 1), dir)
      val all = bag(read(dir))
      val row = run(dir, sizes)
      assert(row.getAs[String]("reason").contains("goes on"))
      assert(records(dir).map(_.plan).filter(_.nonEmpty).distinct.size === 1)
      checkDone(dir, sizes, all)
      assert(excess(dir) <= 1.3)
    }
  }

  test("killed at any operations, one statement after the other, it comes to its end", Slow) {
    withRandom { random =>
      withTableDir { dir =>
        write(rows("time"), dir)
        val sizes = sizesOf(dir)
        var expected = bag(read(dir))
        for (i <- 0 until 8) {
          // a batch changes about 100 names
          killedAt(random.nextInt(500))((o, _) => o != "list" && o != "open")(run(dir, sizes))
          assert(bag(spark.read.parquet(s"faulty://$dir")) === expected)
          if (i == 2 || i == 5) {
            sql(s"RECOVER LAYOUT '$dir'").collect()
            write(rows("time", rowsOfTable + 300 * i, 100, 1), dir)
            expected = bag(read(dir))
          }
        }
        run(dir, sizes)
        checkClean(dir, expected)
        assert(metric(run(dir, sizes), "numBatches") === 0)
        assert(excess(dir) <= 1.6, told(dir))
      }
    }
  }

  for ((what, tags, damage) <- Seq[(String, Seq[Tag], File => Any)](
      ("deleted", Nil, f => Files.delete(f.toPath)),
      ("damaged", Seq(Slow), f => Files.write(f.toPath, Array[Byte](1))))) {
    testSmall(
      s"a plan that is $what: in the first pass another one, in the second none is needed",
      tags) {
      withTableDir { dir =>
        write(rows("uniform"), dir)
        val sizes = sizesOf(dir)
        val expected = bag(read(dir))
        def plan() = new File(dir, s"_zorder/_grid/${plansOf(dir).last}")
        killedAfter(dir, 2)(run(dir, sizes))
        damage(plan())
        killedAfter(dir, 4)(run(dir, sizes))
        val ids = records(dir).map(_.plan).distinct
        assert(ids.size === 2)
        val last = records(dir).last.plan
        while (ofPlan(dir, Record.Final).isEmpty) {
          killedAfter(dir, records(dir).size + 1)(run(dir, sizes))
        }
        plansOf(dir).foreach(n => damage(new File(dir, s"_zorder/_grid/$n")))
        run(dir, sizes)
        assert(bag(read(dir)) === expected)
        assert(ofPlan(dir, Record.Final).forall(_.plan == last))
        assert(metric(run(dir, sizes), "numBatches") === 0)
        assert(excess(dir) <= 1.3, told(dir))
      }
    }
  }

  test("batchSize, size of files or columns change between the passes", Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      val expected = bag(read(dir))
      killedAfter(dir, batches + 1)(run(dir, sizes))
      // the regions are too large now
      val smaller = sizes.copy(batch = (sizes.batch * 0.6).toLong, target = sizes.target)
      killedAfter(dir, batches + 3)(run(dir, smaller))
      run(dir, sizes.copy(batch = 2 * sizes.batch))
      assert(bag(read(dir)) === expected)
      assert(excess(dir) <= 1.3)
      killedAfter(dir, records(dir).size + 2)(run(dir, sizes, "FULL ZORDER BY (a, b)"))
      val row = run(dir, sizes, "ZORDER BY (b, s)")
      assert(bag(read(dir)) === expected)
      assert(row.getAs[String]("reason").contains("layout was by"))
      assert(metric(run(dir, sizes, "ZORDER BY (b, s)"), "numBatches") === 0)
      checkClean(dir, expected)
    }
  }

  test(
    "a changed input ends one batch; the others are done, and the next OPTIMIZE does the rest",
    Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      killedAfter(dir, batches + 1)(run(dir, sizes))
      val done = ofPlan(dir, Record.Dealt).size
      val dealt = ofPlan(dir, Record.Dealt).flatMap(_.changes.flatMap(_.added))
      val victim = dealt.find(_.region == 3).get
      @volatile var gone = false
      def ofThird = new File(dir, s"_zorder/_commits/_${done + 2}_done").exists()
      meanwhile((o, path) => o == "create" && path.getName == "_waiting" && ofThird) {
        gone = new File(dir, victim.name).delete()
      } {
        fails("ZORDER_CONFLICT", victim.name)(run(dir, sizes))
      }
      assert(gone)
      val regions = dealt.map(_.region).distinct.size
      assert(ofPlan(dir, Record.Final).size === regions - 1)
      val left = bag(read(dir))
      assert(left.values.sum === rowsOfTable - victim.rows)
      run(dir, sizes)
      assert(bag(read(dir)) === left)
      assert(metric(run(dir, sizes), "numBatches") === 0)
    }
  }

  for ((kind, tags, isAt) <- Seq[(String, Seq[Tag], (String, Path) => Boolean)](
      ("planned", Seq(Slow), (_, _) => true),
      ("written", Nil, (o, path) => o == "create" && path.toString.contains("/_runs/"))))
    testSmall(s"an input that is removed before its batch is $kind ends that batch alone", tags) {
      withTableDir { dir =>
        write(rows("uniform"), dir)
        val sizes = sizesOf(dir)
        killedAfter(dir, batches + 1)(run(dir, sizes))
        val done = ofPlan(dir, Record.Dealt).size
        val dealt = ofPlan(dir, Record.Dealt).flatMap(_.changes.flatMap(_.added))
        val victim = dealt.find(_.region == 3).get
        val left = bag(read(dir).where(s"input_file_name() NOT LIKE '%${victim.name}'"))
        // when the second region is done
        def isNext = new File(dir, s"_zorder/_commits/_${done + 2}_done").exists()
        val seen = new java.util.concurrent.ConcurrentLinkedQueue[String]
        val e = meanwhile((o, path) => o != "list" && o != "open" && isNext && isAt(o, path)) {
          assert(new File(dir, victim.name).delete())
        } {
          watched(seen)(fails("ZORDER_CONFLICT", victim.name)(run(dir, sizes)))
        }
        assert(e.getCause != null, "the failure to read is the cause")
        assert(ofPlan(dir, Record.Final).size === dealt.map(_.region).distinct.size - 1)
        assert(seen.toArray.exists(_.toString.contains("pass 2 of 2, batch 1 of ")))
        assert(left.values.sum === rowsOfTable - victim.rows)
        run(dir, sizes)
        assert(bag(read(dir)) === left)
        assert(metric(run(dir, sizes), "numBatches") === 0)
      }
    }

  /** Collects the descriptions of jobs. */
  private def watched[T](seen: java.util.Collection[String])(body: => T): T = {
    val listener = new SparkListener {
      override def onJobStart(start: SparkListenerJobStart): Unit = {
        val _ = seen.add(String.valueOf(start.properties.getProperty("spark.job.description")))
      }
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      val result = body
      TestAccess.drainListeners(spark.sparkContext)
      result
    } finally spark.sparkContext.removeSparkListener(listener)
  }

  test("few inputs of a large folder are looked at one by one, and a change is a conflict", Slow) {
    withTableDir { dir =>
      write(rows("time", n = 3000, files = 150), dir)
      val statement = s"OPTIMIZE ${faulty(dir)} WHERE id < 20 ZORDER BY (a, b)"
      val input = spark.read.parquet(dir.toString).where("id = 0").inputFiles
      val path = read(dir).where("id = 0").selectExpr("input_file_name()").head().getString(0)
      assert(input.length === 150)
      val file = new File(new java.net.URI(path).getPath)
      val expected = bag(read(dir))
      def isLate(o: String, p: Path) = o == "create" && p.getName == "_waiting"
      val content = Files.readAllBytes(file.toPath)
      meanwhile(isLate) {
        Files.write(file.toPath, content)
        assert(file.setLastModified(file.lastModified + 5000))
      }(fails("ZORDER_CONFLICT", "overwritten")(sql(statement)))
      // when the records are read, just before the inputs are looked at
      def isLast(o: String, p: Path) = o == "list" && p.getName == "_commits" &&
        hidden(dir, "_waiting").nonEmpty && hidden(dir, "_change_").nonEmpty
      meanwhile(isLast)(assert(file.delete()))(
        fails("ZORDER_CONFLICT", "removed")(sql(statement)))
      Files.write(file.toPath, content)
      val lists = new java.util.concurrent.atomic.AtomicInteger
      FaultyFileSystem.withHook((o, p) =>
        if (relisting(dir)(o, p) && records(dir).isEmpty) lists.incrementAndGet()) {
        assert(metric(sql(statement).head(), "numFilesRemoved") === 1)
      }
      assert(lists.get === 0)
      assert(bag(read(dir)) === expected)
    }
  }

  test("plans that were left behind go after a day, unless files refer to them") {
    withTableDir { dir =>
      write(rows("uniform", n = 500), dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)")
      def plan(id: String, days: Int): File = {
        val file = new File(dir, s"_zorder/_grid/_plan_$id")
        Files.write(file.toPath, Array[Byte](1))
        assert(file.setLastModified(System.currentTimeMillis() - days * 86400000L - 1000L))
        file
      }
      val (old, young) = (plan("00000000-0000-0000-0000-000000000001", 1), plan("x", 0))
      val store =
        new PlanStore(new Path(dir.toString), spark.sessionState.newHadoopConf(), Nil, Nil)
      store.removeUnused(Set(old.getName.stripPrefix("_plan_")), 0L)
      store.removeUnused(Set.empty, 2 * 86400000L)
      assert(old.exists() && young.exists())
      sql(s"OPTIMIZE '$dir' WHERE id < 3 DRY RUN").collect()
      assert(old.exists())
      sql(s"OPTIMIZE '$dir'")
      assert(!old.exists() && young.exists())
      assert(new File(dir, "_zorder/_grid/_cells").exists())
    }
  }

  test("the files of a shuffle go when the write fails", Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val before = TestAccess.shuffleFiles
      @volatile var there = Set.empty[Int]
      def shuffles: Set[Int] = (TestAccess.shuffleFiles -- before).map(_.split('_')(1).toInt)
      FaultyFileSystem.withHook((o, p) =>
        if (o == "create" && p.getName.startsWith("_new_")) {
          there ++= shuffles
          throw new FaultyFileSystem.Injected(s"$o $p")
        }) {
        // in tests, Spark 4.1 removes the files of each query
        withSQLConf("spark.sql.classic.shuffleDependency.fileCleanup.enabled" -> "false") {
          intercept[Exception](sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY (a, b)").collect())
        }
      }
      // others are of samples
      eventually(timeout(10.seconds))(assert(!shuffles(there.max)))
    }
  }

  test("the files of a shuffle go after each batch", Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val before = TestAccess.shuffleFiles
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) ${sizesOf(dir).options}").collect()
      eventually(timeout(10.seconds))(assert((TestAccess.shuffleFiles -- before) === Set()))
    }
  }

  test(
    "without retention, replaced files go after each batch, and room is needed for one batch",
    Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      val expected = bag(read(dir))
      @volatile var most = 0L
      withSQLConf("spark.zorder.retention" -> "0h") {
        val row = FaultyFileSystem.withHook { (o, path) =>
          if (o == "create" && path.getName == "_waiting") {
            most = math.max(most, hidden(dir, "_old_").map(_.length).sum)
          }
        }(run(dir, sizes))
        assert(most === 0L)
        // of all batches, although the report keeps a part of each sample
        assert(metric(row, "sampledRows") >= 2 * rowsOfTable)
      }
      assert(hidden(dir, "_old_") === Nil)
      assert(bag(read(dir)) === expected)
      checkState(dir)
      FaultyFileSystem.withFree(dataFiles(dir).map(_.length).sum / 2) {
        val again = "FULL ZORDER BY (b, a)"
        fails("ZORDER_NOT_ENOUGH_SPACE")(run(dir, sizes, again))
        withSQLConf("spark.zorder.retention" -> "0h")(run(dir, sizes, again))
      }
      assert(bag(read(dir)) === expected)
    }
  }

  for ((kind, tags) <- Seq("uniform" -> Seq(Slow), "time" -> Nil)) {
    testSmall(
      s"beside the files, $kind rows: what everybody sees stays, a kill is gone on from, PUBLISH LAYOUT exchanges",
      tags) {
      withTableDir { dir =>
        write(rows(kind), dir)
        val sizes = sizesOf(dir)
        val (expected, before) = (bag(read(dir)), userFiles(dir))
        withSQLConf("spark.zorder.publish" -> "shadow") {
          for (commits <- Seq(2, batches + 1, batches + 3)) {
            killedAfter(dir, commits)(run(dir, sizes))
            assert(bag(read(dir)) === expected)
          }
          assert(ofPlan(dir, Record.Dealt).nonEmpty && ofPlan(dir, Record.Final).nonEmpty)
          val row = run(dir, sizes)
          assert(row.getAs[String]("reason").contains("goes on"))
          assert(userFiles(dir) === before)
          assert(bag(read(dir)) === expected && visible(dir) === expected)
          assert(metric(run(dir, sizes), "numBatches") === 0)
          val all = records(dir)
          assert(all.filter(_.plan.nonEmpty).forall(_.cost.get.inputBytes <= 1.3 * sizes.batch))
          assert(all.map(_.plan).filter(_.nonEmpty).distinct.size === 1)
          val (files, hiddenBytes) =
            (hidden(dir, "_new_").size, hidden(dir, "_new_").map(_.length).sum)
          sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
          val left = hidden(dir, "_new_")
          info(
            s"$files hidden files of $hiddenBytes bytes, after VACUUM ${left.size} of ${left.map(_.length).sum}")
          assert(left.map(_.length).sum <= 1.3 * dataFiles(dir).map(_.length).sum)
          assert(bag(read(dir)) === expected && visible(dir) === expected)
          val point = listedFiles(read(dir).where("a = 17")).size
          assert(point <= 2 * math.sqrt(left.size))
        }
        sql(s"PUBLISH LAYOUT '$dir'").collect()
        assert(visible(dir) === expected && bag(read(dir)) === expected)
        assert(excess(dir) <= 1.3)
        withSQLConf("spark.zorder.publish" -> "rename") {
          assert(metric(run(dir, sizes), "numBatches") === 0)
        }
      }
    }
  }

  test(
    "beside the files: PUBLISH LAYOUT and VACUUM LAYOUT between the passes, and the next OPTIMIZE goes on",
    Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      val expected = bag(read(dir))
      withSQLConf("spark.zorder.publish" -> "shadow") {
        killedAfter(dir, batches + 3)(run(dir, sizes))
        sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
        assert(bag(read(dir)) === expected)
      }
      sql(s"PUBLISH LAYOUT '$dir'").collect()
      assert(visible(dir) === expected && bag(read(dir)) === expected)
      val published = records(dir).last
      assert(published.level === Record.Dealt)
      assert(published.changes.flatMap(_.added).map(_.region).distinct.size > 2)
      withSQLConf("spark.zorder.publish" -> "rename") {
        val row = run(dir, sizes)
        assert(row.getAs[String]("reason").contains("goes on"))
        assert(visible(dir) === expected && bag(read(dir)) === expected)
        assert(metric(run(dir, sizes), "numBatches") === 0)
      }
      assert(excess(dir) <= 1.3)
    }
  }

  test("PUBLISH LAYOUT between the passes of two partitions, and FULL goes on with both plans") {
    withTableDir { dir =>
      write(rows("uniform", n = 600, files = 4).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      val ofFolder = dataFiles(dir).map(_.length).sum / 2
      val sizes = Sizes(ofFolder / 4, ofFolder / 2 + 100)
      withSQLConf("spark.zorder.publish" -> "shadow") {
        killedAfter(dir, 5)(run(dir, sizes))
      }
      val (dealt, done) = (ofPlan(dir, Record.Dealt), ofPlan(dir, Record.Final))
      assert(dealt.map(_.plan).distinct.size === 2 && done.size === 1)
      sql(s"PUBLISH LAYOUT '$dir'").collect()
      assert(visible(dir) === expected && bag(read(dir)) === expected)
      val finished = done.flatMap(_.added.map(_.name))
      withSQLConf("spark.zorder.publish" -> "rename") {
        for (full <- Seq("", "FULL")) {
          val dry = s"OPTIMIZE ${faulty(dir)} $full ZORDER BY (a, b) ${sizes.options} DRY RUN"
          val reason = sql(dry).head().getAs[String]("reason")
          assert(reason.contains("goes on with the second pass"))
        }
        run(dir, sizes, "FULL ZORDER BY (a, b)")
        // the region that was done before stays as it is
        assert(finished.forall(dataFiles(dir).map(_.name).contains))
        checkClean(dir, expected)
        assert(metric(run(dir, sizes), "numBatches") === 0 && plansOf(dir) === Nil)
      }
    }
  }

  test(
    "beside the files: an input is overwritten, removed or added between the passes; UNDO; a new layout",
    Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      withSQLConf("spark.zorder.publish" -> "shadow") {
        killedAfter(dir, batches + 2)(run(dir, sizes))
        write(rows("uniform", rowsOfTable, 200, 1), dir)
        val first = dataFiles(dir).minBy(_.name)
        assert(new File(dir, first.name).delete())
        // the rows that everybody sees, whatever the shadows stood for
        assert(bag(read(dir)) === visible(dir))
        killedAfter(dir, records(dir).size + 2)(run(dir, sizes))
        assert(bag(read(dir)) === visible(dir))
        run(dir, sizes)
        assert(bag(read(dir)) === visible(dir))
        sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
        assert(bag(read(dir)) === visible(dir))
        val second = dataFiles(dir).minBy(_.name)
        assert(new File(dir, second.name).delete())
        assert(bag(read(dir)) === visible(dir))
        run(dir, sizes)
        run(dir, sizes)
        assert(bag(read(dir)) === visible(dir))
        sql(s"UNDO LAYOUT '$dir'").collect()
        assert(bag(read(dir)) === visible(dir))
        run(dir, sizes, "ZORDER BY (b, a)")
        assert(bag(read(dir)) === visible(dir))
        assert(metric(run(dir, sizes, "ZORDER BY (b, a)"), "numBatches") === 0)
      }
    }
  }

  test("UNDO takes batches back one by one, and OPTIMIZE does them again", Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      val expected = bag(read(dir))
      run(dir, sizes)
      val all = records(dir).size
      for (_ <- 0 until 3) {
        sql(s"UNDO LAYOUT '$dir'").collect()
        assert(bag(read(dir)) === expected)
      }
      run(dir, sizes)
      assert(bag(read(dir)) === expected)
      assert(records(dir).size === all + 6)
      // back to the middle of the first pass, whose plan is forgotten
      val runs = records(dir).count(_.level.nonEmpty)
      assert(runs > batches)
      for (_ <- 0 until all - 2) sql(s"UNDO LAYOUT '$dir'").collect()
      assert(bag(read(dir)) === expected)
      run(dir, sizes)
      assert(bag(read(dir)) === expected)
      assert(metric(run(dir, sizes), "numBatches") === 0)
      assert(excess(dir) <= 1.3)
    }
  }

  testSmall("rows of one key that are more than a batch; NULLs; a partition beside") {
    withTableDir { dir =>
      val skewed = rows("uniform").selectExpr(
        "id",
        "if(id % 5 < 3, 7, a) a",
        "if(id % 5 < 3, 8, if(id % 7 = 0, NULL, b)) b",
        "s",
        "0 p")
      write(skewed, dir, "p")
      write(skewed.where("id < 300").selectExpr("id", "a", "b", "s", "1 p"), dir, "p")
      val sizes = sizesOf(dir)
      val expected = bag(read(dir))
      val row = run(dir, sizes)
      assert(metric(row, "partitionsOptimized") === 2)
      assert(bag(read(dir)) === expected)
      assert(metric(run(dir, sizes), "numBatches") === 0)
      checkState(dir)
      records(dir).filter(_.plan.nonEmpty).foreach { r =>
        assert(r.cost.get.inputBytes <= 1.3 * sizes.batch)
      }
    }
  }

  testSmall("where two passes do not suffice, the error names the batchSize that does") {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      val before = snapshot(dir)
      withSQLConf("spark.zorder.batchSize" -> sizes.target.toString) {
        val statement =
          s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('targetFileSize' '${sizes.target}'"
        val e = fails("ZORDER_PARTITION_TOO_LARGE", "batchSize")(sql(s"$statement)"))
        assert(snapshot(dir) === before)
        val needed = ".*'batchSize' '(\\d+)'.*".r
          .findFirstMatchIn(e.getMessage.replace('\n', ' ')).get.group(1)
        val row = sql(s"$statement, 'batchSize' '$needed')").head()
        assert(row.getAs[String]("reason").contains("larger than batchSize"))
      }
    }
  }

  test(
    "DRY RUN counts files that are dealt again, for another layout or to smaller regions",
    Slow) {
    withTableDir { dir =>
      write(rows("uniform"), dir)
      val sizes = sizesOf(dir)
      killedAfter(dir, batches + 1)(run(dir, sizes))

      /** @param others batches of a real run besides those of two new passes */
      def check(at: File, sizes: Sizes, by: String, others: Int): Unit = {
        val before = records(at).map(_.plan).toSet
        val dry = sql(s"OPTIMIZE ${faulty(at)} ZORDER BY $by ${sizes.options} DRY RUN").head()
        run(at, sizes, s"ZORDER BY $by")
        val dealt = ofPlan(at, Record.Dealt).count(r => !before(r.plan))
        val reason = dry.getAs[String]("reason")
        assert(dealt > 1 && reason.contains(s"in two passes: $dealt batches, then about"), reason)
        assert(metric(dry, "numBatches") >= others + dealt + 2, reason)
      }
      withCopy(dir)(check(_, sizes, "(b, a)", 0))
      // Half of the regions are small enough, and the others are divided again. If only the smallest one were, the limit
      // could be too small for two passes.
      val there = dataFiles(dir).map(f => f.name -> f.length).toMap
      val regions = ofPlan(dir, Record.Dealt).flatMap(_.changes.flatMap(_.added))
        .filter(a => a.region > 0 && there.contains(a.name))
        .groupBy(_.region).map(_._2.map(a => there(a.name)).sum).toSeq.sorted
      val half = regions.size / 2
      val most = (regions(half - 1) + regions(half)) / 2
      check(dir, sizes.copy(batch = (most / Batches.MostOfLimit).toLong), "(a, b)", half)
    }
  }

  test("a compaction of a large folder takes several batches, one pass", Slow) {
    withTableDir { dir =>
      write(rows("uniform", files = 60), dir)
      val bytes = dataFiles(dir).map(_.length).sum
      val expected = bag(read(dir))
      withSQLConf("spark.zorder.batchSize" -> (bytes / 4).toString) {
        val row = sql(s"OPTIMIZE '$dir' OPTIONS ('targetFileSize' '${bytes / 20}')").head()
        assert(metric(row, "numBatches") >= 4)
        assert(metric(row, "partitionsOptimized") === 1)
      }
      assert(bag(read(dir)) === expected)
      assert(records(dir).forall(_.plan == ""))
      assert(dataFiles(dir).size < 30)
    }
  }
}

/** The same with more batches, of more files. */
@org.scalatest.tags.Slow
class LargerTwoPassesSuite extends TwoPassesSuite {
  override protected def hasSmall = false
  override protected def batches = 6
  override protected def filesOfBatch = 8
  override protected def rowsOfTable = 9000
}
