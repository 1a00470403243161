// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import org.scalactic.Tolerance
import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, Row}

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.OptimizeTestBase

/** A second OPTIMIZE takes up new files, and earlier ones only where it is worth it. */
class IncrementalSuite extends OptimizeTestBase with Tolerance {

  override protected def sparkConf: SparkConf = {
    val conf = super.sparkConf.set("spark.zorder.inPlaceSchemes", "file,faulty")
    FaultyFileSystem.settings.foreach { case (k, v) => conf.set(k, v) }
    conf
  }

  private def run(dir: File, size: Long, clauses: String = "ZORDER BY (a, b)"): Row = {
    val full = if (clauses.startsWith("FULL")) "FULL " else ""
    val rest = clauses.stripPrefix("FULL ")
    optimize(s"OPTIMIZE '$dir' $full$rest OPTIONS ('targetFileSize' '$size')", dir)(read(dir))
  }

  private def reason(row: Row): String = row.getAs[String]("reason")
  private def names(dir: File): Set[String] = dataFiles(dir).map(f => f.folder + "/" + f.name).toSet

  /** Rows like those of [[shuffled]], others in each part. */
  private def part(i: Int, rows: Int): DataFrame =
    spark.range(i.toLong * rows, (i + 1L) * rows, 1, 1).selectExpr(
      "id",
      "pmod(hash(id), 1000) a",
      "pmod(xxhash64(id, 7), 1000) b",
      "'s' s")

  test("without new files nothing is rewritten, however it is asked", Slow) {
    withTableDir { dir =>
      write(shuffled(4000, 8), dir)
      val size = dataFiles(dir).map(_.length).sum / 16
      run(dir, size)
      val before = userFiles(dir)
      for (clauses <- Seq("ZORDER BY (a, b)", "", "ZORDER BY a, b")) {
        val row = run(dir, size, clauses)
        assert(metric(row, "numFilesAdded") === 0)
        assert(metric(row, "numBatches") === 0)
        assert(metric(row, "totalFilesSkipped") === dataFiles(dir).size)
        assert(reason(row).contains("laid out by (a, b) already"))
        assert(userFiles(dir) === before)
      }
      assert(new File(dir, "_zorder/_commits").list().count(_.matches("_\\d+")) === 1)
    }
  }

  test("other columns take up all files, and say why")(checkAllFiles(Set("ZORDER BY (b, a)"), 1))

  test("FULL, other columns and another size take up all files, and say why", Slow)(
    checkAllFiles(_ => true, 3))

  private def checkAllFiles(which: String => Boolean, most: Int): Unit = {
    withTableDir { dir =>
      write(shuffled(4000, 8), dir)
      val size = dataFiles(dir).map(_.length).sum / 16
      run(dir, size)
      for ((clauses, bytes, why) <- Seq(
          ("FULL ZORDER BY (a, b)", size, null),
          ("ZORDER BY (b, a)", size, "its layout was by (a, b): all files are rewritten"),
          ("ZORDER BY (b, a)", size * 2, s"its layout was for files of $size bytes")).filter(c =>
          which(c._1)).take(most)) {
        val before = names(dir)
        val row = run(dir, bytes, clauses)
        assert((names(dir) & before) === Set.empty)
        if (why == null) assert(reason(row) === null) else assert(reason(row).contains(why))
      }
    }
  }

  test("new files are laid out among themselves while the overlap is small") {
    withTableDir { dir =>
      write(shuffled(8000, 8), dir)
      val size = dataFiles(dir).map(_.length).sum / 16
      run(dir, size)
      val first = names(dir)
      write(part(100, 500).repartition(3), dir)
      val row = run(dir, size)
      assert((names(dir) & first) === first)
      assert(metric(row, "numFilesRemoved") === 3)
      assert(reason(row).matches("of \\d+ files 3 are new, 0 of earlier runs .* 16 stay .*"))
      // a query of the folder reads kept files as well, before and after
      val gains = row.getSeq[Row](row.fieldIndex("columns"))
      for (g <- gains) {
        val mean = filesPerPoint(dir, g.getAs[String]("name"), (0L until 1000L by 7).toSeq)
        assert(g.getAs[Double]("filesPerPointQueryAfter") === mean +- 0.7)
        assert(g.getAs[Double]("filesPerPointQueryBefore") > mean)
      }
    }
  }

  test("only partitions with new files are taken up") {
    withTableDir { dir =>
      write(shuffled(3000, 3).selectExpr("*", "id % 3 p"), dir, "p")
      val size = dataFiles(dir).map(_.length).sum / 12
      run(dir, size)
      val before = names(dir)
      write(part(50, 200).selectExpr("*", "1 p"), dir, "p")
      val row = run(dir, size)
      assert(metric(row, "partitionsOptimized") === 1)
      assert(before.diff(names(dir)).forall(_.startsWith("p=1/")))
    }
  }

