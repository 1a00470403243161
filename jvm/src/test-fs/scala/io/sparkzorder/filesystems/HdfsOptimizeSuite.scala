// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.util.concurrent.{CyclicBarrier, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.Path

import org.apache.spark.SparkThrowable

import io.sparkzorder.{FaultyFileSystem, TestConditions}

/** The protocol of OPTIMIZE on HDFS: in place, beside others, and after a crash. */
class HdfsOptimizeSuite extends HdfsTestBase {

  private val partitionValues = Seq("a/b", "100%", "x y", "größe", "it's", "a=b")

  private def writePartitioned(dir: Path, rows: Int = 400): Unit =
    writeTo(dir, shuffled(rows, 2).selectExpr("*", "id % 2 p"), "p")

  private def bareStatement(dir: Path) = s"OPTIMIZE '$dir' ZORDER BY (a, b)"

  test("in place: rows, folders, names, retained files, a record by the user") {
    withHdfsTable { dir =>
      val session = spark
      import session.implicits._
      val values = partitionValues.toDF("p").crossJoin(shuffled(60, 1).toDF())
      writeTo(dir, values.select("id", "a", "b", "s", "p"), "p")
      writeTo(dir, values.selectExpr("id + 1000 id", "a + 7 a", "b", "s", "p"), "p")
      val before = dataNames(dir)
      val row = optimized(dir)
      assert(metric(row, "numFilesRemoved") === before.size)
      assert(metric(row, "partitionsOptimized") === partitionValues.size)
      val after = dataNames(dir)
      assert(after.intersect(before) === Set.empty)
      def folders(names: Set[String]) = names.map(n => n.substring(0, n.lastIndexOf('/')))
      assert(folders(after) === folders(before))
      val kept = statuses(dir).filter(_._1.contains("/_old_")).values.map(_.getLen).sum
      assert(metric(row, "retainedBytes") === kept)
      assert(statuses(dir).values.forall(_.getOwner == "alice"))
      assert(optimized(dir).getAs[String]("reason").contains("already"))
      optimized(dir, "FULL ZORDER BY (b)")
    }
  }

  test(
    "beside the files: append, overwrite, UNDO, PUBLISH; no file of the user changes before PUBLISH") {
    withHdfsTable { dir =>
      writePartitioned(dir)
      val before = contents(dir)
      def visible = withoutExtension(bag(readFrom(dir)))
      def isShadowed = listedFiles(readFrom(dir)).exists(_.contains("/_zorder_"))
      def beside() = sql(s"${bareStatement(dir)} OPTIONS ('publish' 'shadow')").collect()
      beside()
      assert(contents(dir) === before)
      assert(isShadowed && bag(readFrom(dir)) === visible)
      writeTo(dir, shuffled(50, 1).selectExpr("*", "id % 2 p"), "p")
      assert(isShadowed && bag(readFrom(dir)) === visible)
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(!isShadowed && bag(readFrom(dir)) === visible)
      beside()
      assert(isShadowed && bag(readFrom(dir)) === visible)
      // one partition is written anew by a session that knows nothing of shadows
      withoutExtension(withSQLConf("spark.sql.sources.partitionOverwriteMode" -> "dynamic") {
        shuffled(80, 1).selectExpr("*", "1 p").write.mode("overwrite").partitionBy("p")
          .parquet(dir.toString)
      })
      assert(isShadowed && bag(readFrom(dir)) === visible)
      beside()
      val rows = bag(readFrom(dir))
      assert(rows === visible)
      sql(s"PUBLISH LAYOUT '$dir'").collect()
      assert(!isShadowed && bag(readFrom(dir)) === rows && visible === rows)
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      assert(bag(readFrom(dir)) === rows && visible === rows)
      checkStateOf(dir)
    }
  }

  test("a table of the catalog: WHERE, DRY RUN, compaction, INTO") {
    withTable("t") {
      withHdfsTable { dir =>
        writePartitioned(dir)
        sql(s"CREATE TABLE t USING parquet LOCATION '$dir'")
        sql("MSCK REPAIR TABLE t")
        val (rows, before) = (bag(spark.table("t")), contents(dir))
        assert(sql("OPTIMIZE t ZORDER BY (a, b) DRY RUN").head().getAs[Boolean]("dryRun"))
        assert(contents(dir) === before)
        val into = new Path(dir.getParent, "copy")
        sql(s"OPTIMIZE t ZORDER BY (a, b) INTO '$into'").collect()
        assert(contents(dir) === before)
        assert(!statuses(dir).keys.exists(_.startsWith("_zorder")))
        assert(bag(readFrom(into)) === bag(readFrom(dir)))
        assert(statuses(into).contains("_SUCCESS"))
        sql("OPTIMIZE t WHERE p = 1 ZORDER BY a").collect()
        val untouched = before.filter(_._1.startsWith("p=0"))
        assert(contents(dir).filter(_._1.startsWith("p=0")) === untouched)
        sql("OPTIMIZE t").collect()
        assert(bag(spark.table("t")) === rows)
        checkStateOf(dir)
      }
    }
  }

  /** Runs OPTIMIZE and does something when its inputs are listed again before the commit. */
  private def beforeCommit[T](dir: Path)(change: => Unit)(body: => T): T = {
    val once = new AtomicBoolean
    val result = FaultyFileSystem.withHook { (operation, path) =>
      if (operation == "list" && path.toUri.getPath == dir.toUri.getPath &&
        statuses(dir).keys.exists(_.contains("/_new_")) && once.compareAndSet(false, true)) {
        change
      }
    }(body)
    assert(once.get, "the hook did not run")
    result
  }

