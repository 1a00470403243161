// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File

import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.SparkSession

/** A reader with the extension that asks all the time. It may fail, but must never get other rows. */
private[torture] final class Asker(
    session: SparkSession,
    table: File,
    expected: TortureTable.Bag) {
  @volatile private var over = false
  @volatile private var wrong: Option[String] = None
  @volatile private var answers = 0

  private val thread = new Thread(() =>
    while (!over) {
      // leaves the processor to those who are watched
      Thread.sleep(100)
      ask()
    })
  thread.setDaemon(true)
  thread.start()

  private def ask(): Unit =
    Try(TortureTable.rowsBySpark(session, table)) match {
      case Success(rows) =>
        answers += 1
        if (rows != expected) wrong = Some(s"a reader got ${rows.values.sum} rows")
      // its files were moved between its planning and their opening: it says so
      case Failure(e) if Asker.isGone(e) => ()
      case Failure(e) => wrong = Some(s"a reader failed: ${Asker.causes(e).mkString("; by ")}")
    }

  /** Answers that were right, or what was wrong. */
  def end(): Either[String, Int] = {
    over = true
    thread.join()
    wrong.toLeft(answers)
  }
}

private object Asker {
  private val Gone = Seq(
    "FileNotFound",
    "FILE_NOT_EXIST",
    "does not exist",
    "LISTING_INCOMPLETE",
    "UNABLE_TO_INFER_SCHEMA",
    "NoSuchFile",
    "No such file")

  def causes(e: Throwable): Seq[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).toList

  def isGone(e: Throwable): Boolean = causes(e).exists(c => Gone.exists(c.toString.contains))
}
