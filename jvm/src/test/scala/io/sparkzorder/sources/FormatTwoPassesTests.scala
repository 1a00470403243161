// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.io.File

import scala.util.Try

import org.scalatest.concurrent.Eventually
import org.scalatest.time.SpanSugar._

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.sparkzorder.TestAccess
import org.apache.spark.sql.types.LongType

import io.sparkzorder.table.OrderingColumn

/** A folder above `batchSize` is laid out in two passes; the same for each format. */
trait FormatTwoPassesTests extends TableOfFormat with Eventually { this: FormatTestBase =>
  private val batches = 6
  private val filesOfBatch = 8

  /** The files that each commit of OPTIMIZE has removed, in bytes. */
  protected def removedByCommits: Seq[Long]

  /** Clauses of a table in which DELETE marks rows of files, and of one in which it rewrites files. */
  protected def marking: String
  protected def rewriting: String

  /** The format's own statement that rewrites small files. */
  protected def compact(): Unit

  /** Rows whose bytes are hardly in the ordering columns, as in tables of files that are not tiny. */
  private def wide(from: Int, n: Int, files: Int = 24): DataFrame =
    spark.range(from, from + n.toLong, 1, files).selectExpr(
      "id",
      "bigint(pmod(hash(id), 100003)) a",
      "bigint(pmod(hash(id, 7), 100003)) b",
      "unhex(sha2(string(id), 512)) s",
      "id % 2 p")

  private case class Sizes(target: Long, batch: Long) {
    def map: Map[String, String] =
      Map("targetFileSize" -> s"$target", "batchSize" -> s"$batch")
    def options: String = s"OPTIONS (targetFileSize = '$target', batchSize = '$batch')"
  }

  private def seen: Seq[FormatFile] =
    opened.snapshot(Seq("a", "b").map(c => OrderingColumn(Seq(c), LongType)), None).files

  private def waiting: Seq[FormatFile] = seen.filter(_.dealt.exists(_.region > 0))

  private def make(clauses: String = "", name: String = "t", files: Int = 24): Sizes = {
    wide(0, 9000, files).createOrReplaceTempView("wide")
    sql(s"CREATE TABLE ${full(name)} USING $format $clauses AS SELECT * FROM wide")
    val bytes = seen.map(_.bytes).sum
    Sizes(bytes / (batches * filesOfBatch), bytes / batches + 1)
  }

  private def run(sizes: Sizes, clauses: String = "ZORDER BY (a, b)"): Row =
    optimized("t", s"$clauses ${sizes.options}")

  /** Ends the statement when so many batches are committed. */
  private def stoppedAfter(commits: Int, sizes: Sizes): Unit = {
    var done = 0
    val result = Try(interrupted(sizes.map) {
      if (done == commits) throw new IllegalStateException("stop")
      done += 1
    })
    assert(result.isFailure && done === commits, result)
  }

  private def excess(name: String): Double =
    sql(s"SHOW LAYOUT ${full(name)} FOR (a, b)").collect().map(_.getAs[Double]("excess")).sum / 2

  private def plans: Seq[String] =
    Option(new File(directory, "_zorder/_grid").list()).toSeq.flatten.filter(_.startsWith("_plan_"))

  private def checkDone(sizes: Sizes, atMost: Double = 1.3): Unit = {
    assert(waiting === Nil)
    assert(metric(run(sizes), "numBatches") === 0)
    assert(plans === Nil)
    removedByCommits.foreach(b => assert(b <= 1.3 * sizes.batch))
    assert(excess("t") <= atMost)
  }

  test("the result of two passes is that of one shuffle, in bounded batches") {
    withTables {
      val sizes = make()
      sql(s"CREATE TABLE ${full("one")} USING $format AS SELECT * FROM wide")
      sql(
        s"OPTIMIZE TABLE ${full("one")} ZORDER BY (a, b) OPTIONS (targetFileSize = '${sizes.target}')")
      val reason = run(sizes).getAs[String]("reason")
      assert(reason.contains("larger than batchSize"))
      val commits = removedByCommits.size
      assert(commits >= 2 * batches)
      checkDone(sizes)
      val (two, one) = (excess("t"), excess("one"))
      info(f"$commits commits, excess $two%.3f, of one shuffle $one%.3f: ${two / one}%.3f")
      assert(two <= 1.02 * one)
    }
  }

  test("the files of a shuffle go after each batch") {
    withTables {
      val sizes = make()
      val before = TestAccess.shuffleFiles
      run(sizes)
      assert(removedByCommits.size >= 2 * batches)
      eventually(timeout(10.seconds)) {
        // Delta keeps the shuffle of its snapshot
        val left = (TestAccess.shuffleFiles -- before).map(_.split('_')(1))
        assert(left.size <= 2, left)
      }
    }
  }

  test("DRY RUN predicts two passes and writes nothing; the metrics of a run do not count files between") {
    withTables {
      val sizes = make()
      val before = allCommits
      val dry =
        sql(s"OPTIMIZE TABLE $named ZORDER BY (a, b) ${sizes.options.dropRight(1)}) DRY RUN").head()
      assert(dry.getAs[String]("reason").contains("in two passes"))
      assert(allCommits === before && plans === Nil)
      val files = seen.size
      val row = run(sizes)
      assert(metric(row, "numFilesRemoved") === files)
      assert(metric(row, "numFilesAdded") === seen.size)
      assert(metric(row, "numRows") === 9000)
      assert(metric(row, "numBatches") === removedByCommits.size)
      // the statement to take the run back names the state before both passes
      val undo = fails("ZORDER_UNSUPPORTED_TABLE")(sql(s"UNDO LAYOUT $named"))
      assert(!undo.getMessage.contains("of other writers"), undo.getMessage)
      checkDone(sizes)
    }
  }

