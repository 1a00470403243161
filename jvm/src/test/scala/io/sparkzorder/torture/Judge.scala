// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File

import scala.util.{Random, Try}

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.SparkSession

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.log.publish.Publisher

/**
 * Judges a table whose statement was killed.
 *
 * @param expected the rows of every table at every moment, unless another writer changes it
 */
private[torture] final class Judge(
    session: SparkSession,
    val expected: TortureTable.Bag) {
  private val conf = session.sessionState.newHadoopConf()

  /**
   * All that must hold after a kill.
   *
   * @param expected the rows of the table
   */
  def apply(
      table: File,
      before: Set[String],
      random: Random,
      next: String => String,
      isOptimize: Boolean,
      onFailedRecovery: () => Unit,
      expected: TortureTable.Bag): Unit = {
    val files = TortureTable.rows(table, conf)
    check(files.forall { case (r, n) => expected.getOrElse(r, 0) >= n }, "a row is seen twice")
    check(TortureTable.rowsBySpark(session, table) == expected, "with the extension")
    val committed = TortureTable.commits(table).contains("_1")
    recover(table, random, onFailedRecovery)
    rows(table, "after recovery, without the extension", expected)
    check(
      TortureTable.rowsBySpark(session, table) == expected,
      "after recovery, with the extension")
    check(TortureTable.unfinished(table).isEmpty, "a record is not done after recovery")
    val left = TortureTable.hidden(table, TortureTable.runs(table))
    check(left.isEmpty, s"left over: $left")
    if (isOptimize) {
      val now = TortureTable.visible(table)
      check(committed == now.intersect(before).isEmpty, "neither the old files nor the new ones")
      check(committed || now == before, "files of a run that is not committed")
    }
    goOn(table, next, if (isOptimize) Some(if (committed) 2 else 1) else None, expected)
  }

  /** What a user does next. */
  private def goOn(
      table: File,
      next: String => String,
      records: Option[Int],
      expected: TortureTable.Bag): Unit = {
    session.sql(next(TortureSession.path(table))).collect()
    val now = TortureTable.commits(table).filter(_.matches("_\\d+"))
    check(records.forall(_ == now.size), s"records after the next OPTIMIZE: $now")
    check(TortureTable.unfinished(table).isEmpty, "the next OPTIMIZE is not done")
    rows(table, "after the next OPTIMIZE", expected)
    def vacuum() =
      session.sql(s"VACUUM LAYOUT '${table.getAbsolutePath}' RETAIN 0 HOURS").collect()
    vacuum()
    // it has given back what an undo had taken that died, and removes that the next time
    if (TortureTable.ofRuns(table).nonEmpty) vacuum()
    // what a conflict holds stays: an abandoned run may be published in some folders
    val conflicts = TortureTable.commits(table).exists(_.endsWith("_conflict"))
    check(
      conflicts || TortureTable.ofRuns(table).isEmpty,
      s"left by VACUUM: ${TortureTable.ofRuns(table)}")
    rows(table, "after VACUUM", expected)
  }

  /** What a reader without Spark gets. */
  def rows(table: File, when: String, expected: TortureTable.Bag = expected): Unit =
    check(TortureTable.rows(table, conf) == expected, when)

  /** Rolls forward; some recoveries fail at a random change, and another one goes on. */
  private def recover(table: File, random: Random, onFailedRecovery: () => Unit): Unit = {
    val state = new StateDirectory(new Path(s"faulty:${table.getAbsolutePath}"), conf)
    var injected = random.nextInt(3)
    while (injected > 0) {
      // the hook is there for one at a time, and another lane goes on beside it
      val (_, failed) = Torture.synchronized {
        FaultyFileSystem.failing(random.nextInt(30)) { (operation, path) =>
          StepLog.changes(operation) && TortureTable.holds(table, path)
        }(Try(new Publisher(state).rollForward()))
      }
      if (failed) onFailedRecovery()
      injected = if (failed) injected - 1 else 0
    }
    new Publisher(state).rollForward()
    // again changes nothing
    new Publisher(state).rollForward()
  }

  private def check(holds: Boolean, what: String): Unit =
    if (!holds) throw new IllegalStateException(what)
}
