package io.sparkzorder.torture

import java.io.File

import scala.io.StdIn

import io.sparkzorder.FaultyFileSystem

/**
 * The process that is killed. It starts its session, says so, and waits for one line on standard input:
 * table, log, number of the change before which it stops (-1 for none), the statement.
 */
object TortureChild {
  def main(args: Array[String]): Unit = {
    val session = TortureSession.start(new File(args(0)))
    println("ready")
    val order = StdIn.readLine()
    if (order != null) {
      val Array(table, log, blockAt, statement) = order.split('\t')
      val writer = new StepLog.Writer(new File(log), table, blockAt.toInt)
      println("started")
      FaultyFileSystem.withHook(writer.apply) {
        session.sql(statement).collect()
      }
      println("finished")
    }
    session.stop()
  }
}
