package io.sparkzorder.torture

import java.io.File

import scala.io.StdIn

import io.sparkzorder.FaultyFileSystem

/**
 * The process that is killed. It starts its session, says so, and waits for one line on standard input:
 * table, log, number of the change before which it stops (-1 for none), bytes of a file.
 */
object TortureChild {
  def main(args: Array[String]): Unit = {
    val session = TortureSession.start(new File(args(0)))
    println("ready")
    val order = StdIn.readLine()
    if (order != null) {
      val Array(table, log, blockAt, bytes) = order.split('\t')
      val writer = new StepLog.Writer(new File(log), table, blockAt.toInt)
      println("started")
      FaultyFileSystem.withHook(writer.apply) {
        session.sql(TortureSession.statement(new File(table), "a, b", bytes.toLong)).collect()
      }
      println("finished")
    }
    session.stop()
  }
}