  test("a run whose second batch failed is resumed there") {
    withTableDir { dir =>
      write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val limit = dataFiles(dir).groupBy(_.folder).map(_._2.map(_.length).sum).max
      val statement = s"OPTIMIZE 'faulty://$dir' ZORDER BY a OPTIONS ('batchSize' '$limit')"
      val (_, failed) = FaultyFileSystem.failing(1)((o, p) =>
        o == "create" && p.getName.startsWith("_new_")) {
        val e = intercept[Throwable](sql(statement))
        assert(
          Iterator.iterate(e)(
            _.getCause).takeWhile(_ != null).exists(_.toString.contains("injected")),
          e)
      }
      assert(failed, "no file of the second batch was begun")
      val first = names(dir).filter(_.startsWith("p=0/"))
      val row = optimize(statement, dir)(read(dir))
      assert(metric(row, "partitionsOptimized") === 1)
      assert(names(dir).filter(_.startsWith("p=0/")) === first)
    }
  }

  test("equal inserts without any order: few rewrites and little excess", Slow) {
    // MergeRuleSuite has 64 of them
    withTableDir { dir =>
      val (rows, inserts) = (300, 16)
      var written = 0L
      var size = 0L
      val excess = (0 until inserts).map { i =>
        write(part(i, rows), dir)
        if (i == 0) size = dataFiles(dir).map(_.length).sum
        val result =
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('targetFileSize' '$size')").head()
        written += metric(result, "numRows")
        val ideal = math.sqrt(dataFiles(dir).size)
        Seq("a", "b").map(filesPerPoint(dir, _, 0L until 1000L by 11)).sum / 2 / ideal
      }
      info(f"each row was written ${written.toDouble / (inserts * rows)}%.2f times, excess: mean " +
        f"${excess.sum / inserts}%.2f, largest ${excess.max}%.2f, last ${excess.last}%.2f")
      assert(written <= 4L * inserts * rows)
      assert(excess.sum / inserts <= 2.0)
      assert(read(dir).count() === inserts.toLong * rows)
    }
  }

  test("inserts that follow time stay where they are", Slow) {
    withTableDir { dir =>
      val rows = 300
      var written = 0L
      var size = 0L
      for (i <- 0 until 12) {
        write(part(i, rows), dir)
        if (i == 0) size = dataFiles(dir).map(_.length).sum
        val result =
          sql(s"OPTIMIZE '$dir' ZORDER BY id OPTIONS ('targetFileSize' '$size')").head()
        written += metric(result, "numRows")
      }
      assert(written === 12 * rows)
    }
  }

  test("appends in the order of time are cut by the other column, and stay where they are", Slow) {
    withTableDir { dir =>
      val (rows, appends) = (320, 18)
      var written = 0L
      var size = 0L
      for (i <- 0 until appends) {
        write(part(i, rows), dir)
        if (i == 0) size = dataFiles(dir).map(_.length).sum / 16
        val result =
          sql(s"OPTIMIZE '$dir' ZORDER BY (id, b) OPTIONS ('targetFileSize' '$size')").head()
        written += metric(result, "numRows")
      }
      assert(written === appends.toLong * rows)
      val ofId = filesPerPoint(dir, "id", 0L until appends.toLong * rows by 37)
      val mean = (ofId + filesPerPoint(dir, "b", 0L until 1000L by 37)) / 2
      assert(mean / math.sqrt(dataFiles(dir).size.toDouble) <= 1.6)
      assert(read(dir).count() === appends.toLong * rows)
    }
  }

  test("DRY RUN states the effort, and by the measure of a former run its seconds", Slow) {
    withTableDir { dir =>
      write(shuffled(20000, 8), dir)
      val size = dataFiles(dir).map(_.length).sum / 16
      def ask(full: String) =
        sql(s"OPTIMIZE '$dir' $full ZORDER BY (a, b) OPTIONS ('targetFileSize' '$size') DRY RUN")
          .head()
      val dry = ask("")
      assert(reason(dry).contains("writes 16 files in as many tasks, shuffles about"))
      assert(!reason(dry).contains("seconds"))
      val predicted = metric(dry, "shuffleBytes")
      val real = metric(run(dir, size), "shuffleBytes")
      assert(predicted > real / 3 && predicted < real * 3, s"$predicted, then $real")
      val again = ask("FULL")
      assert(reason(again).contains("seconds, by the speed of an earlier run"))
      assert(metric(again, "shuffleBytes") === real +- real / 2)
      assert(reason(ask("")).contains("already"))
    }
  }
}
