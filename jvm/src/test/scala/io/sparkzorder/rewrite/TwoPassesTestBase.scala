// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import scala.util.Try

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.{FaultyFileSystem, RandomInputs}
import io.sparkzorder.commands.{FaultyTables, TableState}
import io.sparkzorder.log.{Record, TableLog}
import io.sparkzorder.table.{ParquetFiles, PathTarget}

/** Tables without partitions that are larger than a batch, and what must hold of them. */
abstract class TwoPassesTestBase extends FaultyTables with RandomInputs {
  protected def batches: Int = 4
  protected def filesOfBatch: Int = 6
  protected def rowsOfTable: Int = 4000
  protected def filesOfTable: Int = 24

  /** Rows by two columns; most of their bytes are others, as in tables with files that are not tiny. */
  protected def rows(
      kind: String,
      from: Int = 0,
      n: Int = rowsOfTable,
      files: Int = filesOfTable): DataFrame = {
    val uniform = "pmod(hash(id), 100003)"
    val (a, b) = kind match {
      case "uniform" => (uniform, "pmod(hash(id, 7), 100003)")
      case "correlated" => (uniform, s"$uniform + pmod(hash(id, 7), 5000)")
      case "zipf" =>
        ("int(pow(1e5, pmod(hash(id), 100003) / 100003D)) % 1000", "pmod(hash(id, 7), 100003)")
      case "time" => ("id", "pmod(hash(id, 7), 100003)")
    }
    spark.range(from, from + n.toLong, 1, files)
      .selectExpr("id", s"bigint($a) a", s"bigint($b) b", "unhex(sha2(string(id), 512)) s")
  }

  /** @param batch bytes of a batch */
  protected case class Sizes(target: Long, batch: Long) {
    def options: String = s"OPTIONS ('targetFileSize' '$target', 'batchSize' '$batch')"
    def inOne: String = s"OPTIONS ('targetFileSize' '$target')"
  }

  protected def sizesOf(dir: File): Sizes = {
    val bytes = dataFiles(dir).map(_.length).sum
    Sizes(bytes / (batches * filesOfBatch), bytes / batches + 1)
  }

  protected def records(dir: File): Seq[Record] = {
    val state =
      new TableState(SparkLine.session(spark), PathTarget(dir.getPath, ParquetFiles)).state
    TableLog.read(state).records.map(_._2)
  }

  protected def excess(dir: File): Double = {
    val ideal = math.sqrt(dataFiles(dir).size.toDouble)
    Seq("a", "b").map { c =>
      val values =
        read(dir).where("hash(id) % 30 = 0").selectExpr(c).collect().map(_.getLong(0)).toSeq
      filesPerPoint(dir, c, values)
    }.sum / 2 / ideal
  }

  protected def plansOf(dir: File): Seq[String] =
    Option(new File(dir, "_zorder/_grid").list()).toSeq.flatten.filter(_.startsWith("_plan_"))

  protected def ofPlan(dir: File, level: String): Seq[Record] =
    records(dir).filter(_.level == level)

  protected def run(dir: File, sizes: Sizes, clauses: String = "ZORDER BY (a, b)"): Row =
    sql(s"OPTIMIZE ${faulty(dir)} $clauses ${sizes.options}").head()

  /** Kills the statement when so many batches are committed and published. */
  protected def killedAfter(dir: File, commits: Int)(statement: => Any): Unit = {
    val done = new File(dir, s"_zorder/_commits/_${commits}_done")
    var killed = false
    val result = FaultyFileSystem.withHook { (operation, path) =>
      if (operation != "list" && operation != "open" && done.exists()) {
        killed = true
        throw new FaultyFileSystem.Injected(s"$operation $path")
      }
    }(Try(statement))
    assert(killed && result.isFailure)
  }

  /** The table as statements name it. */
  protected def at(dir: File): String = s"'$dir'"

  /** A kill leaves files of tasks, which VACUUM removes. */
  protected def checkClean(dir: File, expected: Map[Any, Int]): Unit = {
    sql(s"VACUUM LAYOUT ${at(dir)} RETAIN 0 HOURS").collect()
    assert(bag(read(dir)) === expected)
    checkState(dir)
  }

  /** What must hold when all is done, whatever came between. */
  protected def checkDone(dir: File, sizes: Sizes, expected: Map[Any, Int]): Unit = {
    val all = records(dir)
    checkClean(dir, expected)
    // a file is dealt once
    val removed =
      all.filter(_.level == Record.Dealt).flatMap(_.changes.flatMap(_.replaced.map(_.name)))
    val dealt = all.filter(_.level == Record.Dealt)
      .flatMap(r => r.changes.flatMap(_.added).filter(_.region > 0).map(_.name -> r.plan)).toMap
    assert(removed.distinct === removed)
    assert(removed.forall(n => !dealt.contains(n)), "a dealt file was dealt again")
    all.filter(_.plan.nonEmpty).foreach { r =>
      assert(
        r.cost.get.inputBytes <= 1.3 * sizes.batch,
        s"a batch of ${r.cost.get.inputBytes} bytes")
    }
    // nothing waits any more
    assert(metric(run(dir, sizes), "numBatches") === 0)
    assert(plansOf(dir) === Nil)
  }

  /** For the message of a test that fails. */
  protected def told(dir: File): String = {
    val names = dataFiles(dir).map(_.name).toSet
    records(dir).map { r =>
      val added = r.changes.flatMap(_.added)
      s"${r.plan.take(4)} ${r.level}: ${r.changes.flatMap(_.replaced).size} to ${added.size}, " +
        s"${added.count(a => names(a.name))} left, regions ${added.map(_.region).distinct.size}"
    }.mkString(s"${names.size} files\n", "\n", "")
  }

  /** As a session without the extension reads the table. */
  protected def visible(dir: File): Map[Any, Int] = withoutExtension(bag(read(dir)))
}