  test("others write meanwhile: an appended file stays, a changed input is a conflict") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(400, 4))
      beforeCommit(dir)(writeTo(dir, shuffled(10, 1)))(sql(bareStatement(dir)).collect())
      assert(readFrom(dir).count() === 410)
      checkStateOf(dir)
    }
    val changes = Seq[(String, Path => Unit)](
      "was removed" -> (f => cluster.superuser.delete(f, false)),
      "was overwritten" -> { f =>
        val out = cluster.superuser.append(f)
        out.write(1)
        out.close()
      },
      "was overwritten" -> (f => cluster.superuser.setTimes(f, 12345L, -1L)))
    for ((word, change) <- changes) withHdfsTable { dir =>
      writeTo(dir, shuffled(400, 4))
      val victim = dataNames(dir).max
      var meanwhile = Map.empty[String, (Long, Long, String)]
      beforeCommit(dir) {
        change(new Path(dir, victim))
        meanwhile = contents(dir)
      } {
        fails("ZORDER_CONFLICT", victim, word)(sql(bareStatement(dir)).collect())
      }
      assert(contents(dir) === meanwhile)
      checkStateOf(dir)
    }
  }

  test("overwritten while it runs") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(400, 4))
      beforeCommit(dir)(shuffled(30, 1).write.mode("overwrite").parquet(dir.toString)) {
        fails("ZORDER_CONFLICT")(sql(bareStatement(dir)).collect())
      }
      assert(readFrom(dir).count() === 30)
      checkStateOf(dir)
    }
  }

  /** Runs statements at once, which meet when their files are ready, before they look at the inputs. */
  private def atOnce(statements: Seq[String]): Seq[Try[Any]] = {
    val barrier = new CyclicBarrier(statements.size)
    val trials = ThreadLocal.withInitial[Int](() => 0)
    val results = Array.fill[Try[Any]](statements.size)(Failure(new Exception("did not run")))
    FaultyFileSystem.withHook { (operation, path) =>
      if (operation == "rename" && path.getName.endsWith("_trial")) {
        trials.set(trials.get + 1)
        if (trials.get == 1) barrier.await(180, TimeUnit.SECONDS)
      }
    } {
      val threads = statements.zipWithIndex.map { case (text, i) =>
        new Thread(() => results(i) = Try(sql(text).collect()))
      }
      threads.foreach(_.start())
      threads.foreach(_.join())
    }
    results.toSeq
  }

  private def condition(e: Throwable): String =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null)
      .collectFirst { case s: SparkThrowable => TestConditions.of(s) }.getOrElse(e.toString)

  test("two commit at once: of the same files one does, of different ones both do") {
    for (round <- 0 until 3) withHdfsTable { dir =>
      writePartitioned(dir)
      val rows = bag(readFrom(dir))
      val (won, lost) = atOnce(Seq("a", "b").map(c => s"OPTIMIZE '$dir' ZORDER BY ($c)"))
        .partition(_.isSuccess)
      assert(won.size === 1, s"round $round: $won $lost")
      assert(lost.map(l => condition(l.failed.get)) === Seq("ZORDER_CONFLICT"))
      assert(bag(readFrom(dir)) === rows)
      checkStateOf(dir)
    }
    withHdfsTable { dir =>
      writePartitioned(dir)
      val rows = bag(readFrom(dir))
      val results =
        atOnce(Seq(0, 1).map(p => s"OPTIMIZE '$dir' WHERE p = $p ZORDER BY (a)"))
      results.foreach(r => assert(r.isSuccess, r))
      assert(bag(readFrom(dir)) === rows)
      assert(statuses(dir).contains("_zorder/_commits/_2_done"))
      checkStateOf(dir)
    }
  }

  test("stopped at any rename of publishing: the next OPTIMIZE rolls forward") {
    val stopped = Iterator.from(0).takeWhile(stopAt).size
    // out and in of two files of each of two folders, at least
    assert(stopped >= 6)
    info(s"stopped at each of $stopped renames")
  }

  /** False when there is no rename `k` any more. */
  private def stopAt(k: Int): Boolean = {
    var failed = false
    withHdfsTable { dir =>
      writePartitioned(dir, 200)
      val expected = bag(readFrom(dir))
      Try(FaultyFileSystem.failing(k)((o, p) =>
        o == "rename" && p.getName != "_waiting" && !p.getName.endsWith("_trial"))(
        sql(bareStatement(dir)).collect())) match {
        case Success((_, f)) => assert(!f)
        case Failure(e) =>
          assert(messages(e).contains("injected"))
          failed = true
          assert(statuses(dir).contains("_zorder/_commits/_1"))
          assert(!statuses(dir).contains("_zorder/_commits/_1_done"))
      }
      if (k == 2) cluster.restartNameNode()
      val out = new Path(dir.getParent, "out")
      if (k % 2 == 0) {
        sql(s"OPTIMIZE '$dir' ZORDER BY (a) INTO '$out'").collect()
        assert(bag(readFrom(out)) === expected)
      }
      sql(s"OPTIMIZE '$dir' ZORDER BY (a)").collect()
      assert(bag(readFrom(dir)) === expected)
      checkStateOf(dir)
    }
    failed
  }
}
