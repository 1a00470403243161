// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.{BufferedReader, File, InputStreamReader}
import java.lang.management.ManagementFactory
import java.util.concurrent.{ConcurrentLinkedQueue, TimeUnit}

import scala.collection.JavaConverters._

/**
 * A [[TortureChild]] as its parent sees it.
 *
 * @param base directory of its own for all that it writes besides the tables
 * @param orders so many may be given
 * @param hive whether it has Hive's catalog
 */
private[torture] final class Victim(base: File, classes: ChildClasses, orders: Int, hive: Boolean) {
  base.mkdirs()
  private val process = {
    val flags = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      .filter(a => a.startsWith("--add-opens") || a.startsWith("-Dio.netty"))
    val command =
      Seq(new File(System.getProperty("java.home"), "bin/java").getPath) ++ flags ++ Seq(
        "-Xmx900m",
        "-Xss4m",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Duser.timezone=UTC",
        s"-Dderby.system.home=$base") ++ classes.flags ++ Seq(
        "io.sparkzorder.torture.TortureChild",
        base.getPath,
        orders.toString,
        if (hive) "hive" else "plain")
    val builder = new ProcessBuilder(command.asJava)
    builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1")
    builder.redirectError(new File(base, "stderr"))
    builder.start()
  }
  private val said = new ConcurrentLinkedQueue[String]
  private val listener = new Thread(() => {
    val out = new BufferedReader(new InputStreamReader(process.getInputStream))
    try Iterator.continually(out.readLine()).takeWhile(_ != null).foreach(said.add)
    catch { case _: java.io.IOException => () }
  })
  listener.setDaemon(true)
  listener.start()

  private def await(word: String): Unit =
    while (!said.contains(word)) {
      if (!listener.isAlive && !said.contains(word)) {
        throw new IllegalStateException(s"the child ended before it was $word: $errors")
      }
      Thread.sleep(5)
    }

  def errors: String =
    new String(java.nio.file.Files.readAllBytes(new File(base, "stderr").toPath)).takeRight(3000)

  /** Waits until the session is there, and gives the orders. */
  def begin(all: Seq[Order]): Unit = {
    await("ready")
    val text = all.map(_.line + "\n").mkString + "\n"
    process.getOutputStream.write(text.getBytes("UTF-8"))
    process.getOutputStream.flush()
    await("started")
  }

  /** Waits for the end of all statements. */
  def finish(): Unit = {
    await("finished")
    process.waitFor(60, TimeUnit.SECONDS)
    ()
  }

  def isAlive: Boolean = process.isAlive

  /** Whether the statement of an order has ended, well or not. */
  def hasEnded(order: Int): Boolean =
    said.asScala.exists(l => l == s"finished $order" || l.startsWith(s"failed $order "))

  /** Why the statement of an order has failed. */
  def failure(order: Int): Option[String] = said.asScala.find(_.startsWith(s"failed $order "))

  /** SIGKILL; returns when the process is gone. */
  def kill(): Unit = {
    process.destroyForcibly()
    process.waitFor()
    listener.join()
  }
}
