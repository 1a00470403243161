// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File

import scala.io.StdIn
import scala.util.{Failure, Success, Try}

import io.sparkzorder.FaultyFileSystem

/**
 * One statement of a child, on a table of its own.
 *
 * @param log where its operations are noted
 * @param blockAt number of the change before which it stops for ever; -1 for none
 * @param text the statement
 * @param other another writer of the table
 * @param before statements that come first and are not followed
 */
private[torture] final case class Order(
    table: File,
    log: File,
    blockAt: Int,
    text: String,
    other: Option[Other],
    before: Seq[String] = Nil) {
  def line: String = {
    val own = Seq(table.getAbsolutePath, log.getAbsolutePath, blockAt.toString, text)
    (own ++ Seq(other.fold("")(_.text)) ++ before).mkString("\t")
  }
}

private[torture] object Order {
  def parse(line: String): Order = {
    val fields = line.split("\t", -1).toSeq
    Order(
      new File(fields.head),
      new File(fields(1)),
      fields(2).toInt,
      fields(3),
      Some(fields(4)).filter(_.nonEmpty).map(Other.parse),
      fields.drop(5))
  }
}

/**
 * The process that is killed. It starts its session, says so, reads orders from standard input up to an
 * empty line, and carries them out at once, each in a thread and a session of its own. Arguments: a
 * directory, the number of orders that may come, and `hive` for Hive's catalog.
 */
object TortureChild {
  def main(args: Array[String]): Unit = {
    val session =
      TortureSession.start(new File(args(0)), args(1).toInt + 1, hive = args(2) == "hive")
    println("ready")
    val orders = Iterator.continually(StdIn.readLine()).takeWhile(l => l != null && l.nonEmpty)
      .map(Order.parse).toList
    orders.flatMap(_.before).foreach(session.sql(_).collect())
    val logs = orders.map { o =>
      o.table -> new StepLog.Writer(o.log, o.table.getAbsolutePath, o.blockAt, o.other)
    }
    println("started")
    FaultyFileSystem.withHook { (operation, path) =>
      logs.find(l => TortureTable.holds(l._1, path)).foreach(_._2(operation, path))
    } {
      val threads = orders.zipWithIndex.map { case (order, i) =>
        new Thread(() =>
          Try(session.newSession().sql(order.text).collect()) match {
            case Success(_) => println(s"finished $i")
            case Failure(e) => println(s"failed $i ${e.toString.replace('\n', ' ').take(500)}")
          })
      }
      threads.foreach(_.start())
      threads.foreach(_.join())
    }
    println("finished")
    session.stop()
  }
}
