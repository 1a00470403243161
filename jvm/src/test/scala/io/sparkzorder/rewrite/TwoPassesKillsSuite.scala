// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.nio.file.{Files, StandardCopyOption}
import java.util.UUID
import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Failure, Random, Success, Try}

import org.apache.commons.io.FileUtils
import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkThrowable

import io.sparkzorder.{FaultyFileSystem, TestConditions}
import io.sparkzorder.log.{Added, Record}

/**
 * A statement of two passes is killed before any of its changes on disk, and another writer appends or
 * overwrites after that; or the other writer does so before any change, and the statement goes on.
 */
class TwoPassesKillsSuite extends TwoPassesTestBase {
  override protected def batches = 2
  override protected def filesOfBatch = 3
  override protected def rowsOfTable = 900

  private type Bag = Map[Any, Int]

  /**
   * A table on which nothing has run.
   *
   * @param extra a file of other rows
   * @param changes of a statement that nobody disturbs
   */
  private case class Fixture(table: File, sizes: Sizes, rows: Bag, extra: File, changes: Int) {
    val extraRows: Bag = bag(read(extra))
  }

  private lazy val base = Files.createTempDirectory("kills").toFile.getCanonicalFile

  override def afterAll(): Unit =
    try FileUtils.deleteDirectory(base)
    finally super.afterAll()

  /** The tests change copies of the table. */
  private lazy val fixture: Fixture = {
    val dir = new File(base, "table")
    write(rows("uniform", files = 8), dir)
    val other = new File(base, "other")
    write(rows("uniform", rowsOfTable, 60, 1), other)
    val sizes = sizesOf(dir)
    val changes = withCopy(dir) { copy =>
      // no lock of the suite, which this thread has while the value is computed
      val n = new AtomicInteger
      FaultyFileSystem.withHook { (o, _) =>
        if (isChange(o)) n.incrementAndGet()
      }(run(copy, sizes))
      assert(ofPlan(copy, Record.Dealt).size >= 2 && ofPlan(copy, Record.Final).size >= 2)
      n.get
    }
    Fixture(dir, sizes, bag(read(dir)), new File(other, dataFiles(other).head.name), changes)
  }

  private def isChange(operation: String) = operation != "list" && operation != "open"

  /** What another writer does to a table; the result tells the rows after that. */
  private type Writer = (Fixture, File) => (() => Bag)

  private val nobody: Writer = (f, _) => () => f.rows

  private val appender: Writer = (f, dir) => {
    put(f.extra, new File(dir, s"part-00000-${UUID.randomUUID()}-c000.snappy.parquet"))
    () => sum(f.rows, f.extraRows)
  }

  /** Under the name of a file that no run is about to exchange. */
  private val fileOverwriter: Writer = (f, dir) => {
    val busy = Option(new File(dir, "_zorder/_commits").list()).toSeq.flatten
    val ofRun = records(dir).lastOption
      .filter(_ => busy.count(_.matches("_\\d+")) > busy.count(_.endsWith("_done")))
      .toSeq.flatMap(_.changes.flatMap(_.added.map(_.name))).toSet
    val victim = dir.listFiles.filter(_.getName.startsWith("part-"))
      .filterNot(v => ofRun(v.getName)).minBy(_.getName)
    val kept = new File(dir.getParentFile, s"victim-${UUID.randomUUID()}.parquet")
    Files.copy(victim.toPath, kept.toPath)
    // the checksum of the content before
    val _ = new File(dir, s".${victim.getName}.crc").delete()
    put(f.extra, victim)
    () => {
      val gone = bag(read(kept))
      sum(
        f.rows.map { case (r, n) => r -> (n - gone.getOrElse(r, 0)) }.filter(_._2 > 0),
        f.extraRows)
    }
  }

  private val tableOverwriter: Writer = (f, dir) => {
    // tasks may write meanwhile
    Iterator.continually(Try(FileUtils.cleanDirectory(dir))).find(_ => dir.list().isEmpty)
    put(f.extra, new File(dir, s"part-00000-${UUID.randomUUID()}-c000.snappy.parquet"))
    () => f.extraRows
  }

  /** Appears whole. */
  private def put(file: File, at: File): Unit = {
    val made = new File(at.getParentFile.getParentFile, s"made-${UUID.randomUUID()}")
    Files.copy(file.toPath, made.toPath)
    val _ = Files.move(made.toPath, at.toPath, StandardCopyOption.ATOMIC_MOVE)
  }

  private val writers = IndexedSeq(
    "nobody" -> nobody,
    "an append" -> appender,
    "a file overwritten" -> fileOverwriter,
    "the table overwritten" -> tableOverwriter)

  private def recover(dir: File): Unit = twice(s"RECOVER LAYOUT ${at(dir)}")

  /** The first time it tells of inputs that were overwritten between commit and publish. */
  private def twice(statement: String): Unit = {
    Try(sql(statement).collect()).failed.foreach(e =>
      assert(conditionsOf(e).contains("ZORDER_PUBLISH_CONFLICT"), e))
    val _ = sql(statement).collect()
  }