  test("stopped between any two batches, the next OPTIMIZE goes on; appended files join or wait") {
    withTables {
      val sizes = make()
      val rows = bag(t)
      stoppedAfter(2, sizes)
      assert(bag(t) === rows)
      val first = waiting.map(_.path)
      assert(first.nonEmpty && plans.size === 1)
      appended(wide(9000, 200, 1))
      // at the end of the first pass, and within the second one
      stoppedAfter(batches - 1, sizes)
      assert(first.toSet.subsetOf(waiting.map(_.path).toSet), "a file was dealt again")
      assert(seen.forall(_.dealt.isDefined))
      assert(waiting.flatMap(_.dealt).map(_.plan).distinct.size === 1)
      stoppedAfter(2, sizes)
      appended(wide(9200, 100, 1))
      val row = run(sizes, "")
      assert(row.getAs[String]("reason").contains("goes on"), row)
      assert(removedByCommits.size <= 2 + (batches - 1) + 2 + 2 * batches)
      checkDone(sizes)
    }
  }

  for ((kind, clauses) <- Seq("marked" -> (() => marking), "rewritten" -> (() => rewriting))) {
    test(s"rows are deleted and changed between the passes: $kind") {
      withTables {
        val sizes = make(clauses())
        stoppedAfter(2, sizes)
        sql(s"DELETE FROM $named WHERE id % 9 = 0")
        sql(s"UPDATE $named SET a = a + 1 WHERE id % 100 = 1")
        stoppedAfter(2, sizes)
        run(sizes)
        assert(waiting === Nil)
        sql(s"DELETE FROM $named WHERE id % 9 = 1")
        run(sizes)
        assert(waiting === Nil)
        assert(t.count() === 7000)
        assert(excess("t") <= 1.5)
      }
    }
  }

  test("all rows of dealt files are deleted between the passes") {
    withTables {
      val sizes = make(marking)
      stoppedAfter(3, sizes)
      sql(s"DELETE FROM $named WHERE a < 40000")
      run(sizes)
      assert(t.where("a < 40000").count() === 0)
      run(sizes)
      assert(bag(t) === bag(wide(0, 9000).where("a >= 40000")))
    }
  }

  test("the format's own compaction comes between the passes") {
    withTables {
      val sizes = make()
      stoppedAfter(3, sizes)
      val dealt = waiting.size
      compact()
      assert(waiting.size < dealt)
      run(sizes)
      assert(waiting === Nil)
      assert(metric(run(sizes), "numBatches") === 0)
      assert(excess("t") <= 1.5)
    }
  }

  test(
    "a conflict ends one batch, and the next OPTIMIZE does the rest") {
    withTables {
      val sizes = make(rewriting)
      var done = 0
      fails("ZORDER_CONFLICT") {
        interrupted(sizes.map) {
          done += 1
          // a row of one input
          if (done == 2) sql(s"DELETE FROM $named WHERE id = ${idOfWaitingInput()}")
        }
      }
      assert(t.count() === 8999)
      assert(done >= batches)
      assert(waiting.nonEmpty && seen.exists(_.dealt.isEmpty))
      run(sizes)
      assert(t.count() === 8999)
      assert(waiting === Nil)
    }
  }

  /** A row of a file that no batch has dealt yet. */
  private def idOfWaitingInput(): Long = {
    val left = seen.filter(_.dealt.isEmpty).map(_.path).toSet
    spark.table(named).selectExpr("id", "input_file_name() f").collect()
      .find(r => left.exists(p => nameOf(p) == nameOf(r.getString(1)))).get.getLong(0)
  }

  private def nameOf(path: String): String = path.substring(path.lastIndexOf('/') + 1)

  test("a partition above batchSize beside a small one; a plan that is lost") {
    withTables {
      val sizes = make("PARTITIONED BY (p)", files = 12)
      sql(s"DELETE FROM $named WHERE p = 1 AND id > 500")
      val rows = bag(t)
      stoppedAfter(2, sizes)
      assert(plans.size === 1)
      plans.foreach(p => assert(new File(directory, s"_zorder/_grid/$p").delete()))
      val row = run(sizes, "WHERE p = 0 ZORDER BY (a, b)")
      assert(metric(row, "partitionsOptimized") === 1)
      run(sizes)
      assert(bag(t) === rows)
      assert(waiting === Nil)
      assert(metric(run(sizes), "numBatches") === 0)
    }
  }

  test("WHERE on data columns: the second pass finds what the first one has dealt") {
    withTables {
      val sizes = make()
      run(sizes, "WHERE id < 6000 ZORDER BY (a, b)")
      assert(waiting === Nil)
      run(sizes)
      assert(waiting === Nil)
      assert(bag(t) === bag(wide(0, 9000)))
    }
  }

  test("the statement to take back a run of more than two rounds counts no commit of the run as another's") {
    withTables {
      val sizes = make()
      def isDealt = seen.forall(_.dealt.exists(_.region > 0))
      assert(Try(interrupted(sizes.map)(assert(!isDealt))).isFailure)
      assert(isDealt)
      // about half of the regions are too large for this size, and wait until the others are done
      val regions = seen.groupBy(_.dealt).values.map(_.map(_.bytes).sum).toSeq.sorted
      val smaller = sizes.copy(batch = (regions(regions.size / 2 - 1) / 1.3).toLong + 1)
      val before = removedByCommits.size
      run(smaller, "")
      assert(waiting === Nil)
      assert(removedByCommits.size > before + regions.size)
      val undo = fails("ZORDER_UNSUPPORTED_TABLE")(sql(s"UNDO LAYOUT $named"))
      assert(!undo.getMessage.contains("of other writers"), undo.getMessage)
    }
  }
}
