package io.sparkzorder.torture

import java.io.{BufferedReader, File, InputStreamReader}
import java.lang.management.ManagementFactory
import java.util.concurrent.TimeUnit

import scala.collection.JavaConverters._

/**
 * A [[TortureChild]] as its parent sees it.
 *
 * @param base directory of its own for all that it writes besides the table
 */
private[torture] final class Victim(base: File, classes: ChildClasses) {
  base.mkdirs()
  private val process = {
    val flags = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      .filter(a => a.startsWith("--add-opens") || a.startsWith("-Dio.netty"))
    val command =
      Seq(new File(System.getProperty("java.home"), "bin/java").getPath) ++ flags ++ Seq(
        "-Xmx640m",
        "-Xss4m",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Duser.timezone=UTC") ++ classes.flags ++ Seq(
        "io.sparkzorder.torture.TortureChild",
        base.getPath)
    val builder = new ProcessBuilder(command.asJava)
    builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1")
    builder.redirectError(new File(base, "stderr"))
    builder.start()
  }
  private val out = new BufferedReader(new InputStreamReader(process.getInputStream))

  private def await(word: String): Unit = {
    val line = Iterator.continually(out.readLine()).find(l => l == null || l == word).get
    if (line == null) {
      throw new IllegalStateException(s"the child ended before it was $word: $errors")
    }
  }

  def errors: String =
    new String(java.nio.file.Files.readAllBytes(new File(base, "stderr").toPath)).takeRight(3000)

  /** Waits until the session is there, and gives the order to begin. */
  def begin(table: File, log: File, blockAt: Int, statement: String): Unit = {
    await("ready")
    val order = s"${table.getAbsolutePath}\t${log.getAbsolutePath}\t$blockAt\t$statement\n"
    process.getOutputStream.write(order.getBytes("UTF-8"))
    process.getOutputStream.flush()
    await("started")
  }

  /** Waits for the end of the statement. */
  def finish(): Unit = {
    await("finished")
    process.waitFor(60, TimeUnit.SECONDS)
    ()
  }

  def isAlive: Boolean = process.isAlive

  /** SIGKILL; returns when the process is gone, with whether the statement had ended before. */
  def kill(): Boolean = {
    process.destroyForcibly()
    process.waitFor()
    val rest = Iterator.continually(
      try out.readLine()
      catch { case _: java.io.IOException => null }).takeWhile(_ != null).toList
    rest.contains("finished")
  }
}