  private def conditionsOf(e: Throwable): Seq[String] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).collect {
      case s: SparkThrowable => TestConditions.of(s)
    }.toSeq

  /** What somebody does before the next OPTIMIZE. */
  private val between: IndexedSeq[File => Any] = IndexedSeq(
    _ => (),
    recover(_),
    // refused where nothing has run or a file of the run was overwritten
    dir => Try(sql(s"UNDO LAYOUT ${at(dir)}").collect()),
    dir => twice(s"VACUUM LAYOUT ${at(dir)} RETAIN 0 HOURS"))

  /** Changes of a statement, in each part of it one. */
  private def someOf(changes: Int, n: Int, random: Random): Seq[Int] =
    (0 until n).map(i => changes * i / n + random.nextInt(math.max(1, changes / n)))

  private def testSome(name: String)(body: (Fixture, Int, String, Writer, File => Any) => Unit) =
    for ((many, n, tags) <- Seq(("one", 1, Nil), ("many", 40, Seq(Slow)))) {
      test(s"$name; $many of the changes", tags: _*) {
        withRandom { random =>
          val f = fixture
          info(s"${f.changes} changes")
          // of a single change somebody is the writer
          val first = if (n == 1) 4 * random.nextInt(2) + 1 + random.nextInt(3) else 0
          for ((k, i) <- someOf(f.changes, n, random).zip(first until first + n)) {
            val (who, writer) = writers(i % 4)
            withClue(s"change $k, $who, ${(i / 2) % 4}: ")(body(
              f,
              k,
              who,
              writer,
              between((i / 2) % 4)))
          }
        }
      }
    }

  testSome("killed before a change, then another writer: the next OPTIMIZE goes on") {
    (f, k, _, writer, next) =>
      withCopy(f.table) { dir =>
        killedAt(k)((o, _) => isChange(o))(run(dir, f.sizes))
        assert(bag(read(dir)) === f.rows)
        val expected = writer(f, dir)()
        assert(bag(read(dir)) === expected)
        next(dir)
        goOn(f, dir, expected)
      }
  }

  testSome(
    "another writer before a change: its rows and the others, and the next OPTIMIZE goes on") {
    (f, k, who, writer, next) =>
      withCopy(f.table) { dir =>
        var (n, expected) = (0, Option.empty[() => Bag])
        val result = FaultyFileSystem.withHook { (o, _) =>
          synchronized {
            if (isChange(o)) {
              if (n == k) expected = Some(writer(f, dir))
              n += 1
            }
          }
        }(Try(run(dir, f.sizes)))
        val rows = expected.getOrElse(writer(f, dir))()
        result match {
          case Success(_) => ()
          case Failure(e) =>
            assert(who.endsWith("overwritten"), e)
            assert(conditionsOf(e).exists(TwoPassesKillsSuite.Conflicts), e)
        }
        assert(bag(read(dir)) === rows)
        next(dir)
        goOn(f, dir, rows)
      }
  }

  /** The next OPTIMIZE ends what has begun, by the same plan, and nothing is left to do. */
  private def goOn(f: Fixture, dir: File, rows: Bag): Unit = {
    assert(bag(read(dir)) === rows)
    recover(dir)
    assert(bag(read(dir)) === rows && visible(dir) === rows)
    val names = dataFiles(dir).map(s => s.name -> s.length).toSet
    val before = records(dir)
    def left(level: String) = before.filter(_.level == level).flatMap { r =>
      r.changes.flatMap(_.added).filter(a => names(a.name -> a.length)).map(r.plan -> _)
    }
    val dealt = left(Record.Dealt).filter(_._2.region > 0)
    val row = run(dir, f.sizes)
    assert(bag(read(dir)) === rows, told(dir))
    val reason = String.valueOf(row.getAs[String]("reason"))
    val made = records(dir).drop(before.size).filter(_.plan.nonEmpty)
    checkPass(dir, dealt, left(Record.Final), names.size, made, reason)
    checkBatches(f, dir)
    assert(metric(run(dir, f.sizes), "numBatches") === 0, told(dir))
    for (_ <- 0 until 2) checkClean(dir, rows)
    assert(visible(dir) === rows)
  }

  private def checkPass(
      dir: File,
      dealt: Seq[(String, Added)],
      ended: Seq[(String, Added)],
      files: Int,
      made: Seq[Record],
      reason: String): Unit =
    if (dealt.isEmpty) assert(!reason.contains("goes on"))
    else {
      val isSecond = ended.nonEmpty || dealt.size == files
      assert(reason.contains(s"goes on with the ${if (isSecond) "second" else "first"} pass"))
      assert(made.map(_.plan).toSet === dealt.map(_._1).toSet, told(dir))
      if (isSecond) assert(made.forall(_.level == Record.Final), told(dir))
    }

  private def checkBatches(f: Fixture, dir: File): Unit = {
    val all = records(dir).filter(_.plan.nonEmpty)
    val dealt = all.filter(_.level == Record.Dealt)
    // of another length it is a file of somebody else
    val again =
      dealt.flatMap(_.changes.flatMap(_.replaced.map(r => r.name -> r.length))).toSet
    assert(
      dealt.flatMap(_.changes.flatMap(_.added)).filter(_.region > 0)
        .forall(a => !again(a.name -> a.length)),
      "a dealt file was dealt again")
    all.foreach(r => assert(r.cost.get.inputBytes <= 1.3 * f.sizes.batch))
  }
}

private object TwoPassesKillsSuite {

  /** How a statement ends of which another writer has overwritten inputs. */
  val Conflicts = Set("ZORDER_CONFLICT", "ZORDER_PUBLISH_CONFLICT", "ZORDER_STATE_LOST")
}
